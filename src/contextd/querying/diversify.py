"""Move near-duplicates down, and limit the number of chunks per document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import Candidate
from contextd.values.document import ChunkId

PER_DOCUMENT = 3
_DIGITS = 5  # of a similarity; further ones depend on the position in the matrix
_ALIKE = 0.88  # chunks on one subject reach this cosine; above it the texts repeat each other


def diversify(
    candidates: Sequence[Candidate],
    vectors: NDArray[np.float32],
    k: int,
    *,
    relevance: float = 0.7,
    most: int = PER_DOCUMENT,
    shown: Collection[ChunkId] | None = None,
    groups: Sequence[int] | None = None,
) -> list[Candidate]:
    """Choose k candidates by maximal marginal relevance, at most `most` per document unless fewer than k are left.

    Only candidates in `shown` (None: all) are counted and returned. The others take part, so that the order does not depend on
    which candidates are shown.

    Only candidates of the same group (None: all) are compared: a message that repeats one of another day is no duplicate.

    `relevance` is lambda in the literature: 1 keeps the order as it is. Scores are divided by the maximum, so that both terms
    are between 0 and 1. Similarity counts only where texts nearly repeat each other.
    """
    if not candidates:
        return []
    scores = _scaled(np.array([one.score for one in candidates]))
    alike = np.zeros(len(candidates))
    chosen: list[int] = []
    taken: Counter[int] = Counter()
    left = np.ones(len(candidates), bool)
    group = np.zeros(len(candidates)) if groups is None else np.array(groups)
    eligible = [shown is None or one.chunk in shown for one in candidates]
    while left.any() and len(chosen) < k:
        worth = np.where(left, relevance * scores - (1 - relevance) * alike, -np.inf)
        best = int(np.argmax(worth))
        left[best] = False
        document = candidates[best].chunk.document
        if taken[document] >= most:
            continue
        taken[document] += 1
        chosen += [best] if eligible[best] else []
        if vectors.shape[1]:
            cosine = np.where(group == group[best], vectors @ vectors[best], 0)
            alike = np.maximum(alike, np.round(np.clip((cosine - _ALIKE) / (1 - _ALIKE), 0, 1), _DIGITS))
    if len(chosen) < k:
        chosen += [place for place in range(len(candidates)) if place not in chosen and eligible[place]][: k - len(chosen)]
    return [candidates[place] for place in chosen]


def _scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale scores by the maximum. If no score is positive, subtract the minimum first."""
    if scores.max() <= 0:
        scores = scores - scores.min()
    return scores / (scores.max() or 1.0)


def limit_per_document(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Keep at most `most` candidates of each document, so that a long document does not fill the list."""
    seen: Counter[int] = Counter()
    found: list[Candidate] = []
    for candidate in candidates:
        seen[candidate.chunk.document] += 1
        if seen[candidate.chunk.document] <= most:
            found.append(candidate)
    return found
