"""Merges data of another device of the same person by clocks. Imports may come in any order and any number of times.

The author of the stored row decides: no import changes rows of another author.
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

_CLOSE = 60_000  # milliseconds: two edits closer than this are a conflict, as neither knew of the other
_BURY = "insert into tombstone values (?, ?, ?, ?) on conflict do update set clock = max(clock, excluded.clock)"
_BURIED = "select clock from tombstone where workspace_id = ? and memory_id = ? and author = ?"
# Versions and links of a memory up to its tombstone, if it was written again later.
_BEFORE = (
    "delete from memory_version where workspace_id = ?1 and memory_id = ?2 and clock <= ?3",
    "delete from link where workspace_id = ?1 and (start_id = ?2 or end_id = ?2) and clock <= ?3",
    "delete from link_tombstone where workspace_id = ?1 and (start_id = ?2 or end_id = ?2) and clock <= ?3",
)
# Memories and links that a tombstone with a later clock erases.
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
    """Exports what an exchange needs, and merges imports of another device."""

    def __init__(self, record: _Records) -> None:
        self._record = record

    # For exports

    def aliases(self, author: str) -> dict[str, str]:
        """Return the clocks of an author that were ahead of real time, with their replacements. Afterwards none is ahead."""
        return self._record.clocks.aliases(author)

    def told_topics(self, author: str) -> dict[str, tuple[str, ...]]:
        """Return the topics of memories as written, for memories whose topics were renamed or deleted since."""
        query = "select memory_id, topics, told_topics from memory where author = ? and told_topics is not null"
        found = self._record.database.query(query, (author,))
        return {
            memory: tuple(json.loads(original)) for memory, now, original in found if json.loads(now) != json.loads(original)
        }

    def unlinked(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """Return the removed links that started at one of the memories."""
        return [Link(*row) for row in self._record.database.query(_UNLINKED, (workspace, json.dumps(sorted(memories))))]

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """Return all topics of a person as they were written."""
        with self._record.database.reading() as connection:
            return topics_of(connection, workspace, author)

    # For imports

    def settle(self, author: str, clocks: Collection[str], aliases: Mapping[str, str]) -> dict[str, str]:
        """Set back clocks of an import that are more than a day ahead. Returns all aliases: original clock to new clock."""
        known = self._record.clocks.settle(author, clocks, aliases)
        if known:
            self._record.database.transact(lambda connection: self._reorder(connection, author))
        return known

    def restore(
        self,
        memory: Memory,
        parsed: Parsed,
        vectors: Mapping[str, Matrix],
        versions: Sequence[Version],
        reader: Reader,
        buried: str = "",
    ) -> Taken:
        """Import a memory of the reader's own, with its clock: `added`, `changed`, `known`, `forgotten`, or `refused`.

        `buried` is the clock of its tombstone in the same import. Versions up to a tombstone do not count as known.
        """

        def write(connection: apsw.Connection) -> Taken:
            here = row_of(connection, memory.workspace, memory.id)
            if memory.author != reader.name or (here is not None and here.author != reader.name):
                return Taken("refused")
            self._record.clocks.observe(connection, memory.clock)
            dead = max(buried, self._buried(connection, memory.workspace, memory.id, memory.author))
            if dead >= memory.clock:
                return Taken("forgotten")
            for one in versions:
                if dead < one.before.clock != memory.clock and {one.by, one.before.author} == {reader.name}:
                    self._record.memories.keep_version(connection, one.before, one.at, one.by)
            if here is None:
                self._write(connection, memory, parsed, vectors)
                return Taken("added")
            original = self._record.memories.told_topics(connection, here)
            return self._merged(connection, replace(here, topics=original), memory, parsed, vectors, dead)

        return self._record.database.transact(write)

    def bury(self, workspace: int, memory: str, clock: str, reader: Reader) -> bool:
        """Import a tombstone of the reader's own and erase older data. Returns whether a memory was erased."""

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
        """Wipe erased memories from disk: once per import, since that rewrites the database."""
        self._record.database.wipe_if_due()

    def relate(self, workspace: int, links: Sequence[Link], unlinked: Sequence[Link], reader: Reader) -> None:
        """Import links and removed links, from memories of the reader's own to memories the reader may see."""

        def write(connection: apsw.Connection) -> None:
            for link in unlinked:
                if link.clock > self._required_clock(connection, workspace, link, reader):
                    values = (workspace, link.start, link.end, link.kind)
                    connection.execute(_PUT_LINK.format("link_tombstone"), (*values, link.clock))
                    connection.execute(f"delete from link where {_THIS} and clock <= ?", (*values, link.clock))  # noqa: S608
            for link in links:
                values = (workspace, link.start, link.end, link.kind)
                gone = rows(connection, f"select clock from link_tombstone where {_THIS}", values)  # noqa: S608
                if link.clock > max([self._required_clock(connection, workspace, link, reader), *(clock for (clock,) in gone)]):
                    connection.execute(_PUT_LINK.format("link"), (*values, link.clock))
            for link in (*links, *unlinked):
                self._record.clocks.observe(connection, link.clock)

        self._record.database.transact(write)

    def name(self, workspace: int, author: str, topics: Sequence[Topic], changes: Sequence[TopicChange]) -> None:
        """Import topics and topic changes. Memories written before a change get its new name."""

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
        """Apply tombstones again: new clocks may have changed the order of concurrent writes."""
        for workspace, memory in rows(connection, _DEAD, (author,)):
            self._record.memories.erase(connection, workspace, memory)
        for found in rows(connection, _REWRITTEN, (author,)):
            self._forget_before(connection, *found)
        connection.execute(_DEAD_LINKS)

    def _forget_before(self, connection: apsw.Connection, workspace: int, memory: str, clock: str) -> None:
        for query in _BEFORE:
            connection.execute(query, (workspace, memory, clock))

    def _merged(
        self,
        connection: apsw.Connection,
        here: Memory,
        there: Memory,
        parsed: Parsed,
        vectors: Mapping[str, Matrix],
        dead: str,
    ) -> Taken:
        """Keep the later of two writes. The other goes to the history, unless that has an equal one. Topics are as written."""
        winner, loser = (there, here) if (there.clock, _rank(there)) > (here.clock, _rank(here)) else (here, there)
        conflict = ""
        if winner.clock != loser.clock:
            known = [one.before for one in versions_of(connection, here.workspace, here.id) if one.before.clock > dead]
            if loser.clock not in {one.clock for one in known} and _set_by_person(loser) not in map(
                _set_by_person, (winner, *known)
            ):
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

    def _required_clock(self, connection: apsw.Connection, workspace: int, link: Link, reader: Reader) -> str:
        """Return the clock that a link must exceed to be stored; `never`, above all clocks, if the reader may not link them."""
        start, end = (row_of(connection, workspace, one) for one in (link.start, link.end))
        if start is None or end is None or start.id == end.id:
            return "never"
        if start.author != reader.name or not end.principals & reader.principals:
            return "never"
        return max(self._buried(connection, workspace, one.id, one.author) for one in (start, end))

    def _name_topics(self, connection: apsw.Connection, author: str) -> None:
        """Apply topic changes to all memories of an author."""
        changes = changes_of(connection, author)
        for workspace, memory, clock, topics, original in rows(connection, _TOLD_TOPICS, (author,)) if changes else ():
            now = json.dumps(list(renamed(json.loads(original), clock, changes)))
            if now != topics:
                connection.execute(_NAME_TOPICS, (now, None if now == original else original, workspace, memory))


def _set_by_person(memory: Memory) -> tuple[Any, ...]:
    """Return the fields of a memory that a person set. Of two memories that agree in them, one is enough."""
    said = tuple(getattr(memory, name) for name in GUESSED if name in memory.verified and name != "topics")
    until = None if memory.replaced_by else memory.valid_to
    return memory.text, memory.principals, memory.pinned, memory.silent, memory.private, until, said


def _rank(memory: Memory) -> tuple[Any, ...]:
    """Return the tie-break of rows with the same clock: still valid first, then the better guess, then a fixed order."""
    guessed = [getattr(memory, name) for name in GUESSED]
    return (
        memory.valid_to is None,
        abs(memory.enriched),
        memory.enriched,
        json.dumps([*guessed, memory.confidence]),
        memory.text,
    )
