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

from contextd.clock import tick
from contextd.stores.sqlite.chats import ChatStore
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.memories import Memories
from contextd.stores.sqlite.recall import MemoryStore
from contextd.stores.sqlite.relations import Relations

_SCHEMAS = ("index", "record")
_PLACE = "select workspace_id, name from registry where kind = ? and place = ?"


def salvaged(path: Path) -> tuple[dict[str, int], Path] | None:
    """Save what can be read of a damaged record; rows by table, and where the damaged file lies now. None: it is healthy."""
    from contextd.stores.sqlite.salvage import salvage

    return salvage(path, _SCHEMAS)


class Record:
    """The one database of a user's own writing."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, durable=True, schemas=_SCHEMAS)
        self._stores: dict[int, MemoryStore] = {}
        self._device = self._own_device()
        self.memories = Memories(self)
        self.relations = Relations(self)

    # Workspaces

    def workspace(self, kind: str, place: str, name: str) -> int:
        """The workspace of a place, registered when it is new."""
        found = self.database.query(_PLACE, (kind, place))
        if found:
            return int(found[0][0])
        number = secrets.randbits(62) + 1
        values = (number, name, kind, place, time.time_ns() // 1000)
        query = "insert or ignore into registry values (?, ?, ?, ?, ?)"
        self.database.transact(lambda connection: connection.execute(query, values))
        return int(self.database.query(_PLACE, (kind, place))[0][0])

    def store(self, workspace: int) -> MemoryStore:
        """The documents of one workspace in the record."""
        if workspace not in self._stores:
            self._stores[workspace] = MemoryStore(self.database, workspace)
        return self._stores[workspace]

    def chats(self, workspace: int) -> ChatStore:
        """The chats and notes of one workspace."""
        return ChatStore(self.store(workspace), self.tick)

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
            values = (workspace, source, json.dumps(sorted(principals)), self.tick(connection))
            connection.execute("insert or replace into source_right values (?, ?, ?, ?)", values)

        self.database.transact(write)

    # Inside

    def _own_device(self) -> str:
        found = self.database.query("select device from clock limit 1", ())
        if found or self.database.read_only:
            return str(found[0][0]) if found else "reader"
        device = secrets.token_hex(4)
        self.database.transact(lambda c: c.execute("insert into clock values (?, '')", (device,)))
        return device

    def observe(self, connection: apsw.Connection, clock: str) -> None:
        """Take note of another device's time: the next one of this device is later."""
        row = connection.execute("select last from clock where device = ?", (self._device,)).fetchone()
        if row is None or str(row[0]) < clock:
            connection.execute("insert or replace into clock values (?, ?)", (self._device, clock))

    def tick(self, connection: apsw.Connection) -> str:
        """The next time of this device, later than any it ever gave out."""
        row = connection.execute("select last from clock where device = ?", (self._device,)).fetchone()
        now = tick(str(row[0]) if row else "", time.time_ns() // 1_000_000, self._device)
        connection.execute("insert or replace into clock values (?, ?)", (self._device, now))
        return now
