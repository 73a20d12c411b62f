"""A listwise softmax regression: weights that make the right candidates of each question likely among all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
_ROUNDS = 12
_LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True)
class Lists:
    """Signals of the candidates of many questions, padded to one length; `right` sums to 1, `outside` masks the padding."""

    signals: Float
    right: Float
    outside: Float

    def some(self, chosen: NDArray[np.bool_]) -> Lists:
        """The same for some of the questions."""
        return Lists(self.signals[chosen], self.right[chosen], self.outside[chosen])


def padded(signals: Sequence[Float], right: Sequence[NDArray[np.bool_]]) -> Lists:
    """Lists of different lengths as one array."""
    longest, width = max(map(len, signals)), signals[0].shape[1]
    lists = Lists(
        np.zeros((len(signals), longest, width)), np.zeros((len(signals), longest)), np.full((len(signals), longest), -1e9)
    )
    for place, (rows, there) in enumerate(zip(signals, right, strict=True)):
        lists.signals[place, : len(rows)], lists.outside[place, : len(rows)] = rows, 0
        lists.right[place, : len(rows)] = there / max(1, there.sum())
    return lists


def fit(lists: Lists, penalty: float, mask: Float | None = None) -> Float:
    """Newton's method on the penalized log likelihood, with steps halved until it rises. `mask` is 0 for signals left out."""
    lists = lists.some(lists.right.sum(1) > 0)
    count, _, width = lists.signals.shape
    flat, weights = lists.signals.reshape(-1, width), np.zeros(width)
    target = flat.T @ lists.right.reshape(-1) / count
    used = np.ones(width, bool) if mask is None else mask > 0
    value, likely = _value(lists, flat, weights, target, penalty)
    for _ in range(_ROUNDS):
        means = np.einsum("nm,nmf->nf", likely, lists.signals)
        gradient = target - means.mean(0) - penalty * weights
        curve = (flat * likely.reshape(-1, 1)).T @ flat / count - means.T @ means / count + penalty * np.eye(width)
        step = np.zeros(width)
        step[used] = np.linalg.solve(curve[np.ix_(used, used)], gradient[used])
        before = value
        for _ in range(10):
            value, likely = _value(lists, flat, weights + step, target, penalty)
            if value > before:
                weights = weights + step
                break
            step /= 2
        if value - before < _LEAST_GAIN:
            break
    return weights


def _value(lists: Lists, flat: Float, weights: Float, target: Float, penalty: float) -> tuple[float, Float]:
    """The mean log likelihood with its penalty, and how likely each candidate is."""
    scores = (flat @ weights).reshape(lists.outside.shape) + lists.outside
    top = scores.max(1, keepdims=True)
    raised = np.exp(scores - top)
    total = raised.sum(1, keepdims=True)
    value = float(target @ weights - (top + np.log(total)).mean() - penalty / 2 * weights @ weights)
    return value, raised / total
