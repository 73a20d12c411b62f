"""Memories as a query sees them: which of them may answer now, and what is known of each."""

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
    """Masks that leave out memories which hold no longer, or are not to be recalled, or are not asked for."""

    def __init__(self, reading: MemoryReading, snapshot: Snapshot, scope: Scope) -> None:
        super().__init__(reading, snapshot, scope)
        self._memories = reading

    @cached_property
    def candidates(self) -> Bools:
        """Memories that may answer."""
        return self.without(self._scope.recall or Recall())

    def without(self, asked: Recall) -> Bools:
        """What may be seen, without the memories that do not answer such a question."""
        keep: Bools = Masks.candidates.func(self).copy()  # type: ignore[attr-defined]  # not `super()`, whose value is kept under the same name as ours
        keep[self._places(self._memories.left_out(asked, self._scope.now))] = False
        return keep

    @cached_property
    def answering(self) -> Bools:
        """Rows that may be hits: a kind that is asked for is one of memories as well."""
        mask = self.rows_of(self.candidates)
        if not self._scope.kinds:
            return mask
        of_kind = np.zeros(len(self._snapshot.documents), bool)
        of_kind[self._places(self._memories.of_kinds(self._scope.kinds))] = True
        return mask & (self.of_kinds() | self._snapshot.rows_of(of_kind))

    def _places(self, documents: Iterable[int]) -> list[int]:
        """The positions of some documents that are there."""
        places = map(self._snapshot.documents.place, documents)
        return [place for place in places if place is not None]


class MemoryView(SnapshotView):
    """A view of memories, with what is known of each beside its text."""

    _masks: MemoryMasks

    fields = frozenset({"chunk", "document", "parts", "mention"})

    def __init__(self, reading: MemoryReading, snapshot: Snapshot, scope: Scope) -> None:
        self._memories = reading
        super().__init__(reading, snapshot, scope)

    def within(self, scope: Scope) -> MemoryView:
        """The same moment, seen by another scope."""
        return MemoryView(self._memories, self._snapshot, only(scope, MEMORIES))

    def _may_answer(self) -> MemoryMasks:
        return MemoryMasks(self._memories, self._snapshot, self._scope)

    def kinds(self) -> frozenset[str]:
        """The kinds of the memories that may answer."""
        seen = self._snapshot.documents.ids[self._masks.candidates].tolist()
        return frozenset(self._memories.memory_kinds(seen))

    def topics(self) -> frozenset[str]:
        """The topics of the memories that may answer, whatever topics are asked for."""
        others = self._masks.without(replace(self._scope.recall or Recall(), topics=frozenset()))
        seen = self._snapshot.documents.ids[others].tolist()
        return frozenset(self._memories.memory_topics(seen))

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from; a memory has its own kind and time."""
        known = {row[0]: row[1:] for row in self._memories.known({chunk.document for chunk in chunks})}
        topics = {written: tuple(json.loads(written)) for written in {row[-1] for row in known.values()}}
        return [
            _known(one, known[chunk.document], topics) if chunk.document in known else one
            for chunk, one in zip(chunks, super().about(chunks), strict=True)
        ]

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts; a memory is labelled with what it is about, and says what it states of it."""
        known = {row[0]: row[1:] for row in self._memories.stated({chunk.document for chunk in chunks})}
        return [
            _stated(chunk, *known[chunk.id.document]) if chunk.id.document in known else chunk for chunk in super().get(chunks)
        ]

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """The memories that are linked with some, whichever side they are on."""
        found: dict[int, list[Related]] = {}
        for here, there, kind in self._memories.related(documents):
            if self._map.may_see(there):
                found.setdefault(here, []).append(Related(there, kind))
        return found


def _known(where: About, memory: Sequence[Any], topics: Mapping[str, tuple[str, ...]]) -> About:
    kind, said, confidence, pinned, feedback, whose, written = memory
    told = topics[written]
    return About(where.uri, where.language, kind, said, where.pieces, confidence, bool(pinned), feedback, told, whose)


def _stated(chunk: Chunk, kind: str, confidence: float, said: int, attribute: str, value: str) -> Chunk:
    return replace(chunk, kind=kind, label=attribute, value=value, confidence=confidence, modified=said)
