"""Situations of life: which facts are needed for what a person asks.

A trip needs the passport, the travel money and what the knees can do, though none of these is worded like the question. So
questions are classified by situation (a trip, new clothes, a meal, …), and a fact has for each situation the probability that
it is needed there. Both classifiers are linear in the vector of a text and learned from examples
(`python -m benchmarks.situations --learn`).
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Float = NDArray[np.float64]

_LEAST = 1e-3  # a probability; smaller ones say nothing
_SURE = 0.5


class Situations(NamedTuple):
    """The weights of a tier: the mean question and fact, and a column per situation, with the bias as last row."""

    names: tuple[str, ...]
    mean_question: Matrix
    mean_fact: Matrix
    questions: Matrix
    facts: Matrix


def needed_for(question: Matrix, facts: Matrix, space: str) -> Float:
    """Return the logarithm of the probability that each fact is needed in the situation of a question.

    Both are vectors of texts as documents. All are equal in a space by somebody else's model.
    """
    known = situations_of(space.split("/")[0])
    if known is None or len(known.mean_fact) != facts.shape[1]:
        return np.zeros(len(facts))
    needed = 1 / (1 + np.exp(-(_columns(facts, known.mean_fact) @ known.facts)))
    return np.asarray(np.log(needed @ _likely(question, known) + _LEAST), np.float64)


def situation_of(question: Matrix, space: str) -> str:
    """Return the situation of a question if one is more likely than all others together; empty if none is."""
    known = situations_of(space.split("/")[0])
    if known is None or len(known.mean_question) != len(question):
        return ""
    likely = _likely(question, known)
    return known.names[int(likely.argmax())] if likely.max() > _SURE else ""


def _likely(question: Matrix, known: Situations) -> Matrix:
    odds = _columns(question.reshape(1, -1), known.mean_question) @ known.questions
    likely = np.exp(odds - odds.max())
    return np.asarray((likely / likely.sum())[0])


@lru_cache
def situations_of(tier: str) -> Situations | None:
    """Load the weights that come with the package; None if a tier has none."""
    path = files("contextd.text").joinpath("learned", f"situations-{tier}.npz")
    if tier not in ("static", "deep") or not path.is_file():
        return None
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
        names = tuple(str(name) for name in stored["names"])
        return Situations(names, *(stored[name].astype(np.float32) for name in Situations._fields[1:]))


def _columns(vectors: Matrix, mean: Matrix) -> Matrix:
    """Return vectors without what all of them share, in unit length, and a constant."""
    own = vectors - mean
    own = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-6)
    return np.hstack([own, np.ones((len(own), 1), np.float32)]).astype(np.float32)
