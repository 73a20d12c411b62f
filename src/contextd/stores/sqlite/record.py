"""What people wrote: the registry of workspaces, memories, rights and tombstones, in one durable database.

A memory is a document with one chunk in the same tables an index has, so that one query path finds both. Nothing here is
derived from anything; nothing of it lies outside this file.
"""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path

import apsw

from contextd.stores.sqlite.chats import ChatStore
from contextd.stores.sqlite.clocks import Clocks
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.exchange import SqliteExchange
from contextd.stores.sqlite.memories import SqliteMemories
from contextd.stores.sqlite.recall import MemoryStore
from contextd.stores.sqlite.relations import SqliteRelations

_SCHEMAS = ("index", "record")
_PLACE = "select workspace_id, name from registry where kind = ? and place = ?"


def salvaged(path: Path) -> tuple[dict[str, int], Path] | None:
    """Save what can be read of a damaged record; rows by table, and where the damaged file lies now. None: it is healthy."""
    from contextd.stores.sqlite.salvage import salvage

    return salvage(path, _SCHEMAS)


class SqliteRecord:
    """The one database of a user's own writing."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, durable=True, schemas=_SCHEMAS)
        self.database.wipe_if_due()
        self._stores: dict[int, MemoryStore] = {}
        self.clocks = Clocks(self.database)
        self.memories = SqliteMemories(self)
        self.relations = SqliteRelations(self)
        self.exchange = SqliteExchange(self)

    # Workspaces

    def workspace(self, kind: str, place: str, name: str) -> int:
        """The workspace of a place, registered when it is new."""
        known = self.registered(kind, place)
        if known is not None:
            return known
        number = secrets.randbits(62) + 1
        values = (number, name, kind, place, time.time_ns() // 1000)
        query = "insert or ignore into registry values (?, ?, ?, ?, ?)"
        self.database.transact(lambda connection: connection.execute(query, values))
        return int(self.database.query(_PLACE, (kind, place))[0][0])

    def registered(self, kind: str, place: str) -> int | None:
        """The workspace of a place, if there is one."""
        found = self.database.query(_PLACE, (kind, place))
        return int(found[0][0]) if found else None

    def scrubbed_by(self) -> str:
        """The rules with which everything here was scrubbed last; empty for none."""
        found = self.database.query("select value from setting where workspace_id = 0 and name = 'scrubbed'", ())
        return str(found[0][0]) if found else ""

    def now(self) -> int:
        """The time in microseconds; not before the last write while the wall clock is back by a day at the most."""
        return self.clocks.now()

    def store(self, workspace: int) -> MemoryStore:
        """The documents of one workspace in the record."""
        if workspace not in self._stores:
            self._stores[workspace] = MemoryStore(self.database, workspace)
        return self._stores[workspace]

    def chats(self, workspace: int) -> ChatStore:
        """The chats and notes of one workspace."""
        return ChatStore(self.store(workspace), self.clocks.tick)

    def close(self) -> None:
        """Close this thread's connection."""
        self.database.close()

    # Rights of sources

    def source_right(self, workspace: int, source: int) -> frozenset[str] | None:
        """Who may read the documents of a source, if anybody said."""
        query = "select principals from source_right where workspace_id = ? and source_id = ?"
        found = self.database.query(query, (workspace, source))
        return frozenset(json.loads(found[0][0])) if found else None

    def set_source_right(self, workspace: int, source: int, principals: frozenset[str]) -> None:
        """Say who may read the documents of a source."""

        def write(connection: apsw.Connection) -> None:
            values = (workspace, source, json.dumps(sorted(principals)), self.clocks.tick(connection))
            connection.execute("insert or replace into source_right values (?, ?, ?, ?)", values)

        self.database.transact(write)
