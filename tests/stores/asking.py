"""One arm of a view at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import Found
from contextd.values.retrieval import Wanted, Words


def words(view: Any, terms: Mapping[int, float], k: int, *, field: str) -> Sequence[Found]:
    """The best by the words of a field."""
    found: Sequence[Found] = view.retrieve(Wanted(k, {field: Words(field, terms, k)})).found[field]
    return found


def near(view: Any, vector: NDArray[np.float32], k: int, *, space: str) -> Sequence[Found]:
    """The nearest to a vector."""
    found: Sequence[Found] = view.retrieve(Wanted(k, vectors={space: vector})).found[space]
    return found
