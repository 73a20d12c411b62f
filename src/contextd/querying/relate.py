"""Add memories linked with the hits, up to a depth; each step away lowers the relevance."""

from __future__ import annotations

from collections.abc import Sequence

from contextd.ports.store import View
from contextd.values.answer import Hit
from contextd.values.document import ChunkId
from contextd.values.memory import Relation

_LESS = 0.8  # factor on the relevance of a hit for each step away from it; set by hand


def relate(hits: Sequence[Hit], view: View, depth: int, k: int) -> list[Hit]:
    """Return the hits and the memories linked with them, best first. Each appears once, even if links form cycles."""
    found = {hit.chunk.id.document: hit for hit in hits}
    edge = list(found)
    for step in range(1, depth + 1):
        linked: dict[int, tuple[Hit, str]] = {}
        for document, others in view.related(edge).items():
            for other, kind in others:
                if other not in found and (other not in linked or linked[other][0].score < found[document].score):
                    linked[other] = found[document], kind
        chunks = {chunk.id.document: chunk for chunk in view.get([ChunkId(other, 0) for other in linked])}
        for other, chunk in chunks.items():
            near, kind = linked[other]
            relation = Relation(kind, step, near.chunk.uri)
            why = {"link": _LESS**step}
            found[other] = Hit(chunk, near.score * _LESS, near.rank_score * _LESS, why, relation=relation)
        edge = list(chunks)
    return sorted(found.values(), key=lambda hit: -hit.score)[:k] if len(found) > len(hits) else list(hits)
