"""A logistic regression by Newton's method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

_STEPS = 25


def logistic(data: Float, right: Float, penalty: float = 1.0) -> Float:
    """Return a weight for each column, the last of which is constant and has no penalty."""
    penalties = np.array([penalty] * (data.shape[1] - 1) + [1e-6])
    weights = np.zeros(data.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(data @ weights, -30, 30)))
        slope = (data * (likely * (1 - likely))[:, None]).T @ data + np.diag(penalties)
        weights = weights - np.linalg.solve(slope, data.T @ (likely - right) + penalties * weights)
    return weights
