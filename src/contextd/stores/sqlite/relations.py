"""How memories relate, and the topics a person has: small tables of the record, each write with its clock."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Protocol

import apsw

from contextd.memory import Link, Topic
from contextd.stores.sqlite.database import Database

_LINKS = """
select start_id, end_id, kind, clock from link where workspace_id = ?1
and (start_id in (select value from json_each(?2)) or end_id in (select value from json_each(?2)))
order by start_id, end_id, kind"""
_OF_MEMORIES = """
update memory set topics = (
  select json_group_array(distinct case when t.value = ?3 then ?4 else t.value end) from json_each(topics) t
  where t.value != ?3 or ?4 != '')
where workspace_id = ?1 and author = ?2 and exists (select 1 from json_each(topics) t where t.value = ?3)"""
_BELOW = "update topic set parent = ? where workspace_id = ? and author = ? and parent = ? and name != ?"


class _Records(Protocol):
    database: Database

    def tick(self, connection: apsw.Connection) -> str: ...


class Relations:
    """Links between memories, and topics."""

    def __init__(self, record: _Records) -> None:
        self._record = record

    # Links

    def link(self, workspace: int, start: str, end: str, kind: str) -> None:
        """Relate two memories; the same again changes nothing."""

        def write(connection: apsw.Connection) -> None:
            values = (workspace, start, end, kind, self._record.tick(connection))
            connection.execute("insert or ignore into link values (?, ?, ?, ?, ?)", values)

        self._record.database.transact(write)

    def unlink(self, workspace: int, start: str, end: str, kind: str = "") -> int:
        """Take relationships between two memories back, in both directions; how many there were."""
        query = """delete from link where workspace_id = ?1 and (?4 = '' or kind = ?4)
        and ((start_id = ?2 and end_id = ?3) or (start_id = ?3 and end_id = ?2))"""

        def write(connection: apsw.Connection) -> int:
            connection.execute(query, (workspace, start, end, kind))
            return int(connection.changes())

        return self._record.database.transact(write)

    def links(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """The relationships some memories have, whichever side they are on."""
        return [Link(*row) for row in self._record.database.query(_LINKS, (workspace, json.dumps(sorted(memories))))]

    # Topics

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """All topics of a person, by name."""
        query = "select name, parent, clock from topic where workspace_id = ? and author = ? order by name"
        return [Topic(*row) for row in self._record.database.query(query, (workspace, author))]

    def put_topics(self, workspace: int, author: str, topics: Collection[Topic]) -> None:
        """Add topics, or put them below others."""

        def write(connection: apsw.Connection) -> None:
            for topic in topics:
                values = (workspace, author, topic.name, topic.parent, self._record.tick(connection))
                connection.execute("insert or replace into topic values (?, ?, ?, ?, ?)", values)

        self._record.database.transact(write)

    def replace_topic(self, workspace: int, author: str, name: str, new: str) -> int:
        """Give what is of one topic to another, or to none when `new` is empty; how many memories had it."""

        def write(connection: apsw.Connection) -> int:
            here = (workspace, author, name)
            row = connection.execute(
                "select parent from topic where workspace_id = ? and author = ? and name = ?", here
            ).fetchone()
            connection.execute("delete from topic where workspace_id = ? and author = ? and name = ?", here)
            if new and row is not None:
                values = (workspace, author, new, row[0], self._record.tick(connection))
                connection.execute("insert or ignore into topic values (?, ?, ?, ?, ?)", values)
            connection.execute(_BELOW, (new, *here, new))
            connection.execute(_OF_MEMORIES, (*here, new))
            return int(connection.changes())

        return self._record.database.transact(write)
