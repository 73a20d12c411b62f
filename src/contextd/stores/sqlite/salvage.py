"""Copies the readable rows of a damaged record into a new file, row by row. The damaged file is kept beside it.

Texts, memories, access lists and tombstones are copied. Data derived from a text is computed again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from contextd.errors import StorageError
from contextd.stores.search.postings import pack
from contextd.stores.search.snapshot import load
from contextd.stores.sqlite.connect import migrations, translated
from contextd.stores.sqlite.database import Database, rows, unpacked
from contextd.stores.sqlite.reading import SqliteReading
from contextd.text.indexed_text import words_of
from contextd.values.document import OWNER, Piece

_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
_DERIVED = ("words", "chunk", "job", "job_log", "failure", "failure_stamp", "setting")
# Values of columns that an older record does not have.
_DEFAULTS = {
    "author": OWNER, "kind": "unknown", "topics": "[]", "verified": "[]", "source": "person", "confidence": 1.0,
    **dict.fromkeys(("about", "attribute", "value", "unit", "language", "conversation", "replaced_by"), ""),
    **dict.fromkeys(("fingerprint", "said", "valid_from", "pinned", "silent", "private"), 0),
    **dict.fromkeys(("useful", "useless", "enriched", "changed"), 0),
}  # fmt: skip
_LARGEST_GAP = 100_000  # row numbers between the readable ends that are tried one by one
_ORPHANS = """
delete from document where not exists (select 1 from content c
  where c.workspace_id = document.workspace_id and c.content_id = document.content_id);
delete from memory where not exists (select 1 from document d
  where d.workspace_id = memory.workspace_id and d.document_id = memory.document_id and d.dead_seq is null);
delete from content where not exists (select 1 from document d
  where d.workspace_id = content.workspace_id and d.content_id = content.content_id);
delete from vector where not exists (select 1 from content c
  where c.workspace_id = vector.workspace_id and c.content_id = vector.content_id)"""


def salvage(path: Path, schemas: tuple[str, ...]) -> tuple[dict[str, int], Path] | None:
    """Return rows saved by table, and the new path of the damaged file. Does nothing and returns None for a healthy record."""
    if _healthy(path, schemas):
        return None
    fresh = path.with_name(path.name + ".salvaged")
    for leftover in path.parent.glob(fresh.name + "*"):
        leftover.unlink()
    source = _opened(path)
    target = Database(fresh, durable=True, schemas=schemas)
    saved = _copied(source, target) if source is not None else {}
    target.transact(_rebuild_derived)
    saved["memory"] = int(target.query("select count(*) from memory")[0][0])
    target.checkpoint()
    target.close()
    aside = path.with_name(f"{path.name}.corrupt-{int(time.time())}")
    with translated(path):
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
        fresh.rename(path)
    if source is not None:
        with suppress(apsw.Error):
            source.close()
    return saved, aside


def _healthy(path: Path, schemas: tuple[str, ...]) -> bool:
    """Return whether a record has the current schema, and all its pages, texts and terms can be read."""
    source = None
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)  # read-write, so that the log is read, too
        source.set_busy_timeout(2000)
        faults = rows(source, "pragma integrity_check(1)")
        if faults != [("ok",)] or rows(source, "pragma user_version") != [(max(migrations(schemas)),)]:
            return False
        for (data,) in source.execute("select text from content"):
            unpacked(data)
        for (workspace,) in rows(source, "select workspace_id from workspace"):
            load(SqliteReading(source, workspace), None)
    except (apsw.Error, StorageError, IndexError, KeyError, ValueError, TypeError):
        return False
    finally:
        if source is not None:
            with suppress(apsw.Error):
                source.close()
    return True


def _opened(path: Path) -> apsw.Connection | None:
    """Open the damaged file exclusively; None if nothing of it can be read. Raises `StorageError` if it is in use."""
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)  # read-write, so that the log is read, too
        source.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        source.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        source.set_busy_timeout(2000)
        source.execute("pragma locking_mode = exclusive; begin immediate").fetchall()
    except apsw.BusyError:
        raise StorageError(f"{path} is open in another process; stop it first", code="locked") from None
    except apsw.Error:
        return None
    return source


def _copied(source: apsw.Connection, target: Database) -> dict[str, int]:
    saved: dict[str, int] = {}
    with suppress(apsw.Error):
        there = {name for (name,) in source.execute(_TABLES)}
        for (table,) in target.query(_TABLES):
            if table in there and table not in _DERIVED:
                saved[table] = target.transact(lambda connection, name=table: _copy(source, connection, name))  # type: ignore[misc]
    return saved


def _copy(source: apsw.Connection, target: apsw.Connection, table: str) -> int:
    """Copy the readable rows of a table, in the columns that both have. Returns their number."""
    try:
        known = _columns(source, table)
        columns = [name for name in _columns(target, table) if name in known or name in _DEFAULTS]
    except apsw.Error:
        return 0
    asked = ", ".join(name if name in known else repr(_DEFAULTS[name]) for name in columns)
    marks, count = ", ".join("?" * len(columns)), 0
    for row in _readable(source, table, asked):
        with suppress(apsw.Error):  # a row that violates the schema is damaged
            target.execute(f"insert or ignore into {table} ({', '.join(columns)}) values ({marks})", row)  # noqa: S608
            count += target.changes()
    return count


def _readable(source: apsw.Connection, table: str, columns: str) -> Iterator[Any]:
    """Yield the rows from both ends up to the damage; if rows have numbers, also the rows between, one by one."""
    try:
        rows(source, f"select rowid from {table} limit 0")  # noqa: S608 - names of our own schema
    except apsw.Error:
        for order in ("asc", "desc"):
            yield from _until_damage(source, f"select {columns} from {table} order by 1 {order}, 2 {order}")  # noqa: S608
        return
    ends = []
    for order in ("asc", "desc"):
        last = None
        for number, *row in _until_damage(source, f"select rowid, {columns} from {table} order by rowid {order}"):  # noqa: S608
            last = number
            yield tuple(row)
        ends.append(last)
    low, high = ends[0] or 0, ends[1] or (ends[0] or 0) + _LARGEST_GAP
    for number in range(low + 1, min(high, low + _LARGEST_GAP)):
        yield from _until_damage(source, f"select {columns} from {table} where rowid = {number:d}")  # noqa: S608


def _until_damage(source: apsw.Connection, query: str) -> Iterator[Any]:
    with suppress(apsw.Error):
        yield from source.execute(query)


def _rebuild_derived(connection: apsw.Connection) -> None:
    """Drop rows that lost their text. Make the one chunk and the terms of every memory from its text."""
    connection.execute(_ORPHANS)
    for workspace, content, seq, data in rows(connection, "select workspace_id, content_id, seq, text from content"):
        try:
            text = unpacked(data)
        except StorageError:
            continue
        piece = Piece(0, len(text), 1, text.count("\n") + 1, "memory", tokens=len(text) // 4 + 1)
        chunk = (workspace, content, 0, piece.kind, "", "[]", "[]", 1, piece.end_line, 0, piece.end, piece.tokens)
        connection.execute("insert into chunk values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", chunk)
        connection.execute("insert into words values (?, ?, ?, ?)", (workspace, content, seq, pack([words_of(piece, text)])))


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [row[1] for row in rows(connection, f"pragma table_info({table})")]
