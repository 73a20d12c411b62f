"""Saving what can be read of a damaged record: row by row into a new file, the damaged one kept beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from contextd.stores.sqlite.connect import translated
from contextd.stores.sqlite.database import Database, rows

_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"


def salvage(path: Path, schemas: tuple[str, ...]) -> tuple[dict[str, int], Path]:
    """Rows saved by table, and where the damaged file lies now."""
    fresh = path.with_name(path.name + ".salvaged")
    for leftover in path.parent.glob(fresh.name + "*"):
        leftover.unlink()
    target = Database(fresh, durable=True, schemas=schemas)
    saved = _copied(path, target)
    target.checkpoint()
    target.close()
    aside = path.with_name(f"{path.name}.corrupt-{int(time.time())}")
    with translated(path):
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
        fresh.rename(path)
    return saved, aside


def _copied(path: Path, target: Database) -> dict[str, int]:
    saved: dict[str, int] = {}
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)  # so that its log is read too
        source.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        source.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        damaged = {name for (name,) in source.execute(_TABLES)}
    except apsw.Error:
        return saved
    for (table,) in target.query(_TABLES):
        if table in damaged:
            saved[table] = target.transact(lambda connection, name=table: _copy(source, connection, name))  # type: ignore[misc]
    with suppress(apsw.Error):
        source.close()
    return saved


def _copy(source: apsw.Connection, target: apsw.Connection, table: str) -> int:
    """The rows of a table that both know, from either end up to the damage."""
    try:
        columns = [name for name in _columns(target, table) if name in _columns(source, table)]
    except apsw.Error:
        return 0
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    count = 0
    for order in ("asc", "desc"):
        for row in _readable(source, f"select {names} from {table} order by {columns[0]} {order}"):  # noqa: S608
            with suppress(apsw.Error):  # a row that breaks a rule of the schema is damaged itself
                target.execute(f"insert or ignore into {table} ({names}) values ({marks})", row)  # noqa: S608
                count += target.changes()
    return count


def _readable(source: apsw.Connection, query: str) -> Iterator[Any]:
    with suppress(apsw.Error):
        yield from source.execute(query)


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [row[1] for row in rows(connection, f"pragma table_info({table})")]
