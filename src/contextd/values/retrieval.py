"""One request to all arms of a collection: values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextd.values.answer import Suggestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Words:
    """Term keys with weights, searched in one field. An alias stands for one of the terms."""

    field: str
    terms: Mapping[int, float]
    k: int
    aliases: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Request for the best `k` of every arm: words of fields, vectors by space, times, lines of files, and suggestions."""

    k: int
    words: Mapping[str, Words] = dataclasses.field(default_factory=dict)  # by arm; `chunk` and `document` have the same terms
    vectors: Mapping[str, NDArray[np.float32]] = dataclasses.field(default_factory=dict)
    windows: Sequence[tuple[int, int]] = ()
    places: Sequence[tuple[str, int]] = ()
    suggested: Mapping[str, Sequence[Suggestion]] = dataclasses.field(default_factory=dict)
