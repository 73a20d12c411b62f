"""Choosing among many: masks, the best of an array, paths below others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]

_ROUNDING = 1e-4  # far more than a sum of some hundred products is off in 32 bits


def one_of(values: NDArray[Any], wanted: Collection[Any]) -> Bools:
    """Where a value is one of a few: a comparison each is cheaper than `isin`, which sorts."""
    found = np.zeros(len(values), bool)
    for one in wanted:
        found |= values == one
    return found


def weights_of(terms: Mapping[int, float]) -> NDArray[np.float64]:
    """The weights of some terms, in order."""
    return np.fromiter(terms.values(), np.float64, len(terms))


def best_of(scores: Float, k: int, contents: Ints) -> Ints:
    """The places of the k largest values above zero, largest first.

    Ties go by content and place in it, which do not depend on what else there is or on when it was folded.
    """
    above = np.flatnonzero(scores > 0)
    if len(above) > k:
        threshold = np.partition(scores[above], len(above) - k)[len(above) - k]
        above = above[scores[above] >= threshold]
    order = np.lexsort((above, contents[above], -scores[above]))
    return above[order][:k]


def near_the_cut(scores: Float, k: int) -> Ints:
    """The places of the k largest values, and of those so close below that rounding may have put them there."""
    if len(scores) <= k:
        return np.arange(len(scores))
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= threshold - _ROUNDING)


def below(uri: str, paths: Sequence[str]) -> bool:
    """At or below one of some paths, or fitting one that is a pattern."""
    for path in paths:
        if uri == path or uri.startswith(path.rstrip("/") + "/") or path in ("", "."):
            return True
        if any(sign in path for sign in "*?[") and fnmatchcase(uri, path):
            return True
    return False
