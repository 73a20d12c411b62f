"""Views of memories: which memories are candidates now, and the metadata of each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from contextd.stores.search.masks import Bools, Masks
from contextd.stores.search.reading import MemoryReading
from contextd.stores.search.snapshot import Snapshot
from contextd.stores.search.view import SnapshotView, only
from contextd.values.document import MEMORIES, About, Chunk, ChunkId
from contextd.values.memory import Recall, Related
from contextd.values.query import Scope


class MemoryMasks(Masks):
    """Masks without memories that are no longer valid, are never recalled, or do not match the filters."""

    def __init__(self, reading: MemoryReading, snapshot: Snapshot, scope: Scope) -> None:
        super().__init__(reading, snapshot, scope)
        self._memories = reading

    @cached_property
    def candidates(self) -> Bools:
        """Candidate memories."""
        return self.without(self._scope.recall or Recall())

    def without(self, asked: Recall) -> Bools:
        """Return the documents inside the scope, without memories that the filters exclude."""
        keep: Bools = Masks.candidates.func(self).copy()  # type: ignore[attr-defined]  # not `super()`, which caches under the same name
        keep[self._places(self._memories.left_out(asked, self._scope.now))] = False
        return keep

    @cached_property
    def answering(self) -> Bools:
        """Candidate rows. A kind in the scope is the kind of a chunk or of a memory."""
        mask = self.rows_of(self.candidates)
        if not self._scope.kinds:
            return mask
        of_kind = np.zeros(len(self._snapshot.documents), bool)
        of_kind[self._places(self._memories.of_kinds(self._scope.kinds))] = True
        return mask & (self.of_kinds() | self._snapshot.rows_of(of_kind))

    def _places(self, documents: Iterable[int]) -> list[int]:
        """Return the positions of those documents that are in the snapshot."""
        places = map(self._snapshot.documents.place, documents)
        return [place for place in places if place is not None]


class MemoryView(SnapshotView):
    """A view of memories, with the metadata of each."""

    _masks: MemoryMasks

    fields = frozenset({"chunk", "document", "parts", "mention"})

    def __init__(self, reading: MemoryReading, snapshot: Snapshot, scope: Scope) -> None:
        self._memories = reading
        super().__init__(reading, snapshot, scope)

    def within(self, scope: Scope) -> MemoryView:
        """Return a view of the same snapshot with another scope."""
        return MemoryView(self._memories, self._snapshot, only(scope, MEMORIES))

    def _make_masks(self) -> MemoryMasks:
        return MemoryMasks(self._memories, self._snapshot, self._scope)

    def kinds(self) -> frozenset[str]:
        """Return the kinds of the candidate memories."""
        seen = self._snapshot.documents.ids[self._masks.candidates].tolist()
        return frozenset(self._memories.memory_kinds(seen))

    def topics(self) -> frozenset[str]:
        """Return the topics of the candidate memories, before the filter by topic."""
        others = self._masks.without(replace(self._scope.recall or Recall(), topics=frozenset()))
        seen = self._snapshot.documents.ids[others].tolist()
        return frozenset(self._memories.memory_topics(seen))

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Return the metadata of chunks; a memory has its own kind and time."""
        known = {row[0]: row[1:] for row in self._memories.known({chunk.document for chunk in chunks})}
        topics = {written: tuple(json.loads(written)) for written in {row[-1] for row in known.values()}}
        return [
            _known(one, known[chunk.document], topics) if chunk.document in known else one
            for chunk, one in zip(chunks, super().about(chunks), strict=True)
        ]

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """Return chunks with their texts; a memory has its attribute as label, its value, and who else told it."""
        known = {row[0]: row[1:] for row in self._memories.stated({chunk.document for chunk in chunks})}
        reader = self._scope.reader.name
        return [
            _stated(chunk, reader, *known[chunk.id.document]) if chunk.id.document in known else chunk
            for chunk in super().get(chunks)
        ]

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """Return the candidate memories linked with some memories, in either direction, by memory."""
        found: dict[int, list[Related]] = {}
        for here, there, kind in self._memories.related(documents):
            if self._map.may_see(there):
                found.setdefault(here, []).append(Related(there, kind))
        return found


def _known(where: About, memory: Sequence[Any], topics: Mapping[str, tuple[str, ...]]) -> About:
    kind, said, confidence, pinned, feedback, whose, stated_by, written = memory
    names = topics[written]
    return About(
        where.uri, where.language, kind, said, where.pieces, confidence, bool(pinned), feedback, names, whose, stated_by
    )  # fmt: skip


def _stated(
    chunk: Chunk, reader: str, kind: str, confidence: float, said: int, attribute: str, value: str, author: str, stated: int
) -> Chunk:  # fmt: skip
    told_by = author if author != reader else ""
    return replace(
        chunk, kind=kind, label=attribute, value=value, confidence=confidence, modified=said, told_by=told_by,
        stated=bool(stated),
    )  # fmt: skip
