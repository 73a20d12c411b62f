"""Situations of life: what a question is about (a trip, new clothes, a meal, …), by its vector.

Used to find the domains of a question whose words name none (`hard_limits.py`). The classifier is linear in the vector of a
text and learned from examples (`python -m benchmarks.situations --learn`).
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import TIERS

Matrix = NDArray[np.float32]

_SURE = 0.5


class Situations(NamedTuple):
    """The weights of a tier: the mean question, and a column per situation, with the bias as last row."""

    names: tuple[str, ...]
    mean: Matrix
    weights: Matrix


def situation_of(question: Matrix, space: str) -> str:
    """Return the situation of a question if one is more likely than all others together; empty if none is.

    `question` is the vector of the question as a document. It is empty, too, for vectors of somebody else's model.
    """
    known = situations_of(space.split("/")[0])
    if known is None or len(known.mean) != len(question):
        return ""
    likely = _likely(question, known)
    return known.names[int(likely.argmax())] if likely.max() > _SURE else ""


def _likely(question: Matrix, known: Situations) -> Matrix:
    own = question - known.mean
    odds = own / max(float(np.linalg.norm(own)), 1e-6) @ known.weights[:-1] + known.weights[-1]
    likely = np.exp(odds - odds.max())
    return np.asarray(likely / likely.sum())


@lru_cache
def situations_of(tier: str) -> Situations | None:
    """Load the weights that come with the package; None if a tier has none."""
    if tier not in TIERS:
        return None
    data = files("contextd.text").joinpath("learned", f"situations-{tier}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        names = tuple(str(name) for name in stored["names"])
        return Situations(names, stored["mean"].astype(np.float32), stored["weights"].astype(np.float32))
