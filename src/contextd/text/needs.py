"""Which facts are needed for what a person asks, though they are not worded like it.

A trip needs the passport, the travel money and what the knees can do. So question and fact are projected into a small space in
which they meet: the log-odds that a fact is needed are the product of the two projections. Both are linear in the vector and
the concepts of a text, and learned from persons with labelled questions (`python -m benchmarks.needs --learn`). The tier
`words` has concepts alone: it serves without a model, and in languages that the models do not know. The tier `facts` compares
vectors that were trained for this (`models/fact_layers.py`) by their cosine (`python -m benchmarks.fact_layers`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import TIERS, learned
from contextd.text.thesaurus import concepts_of
from contextd.text.wording import asks_one_thing

Matrix = NDArray[np.float32]
Float = NDArray[np.float64]
WORDS = "words"  # the tier without vectors
FACTS = "facts"  # the tier of vectors trained for this


class Projection(NamedTuple):
    """How one side, question or fact, is projected: the mean vector, then weights of vector, concepts and constant."""

    mean: Matrix
    weights: Matrix

    def of_vectors(self, vectors: Matrix) -> Matrix:
        """Project vectors, with the constant. A row of zeros is a missing vector."""
        there = vectors.any(axis=1, keepdims=True)
        return np.asarray(unit((vectors - self.mean) * there) @ self.weights[: len(self.mean)] + self.weights[-1])

    def of_concepts(self, rows: Matrix) -> Matrix:
        """Project rows of concepts."""
        return np.asarray(rows @ self.weights[len(self.mean) : -1])


class Needs(NamedTuple):
    """The weights of a tier: both sides, and the names of the concepts."""

    question: Projection
    fact: Projection
    concepts: tuple[str, ...]

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Return the concepts of texts, one row of unit length per text."""
        places = {name: place for place, name in enumerate(self.concepts)}
        rows = np.zeros((len(texts), len(places)), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[places[name] for name in concepts_of(text) if name in places]] = 1
        return unit(rows)


class Projected(NamedTuple):
    """A question, projected."""

    needs: Needs
    projected: Matrix

    def by_vectors(self, facts: Matrix) -> Float:
        """Return the part of the log-odds that the vectors of facts tell."""
        known = facts if len(self.needs.fact.mean) else np.zeros((len(facts), 0), np.float32)
        return np.asarray(self.needs.fact.of_vectors(known) @ self.projected, np.float64)

    def by_concepts(self, texts: Sequence[str]) -> Float:
        """Return the part of the log-odds that the concepts of facts add."""
        return np.asarray(self.needs.fact.of_concepts(self.needs.rows(texts)) @ self.projected, np.float64)


def wanted(needs: Needs, text: str, vector: Matrix) -> Projected:
    """Return a question as it is compared with facts. `vector` is that of the text as a document; not used without a model."""
    side = needs.question
    known = vector.reshape(1, -1) if len(side.mean) else np.zeros((1, 0), np.float32)
    return Projected(needs, side.of_vectors(known)[0] + side.of_concepts(needs.rows([text]))[0])


class Heads(NamedTuple):
    """The weights of the tier `facts`: each side has a row per number of the vector and one for the constant, and a column per
    number that is compared, then one for an offset."""

    question: Matrix
    fact: Matrix
    scale: float
    prior: float


class Compared(NamedTuple):
    """A question, as it is compared with vectors of the tier `facts`."""

    heads: Heads
    projected: Matrix
    offset: float

    def by_vectors(self, facts: Matrix) -> Float:
        """Return the log-odds of facts by their vectors."""
        rows, offsets = _headed(self.heads.fact, facts)
        return np.asarray(self.heads.scale * (rows @ self.projected) + offsets + self.offset + self.heads.prior, np.float64)

    def by_concepts(self, texts: Sequence[str]) -> Float:
        """Return zeros: the vectors tell all that is learned here."""
        return np.zeros(len(texts))


def compared(vector: Matrix) -> Compared:
    """Return a question by its vector in the space for facts."""
    heads = heads_of_facts()
    rows, offsets = _headed(heads.question, vector.reshape(1, -1))
    return Compared(heads, rows[0], float(offsets[0]))


def looks_up(text: str, vector: Matrix) -> bool:
    """Return whether a question asks for one fact: by its wording, and by its vector in the space for facts."""
    weights = learned("look-up-facts").weights[:, 0]
    return bool(vector @ weights[:-2] + weights[-2] * asks_one_thing(text) + weights[-1] > 0)


def _headed(weights: Matrix, vectors: Matrix) -> tuple[Matrix, Matrix]:
    rows = vectors @ weights[:-1] + weights[-1]
    return unit(rows[:, :-1]), rows[:, -1]


@lru_cache
def heads_of_facts() -> Heads:
    """Load the weights of the tier `facts`, which come with the package."""
    data = files("contextd.text").joinpath("learned", "heads.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        question, fact = (stored[side].astype(np.float32) for side in ("question", "fact"))
        return Heads(question, fact, float(stored["scale"]), float(stored["prior"]))


def tier_of(space: str, size: int) -> str:
    """Return the tier whose weights know the vectors of a space; `words` for somebody else's model and for no vectors."""
    tier = space.split("/")[0]
    return tier if tier in TIERS and len(needs_of(tier).fact.mean) == size else WORDS


@lru_cache
def needs_of(tier: str) -> Needs:
    """Load the weights that come with the package."""
    data = files("contextd.text").joinpath("learned", f"needs-{tier}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        sides = [
            Projection(*(stored[f"{side}_{part}"].astype(np.float32) for part in Projection._fields))
            for side in ("question", "fact")
        ]
        return Needs(sides[0], sides[1], tuple(str(name) for name in stored["concepts"]))


def unit(rows: Matrix) -> Matrix:
    """Return rows in unit length; rows of zeros stay as they are."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), np.float32)
