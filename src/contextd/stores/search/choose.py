"""Selection: masks, top k of an array."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]

_ROUNDING = 1e-4  # far above the rounding error of a sum of some hundred products in 32 bits


def one_of(values: NDArray[Any], wanted: Collection[Any]) -> Bools:
    """Return where a value is one of a few. One comparison each is cheaper than `isin`, which sorts."""
    found = np.zeros(len(values), bool)
    for one in wanted:
        found |= values == one
    return found


def weights_of(terms: Mapping[int, float]) -> NDArray[np.float64]:
    """Return the weights of terms, in order."""
    return np.fromiter(terms.values(), np.float64, len(terms))


def best_of(scores: Float, k: int, contents: Ints) -> Ints:
    """Return the indexes of the k largest values above zero, largest first.

    Ties are broken by content id, then by index. Neither depends on other documents or on the last fold.
    """
    above = np.flatnonzero(scores > 0)
    if len(above) > k:
        threshold = np.partition(scores[above], len(above) - k)[len(above) - k]
        above = above[scores[above] >= threshold]
    order = np.lexsort((above, contents[above], -scores[above]))
    return above[order][:k]


def near_the_cut(scores: Float, k: int) -> Ints:
    """Return the indexes of the k largest values, and of values below them by no more than the rounding error."""
    if len(scores) <= k:
        return np.arange(len(scores))
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= threshold - _ROUNDING)
