"""Score the best candidates together with the question: slower and better. Candidates that are not read keep their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contextd.ports.world import Reranker
from contextd.values.answer import Candidate

MOST = 30  # candidates that are read
SECONDS = 2.0  # maximum time
_WORTH = 3.5  # weight of the best reranker score, in the unit of `fuse`: from the chats of the benchmark


def rerank(
    candidates: Sequence[Candidate], texts: Sequence[str], question: str, reranker: Reranker, deadline: float | None
) -> list[Candidate]:
    """Return the candidates in their new order. `texts` belong to the first candidates; the deadline may end reading early."""
    scores = np.array(reranker.scores(question, texts, deadline))
    if not len(scores):
        return list(candidates)
    low, spread = scores.min(), float(np.ptp(scores)) or 1.0
    read = [
        replace(one, score=one.score + _WORTH * float((score - low) / spread))
        for one, score in zip(candidates, scores, strict=False)
    ]
    return sorted((*read, *candidates[len(read) :]), key=lambda one: (-one.score, one.chunk))
