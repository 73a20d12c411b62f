"""Drop candidates that are probably no answer. An unrelated question keeps none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextd.values.answer import Candidate
from contextd.values.document import ChunkId
from contextd.values.trace import Trace


def cut(candidates: Sequence[Candidate], relevance: Mapping[ChunkId, float], threshold: float, trace: Trace) -> list[Candidate]:
    """Return the candidates whose relevance reaches the threshold, in the same order."""
    kept = [one for one in candidates if relevance[one.chunk] >= threshold]
    if len(kept) < len(candidates):
        trace.drop("cut", f"{len(candidates) - len(kept)} candidates", f"relevance below {threshold:g}")
    return kept
