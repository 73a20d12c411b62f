"""The record: the registry of workspaces, memories, chats, access lists and tombstones, in one durable database.

A memory is a document with one chunk, in the same tables as an index, so one query path finds both. The record is not derived
from other data, and all of it is in this one file.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Hashable
from pathlib import Path

import apsw

from contextd.stores.sqlite.chats import ChatStore
from contextd.stores.sqlite.clocks import Clocks
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.exchange import SqliteExchange
from contextd.stores.sqlite.memories import SqliteMemories
from contextd.stores.sqlite.profiles import SqliteProfiles
from contextd.stores.sqlite.pushed import PushedStore
from contextd.stores.sqlite.recall import MemoryStore
from contextd.stores.sqlite.relations import SqliteRelations
from contextd.stores.sqlite.tokens import SqliteTokens

_SCHEMAS = ("index", "record")
_PLACE = "select workspace_id, name from registry where kind = ? and place = ?"


def salvaged(path: Path) -> tuple[dict[str, int], Path] | None:
    """Copy the readable rows of a damaged record. Returns rows by table and the path of the damaged file; None if healthy."""
    from contextd.stores.sqlite.salvage import salvage

    return salvage(path, _SCHEMAS)


class SqliteRecord:
    """The database of everything a person wrote. Any thread may call its methods."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, durable=True, schemas=_SCHEMAS)
        self.database.wipe_if_due()
        self._stores: dict[int, MemoryStore] = {}
        self.clocks = Clocks(self.database)
        self.memories = SqliteMemories(self)
        self.relations = SqliteRelations(self)
        self.exchange = SqliteExchange(self)
        self.tokens = SqliteTokens(self.database)
        self.profiles = SqliteProfiles(self.database, self.clocks)

    # Workspaces

    def workspace(self, kind: str, place: str, name: str) -> int:
        """Return the workspace of a place. Registers it if it is new."""
        known = self.registered(kind, place)
        if known is not None:
            return known
        number = secrets.randbits(62) + 1
        values = (number, name, kind, place, time.time_ns() // 1000)
        query = "insert or ignore into registry values (?, ?, ?, ?, ?)"
        self.database.transact(lambda connection: connection.execute(query, values))
        return int(self.database.query(_PLACE, (kind, place))[0][0])

    def registered(self, kind: str, place: str) -> int | None:
        """Return the workspace of a place; None if it is not registered."""
        found = self.database.query(_PLACE, (kind, place))
        return int(found[0][0]) if found else None

    def scrubbed_by(self) -> str:
        """Return the version of the rules that scrubbed the record last; empty if none did."""
        found = self.database.query("select value from setting where workspace_id = 0 and name = 'scrubbed'", ())
        return str(found[0][0]) if found else ""

    def version(self) -> Hashable:
        """Return a value that changes with every commit of any process."""
        return self.database.version()

    def now(self) -> int:
        """Return the time in microseconds. If the wall clock was set back by up to a day, it is still after the last write."""
        return self.clocks.now()

    def store(self, workspace: int) -> MemoryStore:
        """Return the documents of one workspace in the record."""
        if workspace not in self._stores:
            self._stores[workspace] = MemoryStore(self.database, workspace)
        return self._stores[workspace]

    def chats(self, workspace: int) -> ChatStore:
        """Return the chats and notes of one workspace."""
        return ChatStore(self.store(workspace), self.clocks.tick)

    def pushed(self, workspace: int) -> PushedStore:
        """Return the documents that programs pushed to one workspace."""
        return PushedStore(self.store(workspace))

    def living(self, workspace: int, documents: Collection[int]) -> frozenset[int]:
        """Return those of some documents that are there: memories, chats, notes and pushed documents."""
        return self.store(workspace).living(documents)

    def close(self) -> None:
        """Close idle connections."""
        self.database.close()

    # Access lists of sources

    def source_right(self, workspace: int, source: int) -> frozenset[str] | None:
        """Return who may read the documents of a source; None if that was never set."""
        query = "select principals from source_right where workspace_id = ? and source_id = ?"
        found = self.database.query(query, (workspace, source))
        return frozenset(json.loads(found[0][0])) if found else None

    def set_source_right(self, workspace: int, source: int, principals: frozenset[str]) -> None:
        """Set who may read the documents of a source."""

        def write(connection: apsw.Connection) -> None:
            values = (workspace, source, json.dumps(sorted(principals)), self.clocks.tick(connection))
            connection.execute("insert or replace into source_right values (?, ?, ?, ?)", values)

        self.database.transact(write)
