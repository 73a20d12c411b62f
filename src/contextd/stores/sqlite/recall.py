"""Memories as a query sees them: which of them may answer now, and what is known of them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import apsw
import numpy as np

from contextd.stores.sqlite.chats import only
from contextd.stores.sqlite.database import rows
from contextd.stores.sqlite.masks import Bools, Masks
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.stores.sqlite.store import SqliteStore
from contextd.stores.sqlite.view import SqliteView
from contextd.values.document import MEMORIES, About, Chunk, ChunkId
from contextd.values.memory import Recall, Related
from contextd.values.query import Scope

# What holds no longer, is silent or private; what does not hold yet; what is not asked for. All but the last by an index.
# Asked for now, a fact holds if it held when it was told, and what it replaced does not: the clock may have been set back.
_PAST = """select document_id from memory m indexed by memory_not_answering where workspace_id = :workspace
and (valid_to is not null or silent or private) and (silent or (valid_to is not null and (valid_to <= :then
  or (:now and exists (select 1 from memory r where r.workspace_id = m.workspace_id and r.memory_id = m.replaced_by
    and r.valid_from <= r.said)))){private})"""
_FUTURE = (
    "select document_id from memory where workspace_id = :workspace and valid_from > :then and (not :now or valid_from > said)"
)
_OTHERS = "select document_id from memory where workspace_id = :workspace and ({conditions})"
_RELATED = """
select a.document_id, b.document_id, l.kind from memory a join link l on l.workspace_id = a.workspace_id
and a.memory_id in (l.start_id, l.end_id) join memory b on b.workspace_id = l.workspace_id
and b.memory_id = iif(l.start_id = a.memory_id, l.end_id, l.start_id)
where a.workspace_id = ? and a.document_id in (select value from json_each(?)) order by l.clock"""
_KNOWN = """
select document_id, kind, said, confidence, pinned, useful - useless, about, topics
from json_each(?) j cross join memory on workspace_id = ? and document_id = j.value"""
_STATED = """
select document_id, kind, confidence, said, attribute, trim(memory.value || ' ' || unit)
from json_each(?) j cross join memory on workspace_id = ? and document_id = j.value"""


class MemoryStore(SqliteStore):
    """The documents of a record's workspace: memories, and texts that cannot be read again from disk."""

    @contextmanager
    def view(self, scope: Scope, deadline: float | None = None) -> Iterator[SqliteView]:
        """What may be seen now, and of the memories what may answer."""
        with super().view(scope, deadline) as plain:
            yield MemoryView(plain._connection, plain._snapshot, only(scope, MEMORIES))


class MemoryMasks(Masks):
    """Masks that leave out memories which hold no longer, or are not to be recalled, or are not asked for."""

    @cached_property
    def candidates(self) -> Bools:
        """Memories that may answer."""
        return self.without(self._scope.recall or Recall())

    def without(self, asked: Recall) -> Bools:
        """What may be seen, without the memories that do not answer such a question."""
        keep: Bools = Masks.candidates.func(self).copy()  # type: ignore[attr-defined]  # not `super()`, whose value is kept under the same name as ours
        keep[self._places(self._left_out(asked))] = False
        return keep

    @cached_property
    def answering(self) -> Bools:
        """Rows that may be hits: a kind that is asked for is one of memories as well."""
        mask = self.rows_of(self.candidates)
        if not self._scope.kinds:
            return mask
        query = "select document_id from memory where workspace_id = ? and kind in (select value from json_each(?))"
        known = rows(self._connection, query, (self._snapshot.workspace, json.dumps(sorted(self._scope.kinds))))
        of_kind = np.zeros(len(self._snapshot.documents), bool)
        of_kind[self._places(known)] = True
        return mask & (self.of_kinds() | self._snapshot.rows_of(of_kind))

    def _places(self, documents: Iterable[Any]) -> list[int]:
        """The positions of some documents that are there."""
        places = (self._snapshot.documents.place(document) for (document,) in documents)
        return [place for place in places if place is not None]

    def _left_out(self, asked: Recall) -> list[Any]:
        """Memories that may not answer: not now or then, never, or not what is asked for."""
        private = "" if asked.private else " or private"
        then = (self._scope.now or time.time_ns() // 1000) if asked.as_of is None else asked.as_of
        conditions: list[str] = []
        values: dict[str, Any] = {"workspace": self._snapshot.workspace, "then": then, "now": asked.as_of is None}
        if asked.min_confidence > 0:
            conditions.append("confidence < :least")
            values["least"] = asked.min_confidence
        if asked.conversation:
            conditions.append("conversation != :conversation")
            values["conversation"] = asked.conversation
        if asked.topics:
            conditions.append(
                "not exists (select 1 from json_each(topics) t where t.value in (select value from json_each(:topics)))"
            )
            values["topics"] = json.dumps(sorted(asked.topics))
        others = [_OTHERS.format(conditions=" or ".join(conditions))] if conditions else []
        query = " union all ".join([_PAST.format(private=private), _FUTURE, *others])
        return self._connection.execute(query, values).fetchall()


class MemoryView(SqliteView):
    """A view of memories, with what is known of each beside its text."""

    _masks: MemoryMasks

    fields = frozenset({"chunk", "document", "parts", "mention"})

    def within(self, scope: Scope) -> SqliteView:
        """The same moment, seen by another scope."""
        return MemoryView(self._connection, self._snapshot, only(scope, MEMORIES))

    @staticmethod
    def _may_answer(connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> MemoryMasks:
        return MemoryMasks(connection, snapshot, scope)

    def kinds(self) -> frozenset[str]:
        """The kinds of the memories that may answer."""
        seen = self._snapshot.documents.ids[self._masks.candidates].tolist()
        query = "select distinct kind from memory where workspace_id = ? and document_id in (select value from json_each(?))"
        return frozenset(kind for (kind,) in rows(self._connection, query, (self._snapshot.workspace, json.dumps(seen))))

    def topics(self) -> frozenset[str]:
        """The topics of the memories that may answer, whatever topics are asked for."""
        others = self._masks.without(replace(self._scope.recall or Recall(), topics=frozenset()))
        seen = self._snapshot.documents.ids[others].tolist()
        query = """select distinct t.value from memory m, json_each(m.topics) t
        where m.workspace_id = ? and m.document_id in (select value from json_each(?))"""
        return frozenset(topic for (topic,) in rows(self._connection, query, (self._snapshot.workspace, json.dumps(seen))))

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from; a memory has its own kind and time."""
        wanted = json.dumps(sorted({chunk.document for chunk in chunks}))
        known = {row[0]: row[1:] for row in rows(self._connection, _KNOWN, (wanted, self._snapshot.workspace))}
        topics = {written: tuple(json.loads(written)) for written in {row[-1] for row in known.values()}}
        return [
            _known(one, known[chunk.document], topics) if chunk.document in known else one
            for chunk, one in zip(chunks, super().about(chunks), strict=True)
        ]

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts; a memory is labelled with what it is about, and says what it states of it."""
        wanted = json.dumps(sorted({chunk.document for chunk in chunks}))
        known = {row[0]: row[1:] for row in rows(self._connection, _STATED, (wanted, self._snapshot.workspace))}
        return [
            _stated(chunk, *known[chunk.id.document]) if chunk.id.document in known else chunk for chunk in super().get(chunks)
        ]

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """The memories that are linked with some, whichever side they are on."""
        found: dict[int, list[Related]] = {}
        for here, there, kind in rows(self._connection, _RELATED, (self._snapshot.workspace, json.dumps(sorted(documents)))):
            if self._map.may_see(there):
                found.setdefault(here, []).append(Related(there, kind))
        return found


def _known(where: About, memory: Sequence[Any], topics: Mapping[str, tuple[str, ...]]) -> About:
    kind, said, confidence, pinned, feedback, whose, written = memory
    told = topics[written]
    return About(where.uri, where.language, kind, said, where.pieces, confidence, bool(pinned), feedback, told, whose)


def _stated(chunk: Chunk, kind: str, confidence: float, said: int, attribute: str, value: str) -> Chunk:
    return replace(chunk, kind=kind, label=attribute, value=value, confidence=confidence, modified=said)
