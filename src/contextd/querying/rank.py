"""Rankers: named orders for hits. A ranker maps a hit to a number; the highest comes first.

`relevance` is used unless another is named: it keeps the order of the search, pins and feedback included. `default` weighs
relevance, recency and confidence of a memory:

    0.85 * relevance + 0.10 * recency + 0.05 * confidence

Custom weights are written as "relevance=0.5,recency=0.5".
Recency halves every three months. `1 / (1 + days)`, which would halve a fact after a day, can be registered.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from contextd.errors import InvalidInput
from contextd.values.answer import Hit
from contextd.values.document import COMMIT

RELEVANCE = "relevance"
_WEIGHTS = {"relevance": 0.85, "recency": 0.10, "confidence": 0.05}
_DAY = 86_400_000_000
_HALVES = 90  # days
_AUTHOR = re.compile(r"Author: (.{1,80}?), \d{4}-\d{2}-\d{2}, [0-9a-f]{7,}$")
_MOST_AUTHORS = 5
_MATCHING = 0.6  # factor on the share of words of the best commit; set by hand
_RELEVANT = 0.5  # factor on the relevance of the best hit; set by hand

Ranker = Callable[[Hit, int], float]  # arguments: a hit, and now in microseconds


def rank(hits: Sequence[Hit], ranker: Ranker, now: int) -> list[Hit]:
    """Return the hits sorted by a ranker; ties keep their order. Raises InvalidInput if a custom ranker fails."""
    try:
        ranked = [replace(hit, rank_score=float(ranker(hit, now))) for hit in hits]
    except Exception as error:
        raise InvalidInput(f"the ranker failed: {type(error).__name__}: {error}") from error
    return sorted(ranked, key=lambda hit: -hit.rank_score)


def commits_first(hits: Sequence[Hit], *, newest: bool) -> list[Hit]:
    """For a question about the past: put matching commits before all other hits, optionally the newest first.

    A commit matches if it has nearly as many of the words as the best commit, and is not far less relevant than the best hit.
    """
    best = max((hit.score for hit in hits), default=0.0)
    shares = {
        hit.chunk.id: hit.why.get("document_coverage", 0.0)
        for hit in hits
        if hit.chunk.language == COMMIT and hit.score >= _RELEVANT * best
    }
    least = _MATCHING * max(shares.values(), default=0.0)
    matching = [hit for hit in hits if (share := shares.get(hit.chunk.id, 0.0)) > 0 and share >= least]
    chosen = {hit.chunk.id for hit in matching}
    if newest:
        matching.sort(key=lambda hit: -hit.chunk.modified)
    return [*matching, *(hit for hit in hits if hit.chunk.id not in chosen)]


def authors(hits: Sequence[Hit]) -> str:
    """Return the authors of the commits among the hits, most commits first: "Bob (2), Ann (1)"."""
    lines = (line for hit in hits if hit.chunk.language == COMMIT for line in hit.chunk.text.split("\n"))
    names = Counter(found[1] for line in lines if (found := _AUTHOR.match(line)))
    return ", ".join(f"{name} ({count})" for name, count in names.most_common(_MOST_AUTHORS))


def recency(hit: Hit, now: int) -> float:
    """Return 1 for now, 0.5 for three months ago."""
    return float(2.0 ** (-max(0, now - hit.chunk.modified) / _DAY / _HALVES))


def similarity(hit: Hit, now: int) -> float:
    """Return the cosine in the best space; without vectors, the relevance."""
    return hit.why.get("deep", hit.why.get("static", hit.score))


def _balanced(hit: Hit, now: int) -> float:
    return (
        _WEIGHTS["relevance"] * hit.score
        + _WEIGHTS["recency"] * recency(hit, now)
        + _WEIGHTS["confidence"] * hit.chunk.confidence
    )


def weighted(weights: Mapping[str, float], known: Mapping[str, Ranker]) -> Ranker:
    """Return a ranker that is a weighted sum of named rankers. `relevance` is the calibrated score."""
    parts = {name: _score if name == RELEVANCE else known[name] for name in weights}
    return lambda hit, now: sum(weight * parts[name](hit, now) for name, weight in weights.items())


def ranker_of(text: str, known: Mapping[str, Ranker]) -> Ranker:
    """Parse weights such as "relevance=0.5,recency=0.5" into a ranker. Raises InvalidInput."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (side.strip() for side in part.partition("="))
        if name not in (RELEVANCE, *known):
            raise InvalidInput(f"no such ranker: {name!r}; the rankers are {', '.join(sorted((RELEVANCE, *known)))}")
        try:
            weights[name] = float(number)
        except ValueError:
            weights[name] = math.nan
        if not 0 <= weights[name] < math.inf:  # also false for NaN
            raise InvalidInput(f"invalid weight for {name}: {number!r} (must be a number of at least 0, such as {name}=0.5)")
    return weighted(weights, known)


def _score(hit: Hit, now: int) -> float:
    return hit.score


RANKERS: dict[str, Ranker] = {
    "default": _balanced,
    "similarity": similarity,
    "recency": recency,
    "confidence": lambda hit, now: hit.chunk.confidence,
}
