"""Open the best files: each of their chunks may hold the lines that answer, whether an arm proposed it or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contextd.ports import View
from contextd.querying.gathered import Gathered
from contextd.types import Candidate, ChunkId, Retrieved

FILES = 20
MOST = 6000  # chunks: a bound on the time, for files of tens of thousands of lines


def gather(ranked: Sequence[Candidate], retrieved: Retrieved, view: View) -> Gathered:
    """The chunks of the first files of an order."""
    best: dict[int, Candidate] = {}
    for one in ranked:
        if len(best) == FILES and one.chunk.document not in best:
            break
        best.setdefault(one.chunk.document, one)
    firsts = list(best.values())
    pieces = [where.pieces for where in view.about([one.chunk for one in firsts])]
    chunks = tuple(
        ChunkId(one.chunk.document, ordinal) for one, count in zip(firsts, pieces, strict=True) for ordinal in range(count)
    )[:MOST]
    return Gathered(
        chunks,
        tuple(view.about(chunks)),
        view.fill(chunks),
        {name: (float(values.min()), float(values.max())) for name, values in retrieved.arms.items()},
        np.array([best[chunk.document].score for chunk in chunks]),
    )
