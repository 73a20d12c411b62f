"""Aim the vector of a question at the facts that answer it.

Embedding models put all requests near each other ("can you recommend …"), and a request is not worded like the fact that
matters for it ("I avoid …"). So the vector of the mean question is subtracted, and a linear map of low rank is applied. Both
are learned from questions with facts that matter (`python -m benchmarks.relevance --learn`).
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Aim(NamedTuple):
    """The mean question of a tier, and the map: the identity plus `left @ right`."""

    mean: Vector
    left: Vector
    right: Vector


def aimed(vector: Vector, space: str) -> Vector:
    """Return the unit vector whose cosine with a fact tells whether the fact matters for a question."""
    tier = space.split("/")[0]
    if tier not in ("static", "deep") or len(aim_of(tier).mean) != len(vector):
        return vector  # of a model by somebody else
    mean, left, right = aim_of(tier)
    centred = _unit(vector - mean)
    return _unit(np.asarray(centred + (centred @ left) @ right, np.float32))


@lru_cache
def aim_of(tier: str) -> Aim:
    """Load the weights that come with the package."""
    data = files("contextd.text").joinpath("learned", f"aim-{tier}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return Aim(*(stored[name].astype(np.float32) for name in Aim._fields))


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / (float(np.linalg.norm(vector)) or 1.0), np.float32)
