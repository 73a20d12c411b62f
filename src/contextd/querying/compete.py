"""Compete: how a fact stands among all facts of the same person.

A cosine alone says little: a person with 500 facts has many that are near any question. So a fact's standing is its distance
from the person's mean fact, in standard deviations, plus what it shares with the question in words and concepts. The standing
that a fact needs grows with the number of facts (benchmarks/README.md, "Facts of persons", shows the curve).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import NO_VECTOR, Candidate, Retrieved, Spread

Float = NDArray[np.float64]

# The mean and deviation of cosines of aimed questions to facts of anybody, counted as so many facts: a person with three facts
# has no spread of their own.
_USUAL = {"static": Spread(0.03, 0.1, 8), "deep": Spread(0.03, 0.06, 8)}
_PARTS, _COVERAGE = 2.0, 0.5  # weights of shared word parts and concepts, and of shared words; chosen out of fold
_MOST_NEEDED, _FEWER = 3.0, 9.8  # the standing that is enough among very many facts, and how much less among fewer
_LEAST_NEEDED = 0.85
_FEW, _AMONG_FEW = 20, 1.2
_PARTS_ALONE = 5.0  # standing of a fact in another language, whose vector says nothing, if it shares all concepts
_ODDS = (-0.7, 1.4)  # of a fact with just enough standing, and for each further unit
_WORDS_ALONE = 4.0  # standing of a fact that shares all words and concepts, where there are no vectors
_CLEAR = 0.5  # lead of the answer to a look-up over the standing that is enough
_AS_GOOD = 0.8  # difference to a second answer


def compete(
    found: Retrieved, *, most: int, more: Mapping[str, float], shares: Mapping[str, float]
) -> list[Candidate]:  # fmt: skip
    """Return the `most` best candidates by their standing. `more` has the weights of plug-in arms, `shares` factors."""
    score = standings(found)
    for arm in (arm for arm in more if arm in found.arms):
        values = found.arms[arm]
        score = score + more[arm] * shares.get(arm, 1.0) * values / (values.max(initial=0) or 1.0)
    order = np.argsort(-score, kind="stable")[:most].tolist()
    columns = zip(*(values[order].tolist() for values in found.arms.values()), strict=True) if order else ()
    return [
        Candidate(found.chunks[place], dict(zip(found.arms, column, strict=True)), total)
        for place, total, column in zip(order, score[order].tolist(), columns, strict=True)
    ]


def standings(found: Retrieved) -> Float:
    """Return the standing of each candidate among all facts, by the best vector it has."""
    size = len(found.chunks)
    parts, coverage = (found.arms.get(arm, np.zeros(size)) for arm in ("parts", "document_coverage"))
    spaces = sorted((space for space in found.spread if found.spread[space].size), key=lambda space: space.startswith("deep/"))
    if not spaces:
        return np.asarray(_WORDS_ALONE * np.maximum(parts, coverage))
    place = np.full(size, -1.0)
    for space in spaces:  # the static tier first; the deep tier overrides it where there is a vector
        place = np.where(found.arms[space] > NO_VECTOR, distance(found, space), place)
    return np.maximum(place + _PARTS * parts + _COVERAGE * coverage, _PARTS_ALONE * parts)


def distance(found: Retrieved, space: str) -> Float:
    """Return how far each candidate is above the person's mean fact in a space, in standard deviations; -1 without a vector."""
    cosines = found.arms[space]
    mean, deviation, _ = _shrunk(space, found.spread)
    return np.where(cosines > NO_VECTOR, (cosines - mean) / deviation, -1.0)


def distances(found: Retrieved, places: Sequence[int]) -> dict[str, Float]:
    """Return the distances of the candidates at some places, by tier of vectors."""
    return {space.split("/")[0]: distance(found, space)[list(places)] for space in found.spread if found.spread[space].size}


def shared_words(found: Retrieved, places: Sequence[int]) -> dict[str, Float]:
    """Return the shares of word parts and of words that the candidates at some places have in common with the question."""
    arms = {"parts": "parts", "coverage": "document_coverage"}
    zero = np.zeros(len(places))
    return {name: found.arms[arm][list(places)] if arm in found.arms else zero for name, arm in arms.items()}


def odds_by_standing(standing: Float, size: int) -> Float:
    """Return the log-odds that each fact matters, by its lead over the standing it needs."""
    return _ODDS[0] + _ODDS[1] * (standing - needed(size))


def likely_of(standing: Float, size: int, gate: float) -> Float:
    """Return the probability that each fact matters: by its lead over the standing it needs, at most that anything matters."""
    return likely_by(odds_by_standing(standing, size), gate)


def likely_by(odds: Float, gate: float) -> Float:
    """Return probabilities of log-odds, at most that anything matters."""
    return np.minimum(1 / (1 + np.exp(-np.clip(odds, -30, 30))), gate)


def needed(size: int) -> float:
    """Return the standing that a fact among so many needs to be relevant."""
    few = max(0.0, 1 - size / _FEW)  # among few facts even the best may be far from the question
    return max(_LEAST_NEEDED + _AMONG_FEW * few, _MOST_NEEDED - _FEWER / math.sqrt(max(1, size)))


def alone(standing: Float, size: int) -> list[int]:
    """Return the answer to a look-up: the first fact, and the second if nearly as good; none if the first is not clear."""
    order = np.argsort(-standing, kind="stable").tolist()
    if not order or standing[order[0]] < needed(size) + _CLEAR:
        return []
    return [place for place in order[:2] if standing[place] >= standing[order[0]] - _AS_GOOD]


def _shrunk(space: str, spread: Mapping[str, Spread]) -> Spread:
    """Return mean and deviation with the usual ones mixed in, so that few facts do not decide them."""
    usual, own = _USUAL[space.split("/")[0]], spread[space]
    count = own.size + usual.size
    mean = (own.mean * own.size + usual.mean * usual.size) / count
    squares = (own.deviation**2 + (own.mean - mean) ** 2) * own.size + (
        usual.deviation**2 + (usual.mean - mean) ** 2
    ) * usual.size
    return Spread(mean, math.sqrt(squares / count) or 1.0, count)
