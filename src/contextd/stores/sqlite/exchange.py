"""What comes from another device of the same person: each part is merged by its clock, in any order and any number of times.

The author of the row that is here decides: nothing of anybody else changes, whatever a file says.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import apsw

from contextd.ports.record import Taken
from contextd.ports.world import Matrix
from contextd.stores.sqlite.clocks import Clocks
from contextd.stores.sqlite.database import Database, rows
from contextd.stores.sqlite.memories import SqliteMemories, changes_of, row_of, versions_of
from contextd.stores.sqlite.relations import topics_of
from contextd.stores.sqlite.store import SqliteStore
from contextd.values.clock import moment
from contextd.values.document import Parsed
from contextd.values.memory import GUESSED, Link, Memory, Topic, TopicChange, Version, renamed
from contextd.values.query import Reader

_CLOSE = 60_000  # milliseconds between two edits that are a conflict: neither person nor device knew of the other
_BURY = "insert into tombstone values (?, ?, ?, ?) on conflict do update set clock = max(clock, excluded.clock)"
_BURIED = "select clock from tombstone where workspace_id = ? and memory_id = ? and author = ?"
# What a memory had when it was forgotten, where it was written again since.
_BEFORE = (
    "delete from memory_version where workspace_id = ?1 and memory_id = ?2 and clock <= ?3",
    "delete from link where workspace_id = ?1 and (start_id = ?2 or end_id = ?2) and clock <= ?3",
    "delete from link_tombstone where workspace_id = ?1 and (start_id = ?2 or end_id = ?2) and clock <= ?3",
)
# Memories, and relationships, that a tombstone with a later clock erases.
_DEAD = """select m.workspace_id, m.memory_id from memory m
join tombstone t using (workspace_id, memory_id, author) where m.author = ? and m.clock <= t.clock"""
_REWRITTEN = """select workspace_id, memory_id, t.clock from tombstone t join memory using (workspace_id, memory_id, author)
where author = ?"""
_DEAD_LINKS = """delete from link where exists (select 1 from link_tombstone t where t.clock >= link.clock
and (t.workspace_id, t.start_id, t.end_id, t.kind) = (link.workspace_id, link.start_id, link.end_id, link.kind))"""
_THIS = "workspace_id = ? and start_id = ? and end_id = ? and kind = ?"
_PUT_LINK = "insert into {} values (?, ?, ?, ?, ?) on conflict do update set clock = max(clock, excluded.clock)"
_UNLINKED = """
select start_id, end_id, kind, clock from link_tombstone where workspace_id = ?1
and start_id in (select value from json_each(?2)) order by start_id, end_id, kind"""
_PUT_TOPIC = """insert into topic values (?, ?, ?, ?, ?)
on conflict do update set parent = excluded.parent, clock = excluded.clock
where (excluded.clock, excluded.parent) > (clock, parent)"""
_DEAD_TOPICS = """delete from topic where author = ?1 and exists (
select 1 from topic_change t where t.author = ?1 and t.name = topic.name and t.clock >= topic.clock)"""
_TOLD_TOPICS = """select workspace_id, memory_id, clock, topics, coalesce(told_topics, topics) from memory
where author = ? and (topics != '[]' or told_topics is not null)"""
_NAME_TOPICS = "update memory set topics = ?, told_topics = ? where workspace_id = ? and memory_id = ?"


class _Records(Protocol):
    database: Database
    clocks: Clocks
    memories: SqliteMemories

    def store(self, workspace: int) -> SqliteStore: ...


class SqliteExchange:
    """Merging what another device wrote."""

    def __init__(self, record: _Records) -> None:
        self._record = record

    # What an export needs beside what everybody can see

    def aliases(self, author: str) -> dict[str, str]:
        """The clocks of an author that were ahead of real time, and what they were set back to; none is ahead any more."""
        return self._record.clocks.aliases(author)

    def told_topics(self, author: str) -> dict[str, tuple[str, ...]]:
        """The topics of memories as they were when these were written, where they are called something else by now."""
        query = "select memory_id, topics, told_topics from memory where author = ? and told_topics is not null"
        found = self._record.database.query(query, (author,))
        return {memory: tuple(json.loads(told)) for memory, now, told in found if json.loads(now) != json.loads(told)}

    def unlinked(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """The relationships that were removed of some memories."""
        return [Link(*row) for row in self._record.database.query(_UNLINKED, (workspace, json.dumps(sorted(memories))))]

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """All topics of a person as they were written."""
        with self._record.database.reading() as connection:
            return topics_of(connection, workspace, author)

    # Taking

    def settle(self, author: str, clocks: Collection[str], aliases: Mapping[str, str]) -> dict[str, str]:
        """Set back what of the clocks in an import is more than a day ahead; all clocks that ever were, with their aliases."""
        known = self._record.clocks.settle(author, clocks, aliases)
        if known:
            self._record.database.transact(lambda connection: self._reorder(connection, author))
        return known

    def restore(
        self, memory: Memory, parsed: Parsed, vectors: Mapping[str, Matrix], versions: Sequence[Version], reader: Reader
    ) -> Taken:
        """Take a memory of the reader's own with its clock: `added`, `changed`, `known`, `forgotten`, or `refused`."""

        def write(connection: apsw.Connection) -> Taken:
            here = row_of(connection, memory.workspace, memory.id)
            if memory.author != reader.name or (here is not None and here.author != reader.name):
                return Taken("refused")
            self._record.clocks.observe(connection, memory.clock)
            buried = self._buried(connection, memory.workspace, memory.id, memory.author)
            if buried >= memory.clock:
                return Taken("forgotten")
            for one in versions:
                if buried < one.before.clock < memory.clock and {one.by, one.before.author} == {reader.name}:
                    self._record.memories.keep_version(connection, one.before, one.at, one.by)
            if here is None:
                self._write(connection, memory, parsed, vectors)
                return Taken("added")
            told = self._record.memories.told_topics(connection, here)
            return self._merged(connection, replace(here, topics=told), memory, parsed, vectors)

        return self._record.database.transact(write)

    def bury(self, workspace: int, memory: str, clock: str, reader: Reader) -> bool:
        """Take a tombstone of the reader's own: what is older than it is erased here; whether a memory was."""

        def write(connection: apsw.Connection) -> bool:
            here = row_of(connection, workspace, memory)
            if here is not None and here.author != reader.name:
                return False
            self._record.clocks.observe(connection, clock)
            connection.execute(_BURY, (workspace, memory, reader.name, clock))
            if here is not None and here.clock <= clock:
                self._record.memories.erase(connection, workspace, memory)
                return True
            self._forget_before(connection, workspace, memory, clock)
            return False

        return self._record.database.transact(write)

    def finish(self) -> None:
        """Wipe what was buried: once for a whole import, since it writes the database anew."""
        self._record.database.wipe_if_due()

    def relate(self, workspace: int, links: Sequence[Link], unlinked: Sequence[Link], reader: Reader) -> None:
        """Take relationships, and those that were removed, of memories of the reader's own to such as they may read."""

        def write(connection: apsw.Connection) -> None:
            for link in unlinked:
                if link.clock > self._ends(connection, workspace, link, reader):
                    values = (workspace, link.start, link.end, link.kind)
                    connection.execute(_PUT_LINK.format("link_tombstone"), (*values, link.clock))
                    connection.execute(f"delete from link where {_THIS} and clock <= ?", (*values, link.clock))  # noqa: S608
            for link in links:
                values = (workspace, link.start, link.end, link.kind)
                gone = rows(connection, f"select clock from link_tombstone where {_THIS}", values)  # noqa: S608
                if link.clock > max([self._ends(connection, workspace, link, reader), *(clock for (clock,) in gone)]):
                    connection.execute(_PUT_LINK.format("link"), (*values, link.clock))
            for link in (*links, *unlinked):
                self._record.clocks.observe(connection, link.clock)

        self._record.database.transact(write)

    def name(self, workspace: int, author: str, topics: Sequence[Topic], changes: Sequence[TopicChange]) -> None:
        """Take topics, and those that were renamed or deleted; memories written before such a change follow it."""

        def write(connection: apsw.Connection) -> None:
            for topic in topics:
                self._record.clocks.observe(connection, topic.clock)
                connection.execute(_PUT_TOPIC, (workspace, author, topic.name, topic.parent, topic.clock))
            for change in changes:
                self._record.clocks.observe(connection, change.clock)
                values = (author, change.clock, change.name, change.new)
                connection.execute("insert or ignore into topic_change values (?, ?, ?, ?)", values)
            connection.execute(_DEAD_TOPICS, (author,))
            self._name_topics(connection, author)

        self._record.database.transact(write)

    # Inside

    def _reorder(self, connection: apsw.Connection, author: str) -> None:
        """Apply tombstones again: two writes that did not know of each other may have changed places by their new clocks."""
        for workspace, memory in rows(connection, _DEAD, (author,)):
            self._record.memories.erase(connection, workspace, memory)
        for found in rows(connection, _REWRITTEN, (author,)):
            self._forget_before(connection, *found)
        connection.execute(_DEAD_LINKS)

    def _forget_before(self, connection: apsw.Connection, workspace: int, memory: str, clock: str) -> None:
        for query in _BEFORE:
            connection.execute(query, (workspace, memory, clock))

    def _merged(
        self, connection: apsw.Connection, here: Memory, there: Memory, parsed: Parsed, vectors: Mapping[str, Matrix]
    ) -> Taken:
        """Keep the later write of two; the other stays in the history, if nothing there says the same. Topics are as told."""
        winner, loser = (there, here) if (there.clock, _rank(there)) > (here.clock, _rank(here)) else (here, there)
        conflict = ""
        if winner.clock != loser.clock:
            known = [one.before for one in versions_of(connection, here.workspace, here.id)]
            if loser.clock not in {one.clock for one in known} and _told(loser) not in map(_told, (winner, *known)):
                self._record.memories.keep_version(connection, loser, winner.changed, loser.author)
                close = moment(winner.clock) - moment(loser.clock) < _CLOSE and winner.text != loser.text
                conflict = loser.text if close else ""
        counts = {name: max(getattr(here, name), getattr(there, name)) for name in ("useful", "useless")}
        if winner is there:
            self._write(connection, replace(there, **counts), parsed, vectors)
        elif replace(here, **counts) != here:
            self._record.memories.insert(connection, replace(here, **counts))
        return Taken("changed" if winner is there and there.clock != here.clock else "known", conflict)

    def _write(self, connection: apsw.Connection, memory: Memory, parsed: Parsed, vectors: Mapping[str, Matrix]) -> None:
        self._record.store(memory.workspace).writer(connection).grant(memory.principals)
        self._record.memories.write_text(connection, memory, parsed, vectors)
        self._record.memories.insert(connection, memory)

    def _buried(self, connection: apsw.Connection, workspace: int, memory: str, author: str) -> str:
        found = connection.execute(_BURIED, (workspace, memory, author)).fetchone()
        return str(found[0]) if found else ""

    def _ends(self, connection: apsw.Connection, workspace: int, link: Link, reader: Reader) -> str:
        """The clock after which a link between two memories counts; none reaches it if the reader may not link them."""
        start, end = (row_of(connection, workspace, one) for one in (link.start, link.end))
        if start is None or end is None or start.id == end.id:
            return "never"
        if start.author != reader.name or not end.principals & reader.principals:
            return "never"
        return max(self._buried(connection, workspace, one.id, one.author) for one in (start, end))

    def _name_topics(self, connection: apsw.Connection, author: str) -> None:
        """Give all memories of an author the topics that their own have become."""
        changes = changes_of(connection, author)
        for workspace, memory, clock, topics, told in rows(connection, _TOLD_TOPICS, (author,)) if changes else ():
            now = json.dumps(list(renamed(json.loads(told), clock, changes)))
            if now != topics:
                connection.execute(_NAME_TOPICS, (now, None if now == told else told, workspace, memory))


def _told(memory: Memory) -> tuple[Any, ...]:
    """What of a memory a person said: two that agree in it need not both be kept."""
    said = tuple(getattr(memory, name) for name in GUESSED if name in memory.verified and name != "topics")
    until = None if memory.replaced_by else memory.valid_to
    return memory.text, memory.principals, memory.pinned, memory.silent, memory.private, until, said


def _rank(memory: Memory) -> tuple[Any, ...]:
    """Which of two rows with the same clock counts: one that still holds, then the better guess, then either for good."""
    guessed = [getattr(memory, name) for name in GUESSED]
    return (
        memory.valid_to is None,
        abs(memory.enriched),
        memory.enriched,
        json.dumps([*guessed, memory.confidence]),
        memory.text,
    )
