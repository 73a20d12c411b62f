"""What people wrote: the registry of workspaces, memories, rights and tombstones, in one durable database.

A memory is a document with one chunk in the same tables an index has, so that one query path finds both. Nothing here is
derived from anything; nothing of it lies outside this file.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import apsw

from contextd.clock import tick
from contextd.errors import InvalidInput
from contextd.ports import Matrix
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.store import SqliteStore
from contextd.types import MEMORIES, DocumentRow, Memory, Parsed, Reader, Stamp

_SCHEMAS = ("index", "record")
_PLACE = "select workspace_id, name from registry where kind = ? and place = ?"


def salvaged(path: Path) -> tuple[dict[str, int], Path]:
    """Save what can be read of a damaged record; rows by table, and where the damaged file lies now."""
    from contextd.stores.sqlite.salvage import salvage

    return salvage(path, _SCHEMAS)


class Record:
    """The one database of a user's own writing."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, durable=True, schemas=_SCHEMAS)
        self._stores: dict[int, SqliteStore] = {}
        self._device = self._own_device()

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

    def store(self, workspace: int) -> SqliteStore:
        """The documents of one workspace in the record."""
        if workspace not in self._stores:
            self._stores[workspace] = SqliteStore(self.database, workspace)
        return self._stores[workspace]

    # Memories

    def remember(self, memory: Memory, parsed: Parsed, vectors: Mapping[str, Matrix]) -> None:
        """Keep a memory; on disk, synced, when this returns."""
        store = self.store(memory.workspace)
        acl = store.grant(memory.principals)
        number = _number(memory.id)
        row = DocumentRow(
            number, MEMORIES, f"memory:{memory.id}", number, acl, "memory", Stamp(0, 0, 0, 0), b"", memory.created
        )

        def write(connection: apsw.Connection) -> None:
            store.put_row(connection, row, parsed, vectors)
            clock = self._tick(connection)
            values = (memory.workspace, memory.id, number, memory.kind, memory.author, memory.created, clock)
            connection.execute("insert into memory values (?, ?, ?, ?, ?, ?, ?)", values)

        self.database.transact(write)

    def forget(self, workspace: int, memory: str) -> str:
        """Erase a memory: `gone` when no byte is left, `pending` while another process reads, `copies` beside damaged ones."""
        store, number = self.store(workspace), _number(memory)
        if not self.database.query("select 1 from memory where workspace_id = ? and memory_id = ?", (workspace, memory)):
            raise InvalidInput(f"no memory {memory!r}; see them with `contextd search --memories`")

        def erase(connection: apsw.Connection) -> None:
            store.erase_row(connection, number)
            connection.execute("delete from memory where workspace_id = ? and memory_id = ?", (workspace, memory))
            clock = self._tick(connection)
            connection.execute("insert or replace into tombstone values (?, ?, ?)", (workspace, memory, clock))

        self.database.transact(erase)
        if not self.database.checkpoint():
            return "pending"
        return "copies" if any(self.database.path.parent.glob("record.db.corrupt-*")) else "gone"

    def memories(self, workspace: int) -> list[tuple[str, int, str, int]]:
        """Id, document, kind and time of each memory."""
        query = "select memory_id, document_id, kind, created from memory where workspace_id = ? order by created"
        return [(row[0], row[1], row[2], row[3]) for row in self.database.query(query, (workspace,))]

    def author(self, workspace: int, memory: str) -> str | None:
        """Who wrote a memory, if there is one."""
        query = "select author from memory where workspace_id = ? and memory_id = ?"
        found = self.database.query(query, (workspace, memory))
        return str(found[0][0]) if found else None

    def may_read(self, workspace: int, memory: str, reader: Reader) -> bool:
        """Whether a reader may see a memory, if there is one."""
        query = """select 1 from document d join acl a on a.workspace_id = d.workspace_id and a.acl_id = d.acl_id
        where d.workspace_id = ? and d.document_id = ? and d.dead_seq is null
        and a.principal in (select value from json_each(?)) limit 1"""
        return bool(self.database.query(query, (workspace, _number(memory), json.dumps(sorted(reader.principals)))))

    def close(self) -> None:
        """Close this thread's connection."""
        self.database.close()

    def tombstones(self, workspace: int) -> list[tuple[str, str]]:
        """What was forgotten: random ids and times, nothing else."""
        return [
            (r[0], r[1])
            for r in self.database.query("select memory_id, clock from tombstone where workspace_id = ?", (workspace,))
        ]

    # Rights of sources

    def source_right(self, workspace: int, source: int) -> frozenset[str] | None:
        """Who may read the documents of a source, if anybody said."""
        query = "select principals from source_right where workspace_id = ? and source_id = ?"
        found = self.database.query(query, (workspace, source))
        return frozenset(json.loads(found[0][0])) if found else None

    def set_source_right(self, workspace: int, source: int, principals: frozenset[str]) -> None:
        """Say who may read the documents of a source."""

        def write(connection: apsw.Connection) -> None:
            values = (workspace, source, json.dumps(sorted(principals)), self._tick(connection))
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

    def _tick(self, connection: apsw.Connection) -> str:
        """The next time of this device, later than any it ever gave out."""
        row = connection.execute("select last from clock where device = ?", (self._device,)).fetchone()
        now = tick(str(row[0]) if row else "", time.time_ns() // 1_000_000, self._device)
        connection.execute("insert or replace into clock values (?, ?)", (self._device, now))
        return now


def _number(memory: str) -> int:
    return int.from_bytes(blake2b(memory.encode(), digest_size=8).digest(), "little") >> 1
