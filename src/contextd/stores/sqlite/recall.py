"""The SQL of a search of memories: which memories are no candidates, and the metadata of each."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any

import apsw

from contextd.stores.search.memories import MemoryView
from contextd.stores.search.view import only
from contextd.stores.sqlite.reading import SqliteReading
from contextd.stores.sqlite.store import SqliteStore
from contextd.values.document import MEMORIES
from contextd.values.memory import GUESSED, PERSON, Recall
from contextd.values.query import Scope

# Past: memories that are no longer valid, silent or private. Future: not valid yet. Others: excluded by filters; uses no index.
# For the time "now", a memory is valid if it was when it was stated, and the memory it replaced is not: the clock may have
# been set back since.
_PAST = """select document_id from memory m indexed by memory_not_answering where workspace_id = :workspace
and (valid_to is not null or silent or private) and (silent or (valid_to is not null and (valid_to <= :then
  or (:now and exists (select 1 from memory r where r.workspace_id = m.workspace_id and r.memory_id = m.replaced_by
    and r.valid_from <= r.said)))){private})"""
_FUTURE = (
    "select document_id from memory where workspace_id = :workspace and valid_from > :then and (not :now or valid_from > said)"
)
_OTHERS = "select document_id from memory where workspace_id = :workspace and ({conditions})"
_HIDDEN = """exists (select 1 from json_each(topics) t join json_each(:without) w on w.value ->> 1 = t.value
where w.value ->> 0 in (author, ''))"""
_RELATED = """
select a.document_id, b.document_id, l.kind from memory a join link l on l.workspace_id = a.workspace_id
and a.memory_id in (l.start_id, l.end_id) join memory b on b.workspace_id = l.workspace_id
and b.memory_id = iif(l.start_id = a.memory_id, l.end_id, l.start_id)
where a.workspace_id = ? and a.document_id in (select value from json_each(?)) order by l.clock"""
_OF_KINDS = "select document_id from memory where workspace_id = ? and kind in (select value from json_each(?))"
_KINDS = "select distinct kind from memory where workspace_id = ? and document_id in (select value from json_each(?))"
_TOPICS = """
select distinct t.value from memory m, json_each(m.topics) t
where m.workspace_id = ? and m.document_id in (select value from json_each(?))"""
_KNOWN = """
select document_id, kind, said, confidence, pinned, useful - useless, about, case when source = ?3 or not exists (
    select 1 from json_each(?4) g where g.value not in (select v.value from json_each(verified) v)
) then author else '' end, topics
from json_each(?2) j cross join memory on workspace_id = ?1 and document_id = j.value"""
_STATED = """
select document_id, kind, confidence, said, attribute, trim(memory.value || ' ' || unit), author,
source = ?3 or not exists (
    select 1 from json_each(?4) g where g.value not in (select v.value from json_each(verified) v))
from json_each(?2) j cross join memory on workspace_id = ?1 and document_id = j.value"""


class SqliteMemoryReading(SqliteReading):
    """The rows of a workspace of the record, with the metadata of its memories."""

    def left_out(self, asked: Recall, now: int) -> list[int]:
        """Return the documents of memories that are not valid at that time, are never recalled, or do not match the filters."""
        private = "" if asked.private else " or private"
        then = (now or time.time_ns() // 1000) if asked.as_of is None else asked.as_of
        conditions: list[str] = []
        values: dict[str, Any] = {"workspace": self.workspace, "then": then, "now": asked.as_of is None}
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
        if asked.without_topics:
            conditions.append(_HIDDEN)
            values["without"] = json.dumps(sorted(asked.without_topics))
        others = [_OTHERS.format(conditions=" or ".join(conditions))] if conditions else []
        query = " union all ".join([_PAST.format(private=private), _FUTURE, *others])
        return [document for (document,) in self.connection.execute(query, values)]

    def of_kinds(self, kinds: Collection[str]) -> list[int]:
        """Return the documents of memories of these kinds."""
        return [document for (document,) in self.select(_OF_KINDS, json.dumps(sorted(kinds)))]

    def memory_kinds(self, documents: Collection[int]) -> list[str]:
        """Return the kinds of the memories of some documents."""
        return [kind for (kind,) in self.select(_KINDS, json.dumps(list(documents)))]

    def memory_topics(self, documents: Collection[int]) -> list[str]:
        """Return the topics of the memories of some documents."""
        return [topic for (topic,) in self.select(_TOPICS, json.dumps(list(documents)))]

    def known(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Return document, kind, time said, confidence, pinned, feedback, whom it is about, who stated it, topics as JSON."""
        return self.select(_KNOWN, json.dumps(sorted(documents)), PERSON, json.dumps(GUESSED))

    def stated(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Return document, kind, confidence, time said, attribute, value with its unit, author, whether a person stated it."""
        return self.select(_STATED, json.dumps(sorted(documents)), PERSON, json.dumps(GUESSED))

    def related(self, documents: Collection[int]) -> list[tuple[int, int, str]]:
        """Return document, linked document and kind of each link, oldest first."""
        return [(here, there, kind) for here, there, kind in self.select(_RELATED, json.dumps(sorted(documents)))]


class MemoryStore(SqliteStore):
    """The documents of a workspace of the record: memories, chats and notes. Its views show memories only."""

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[MemoryView]:
        """Open a view of the memories at the current position."""
        return self.seen(only(scope, MEMORIES), deadline, MemoryView)

    def reading(self, connection: apsw.Connection) -> SqliteMemoryReading:
        """Return the rows of this workspace in a transaction."""
        return SqliteMemoryReading(connection, self.workspace)
