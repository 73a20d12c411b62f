"""What saving a memory needs besides the record: models, and what tells its fields. Queries do not load this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from contextd.ports.world import fact_embedder, fact_tagger
from contextd.remembering.enrich import VERSION, Enricher, Taught
from contextd.remembering.pipeline import RememberResources
from contextd.remembering.topics import Routing
from contextd.values.memory import CONTRADICTS, Memory, Topic

if TYPE_CHECKING:
    from contextd.app.memories import MemoryService


def resources_of(
    service: MemoryService, topics: Sequence[Topic], shown: Callable[[Memory], bool], workspaces: Sequence[int], *, deep: bool
) -> RememberResources:
    """Return what saving a memory of some workspaces needs. `shown` says which memories the reader may see."""
    best = service.deep() if deep else None
    tiers = (service.static, best, fact_embedder(best))
    embedders = [embedder for embedder in tiers if embedder is not None]
    version = VERSION if deep or service.deep() is None else -VERSION
    routing = Routing(topics, service.static)
    enricher = Enricher(service.static, routing, lambda: _corrected(service, workspaces), version)

    def contradict(new: Memory, old: Memory) -> None:
        service.record.relations.link(new.workspace, new.id, old.id, CONTRADICTS)

    return RememberResources(
        service.record.memories, embedders, enricher, service.tokens, service.rules, shown, fact_tagger(best), contradict
    )


def _corrected(service: MemoryService, workspaces: Sequence[int]) -> list[Taught]:
    """Return the memories whose fields the person corrected, with their vectors."""
    found: list[Taught] = []
    for workspace in workspaces:
        memories = service.record.memories.taught(workspace, service.reader.name)
        vectors = service.record.memories.vectors(workspace, [one.id for one in memories])
        found += [Taught(one, vectors.get(one.id, {})) for one in memories]
    return found
