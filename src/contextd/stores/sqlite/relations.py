"""Links between memories, and topics of a person: small tables of the record; each row has a clock."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Protocol

import apsw

from contextd.stores.sqlite.clocks import Clocks
from contextd.stores.sqlite.database import Database, rows
from contextd.stores.sqlite.memories import changes_of
from contextd.values.memory import Link, Topic, TopicChange, renamed

_LINKS = """
select start_id, end_id, kind, clock from link where workspace_id = ?1
and (start_id in (select value from json_each(?2)) or end_id in (select value from json_each(?2)))
order by start_id, end_id, kind"""
# A person's topics apply to all their memories, in every project.
_OF_MEMORIES = """
update memory set told_topics = coalesce(told_topics, topics), topics = (
  select json_group_array(distinct case when t.value = ?2 then ?3 else t.value end) from json_each(topics) t
  where t.value != ?2 or ?3 != '')
where author = ?1 and exists (select 1 from json_each(topics) t where t.value = ?2)"""
_USED = "select distinct t.value from memory m, json_each(m.topics) t where m.author = ? and m.topics != '[]'"
_USED_OPENLY = """
select distinct t.value from memory m, json_each(m.topics) t where m.author = ? and m.topics != '[]'
and not m.private and m.workspace_id in (select value from json_each(?))"""
_COUNT = """
select count(*) from memory m where m.author = ? and m.topics != '[]'
and exists (select 1 from json_each(m.topics) t where t.value = ?)"""
_UNLINKED = """
insert into link_tombstone select workspace_id, start_id, end_id, kind, ?5 from link
where workspace_id = ?1 and (?4 = '' or kind = ?4)
and ((start_id = ?2 and end_id = ?3) or (start_id = ?3 and end_id = ?2))
on conflict do update set clock = excluded.clock"""


class _Records(Protocol):
    database: Database
    clocks: Clocks


class SqliteRelations:
    """Links between memories, and topics."""

    def __init__(self, record: _Records) -> None:
        self._record = record

    # Links

    def link(self, workspace: int, start: str, end: str, kind: str) -> None:
        """Link two memories. An existing link is not changed."""

        def write(connection: apsw.Connection) -> None:
            values = (workspace, start, end, kind, self._record.clocks.tick(connection))
            connection.execute("insert or ignore into link values (?, ?, ?, ?, ?)", values)

        self._record.database.transact(write)

    def unlink(self, workspace: int, start: str, end: str, kind: str = "") -> int:
        """Remove links between two memories, in both directions. Returns the number removed."""
        query = """delete from link where workspace_id = ?1 and (?4 = '' or kind = ?4)
        and ((start_id = ?2 and end_id = ?3) or (start_id = ?3 and end_id = ?2))"""

        def write(connection: apsw.Connection) -> int:
            connection.execute(_UNLINKED, (workspace, start, end, kind, self._record.clocks.tick(connection)))
            connection.execute(query, (workspace, start, end, kind))
            return int(connection.changes())

        return self._record.database.transact(write)

    def links(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """Return the links that start or end at one of the memories."""
        return [Link(*row) for row in self._record.database.query(_LINKS, (workspace, json.dumps(sorted(memories))))]

    # Topics

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """Return all topics of a person, by name. Parents have their current names."""
        with self._record.database.reading() as connection:
            found, changes = topics_of(connection, workspace, author), changes_of(connection, author)
        alive = {topic.name for topic in found}
        above = {topic.name: "".join(renamed([topic.parent], topic.clock, changes)) for topic in found}
        return [Topic(one.name, above[one.name] if above[one.name] in alive else "", one.clock) for one in found]

    def used_topics(self, author: str) -> list[str]:
        """Return the topics that the memories of a person have, in every project. Reads the topics of all their memories."""
        return [row[0] for row in self._record.database.query(_USED, (author,))]

    def openly_used_topics(self, author: str, workspaces: Collection[int]) -> list[str]:
        """Return the topics of a person's memories in some workspaces that are not private."""
        return [row[0] for row in self._record.database.query(_USED_OPENLY, (author, json.dumps(list(workspaces))))]

    def count_topic(self, author: str, name: str) -> int:
        """Return how many memories of a person have a topic, in every project."""
        return int(self._record.database.query(_COUNT, (author, name))[0][0])

    def topic_authors(self, workspace: int) -> list[str]:
        """Return the people who defined, renamed or deleted a topic."""
        query = "select author from topic where workspace_id = ? union select author from topic_change order by author"
        return [row[0] for row in self._record.database.query(query, (workspace,))]

    def topic_changes(self, author: str) -> list[TopicChange]:
        """Return the topics a person renamed, merged or deleted, oldest change first."""
        with self._record.database.reading() as connection:
            return changes_of(connection, author)

    def put_topics(self, workspace: int, author: str, topics: Collection[Topic]) -> None:
        """Add topics, or change their parent. A topic without a clock gets a new one."""

        def write(connection: apsw.Connection) -> None:
            for topic in topics:
                clock = topic.clock or self._record.clocks.tick(connection)
                values = (workspace, author, topic.name, topic.parent, clock)
                connection.execute("insert or replace into topic values (?, ?, ?, ?, ?)", values)

        self._record.database.transact(write)

    def replace_topic(self, workspace: int, author: str, name: str, new: str) -> int:
        """Replace a topic in all memories of its author. An empty `new` deletes the topic. Returns the number of memories."""

        def write(connection: apsw.Connection) -> int:
            here, tick = (workspace, author, name), self._record.clocks.tick
            where = "topic where workspace_id = ? and author = ? and name = ?"
            row = connection.execute(f"select parent from {where}", here).fetchone()  # noqa: S608 - a text of our own
            connection.execute("insert into topic_change values (?, ?, ?, ?)", (author, tick(connection), name, new))
            connection.execute(f"delete from {where}", here)  # noqa: S608
            if new and row is not None:
                values = (workspace, author, new, row[0], tick(connection))
                connection.execute("insert or ignore into topic values (?, ?, ?, ?, ?)", values)
            connection.execute(_OF_MEMORIES, (author, name, new))
            return int(connection.changes())

        return self._record.database.transact(write)


def topics_of(connection: apsw.Connection, workspace: int, author: str) -> list[Topic]:
    """Return the topics of a person as they were written."""
    query = "select name, parent, clock from topic where workspace_id = ? and author = ? order by name"
    return [Topic(*row) for row in rows(connection, query, (workspace, author))]
