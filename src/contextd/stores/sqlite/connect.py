"""Opening a database: safe settings, numbered migrations, and errors of SQLite mapped to ours."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import apsw

from contextd.errors import ContextdError, IndexMismatch, StorageError
from contextd.settings.permissions import make_file

BUSY_MILLISECONDS = 20_000

_FULL = "disk full; nothing was half-written. Free some space and try again"
_NEEDED = 1 << 16  # bytes of disk space needed to open a database

_UNKNOWN = re.compile(r"no such|has no column|has \d+ columns but \d+ values")  # SQLite's messages for a damaged schema
# Of an index, and of the record.
_RECOVERY = ("run `contextd index` to rebuild it", "run `contextd salvage` to recover what can be read")
_REMEDIES: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (apsw.FullError, "storage_full", _FULL),
    (
        apsw.BusyError,
        "locked",
        "the database is in use by another process; try again, or see who with `contextd stats`",
    ),
    (apsw.LockedError, "locked", "the database is in use; try again"),
    (apsw.ReadOnlyError, "read_only", "the database is read-only; check the permissions of the file and its folder"),
    (apsw.CorruptError, "corrupt", "the database is damaged"),
    (apsw.NotADBError, "corrupt", "the file is damaged or is not a database"),
    (
        apsw.CantOpenError,
        "cannot_open",
        "the database cannot be opened; check that its folder exists and may be written",
    ),
    (apsw.IOError, "io", "the disk reported an error; check the disk, then start contextd again"),
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Map errors of SQLite and the file system to ours, with the file and the remedy."""
    try:
        yield
    except apsw.Error as error:
        raise storage_error(path, error) from error
    except UnicodeDecodeError as error:  # SQLite does not check texts
        raise storage_error(path, apsw.CorruptError(str(error))) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise full(path) from error
        code = "read_only" if error.errno in (errno.EACCES, errno.EROFS) else "io"
        raise StorageError(f"{path}: {error.strerror or error}", code=code) from error


def full(path: Path) -> StorageError:
    """Return the error for a full disk."""
    return StorageError(f"{path}: {_FULL}", code="storage_full")


def disk_full(path: Path) -> bool:
    """Return whether the disk has too little space even to open the database."""
    try:
        return shutil.disk_usage(path.parent).free < _NEEDED
    except OSError:
        return False


def storage_error(path: Path, error: apsw.Error) -> ContextdError:
    """Return our error for an error of SQLite."""
    if isinstance(error, apsw.IOError) and (_out_of_space(error) or disk_full(path)):
        error = apsw.FullError(str(error))
    if isinstance(error, apsw.SQLError) and _UNKNOWN.search(str(error)):  # our statements match the schema, so it is damaged
        error = apsw.CorruptError(str(error))
    for kind, code, remedy in _REMEDIES:
        if code == "corrupt" and isinstance(error, kind):
            remedy = f"{remedy}; {_RECOVERY[path.name == 'record.db']}"
        if isinstance(error, kind):
            return StorageError(f"{path}: {remedy} ({error})", code=code)
    return StorageError(f"{path}: {error}", code="storage")


def _out_of_space(error: apsw.Error) -> bool:
    return "no space" in str(error).lower() or "disk is full" in str(error).lower()


def connect(path: Path, *, durable: bool, write: bool = True) -> apsw.Connection:
    """Open a connection with our settings. If the database is not writable or the disk is full, the connection is read-only."""
    with translated(path):
        if write:
            make_file(path)
            try:
                return _set_up(apsw.Connection(str(path)), durable=durable, write=True)
            except (apsw.ReadOnlyError, apsw.CantOpenError):
                if not path.exists():
                    raise
            except (apsw.IOError, apsw.FullError):
                if not disk_full(path) or not path.exists() or not path.stat().st_size:
                    raise
        return _read_only(path)


def _read_only(path: Path) -> apsw.Connection:
    """Open a read-only connection. Uses shared memory if there may be a writer, else opens the file as immutable."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    wal = path.with_name(path.name + "-wal")
    settled = not wal.exists() or wal.stat().st_size == 0
    for option in ("mode=ro", "immutable=1") if not settled or os.access(path.parent, os.W_OK) else ("immutable=1",):
        try:
            connection = apsw.Connection(f"{path.absolute().as_uri()}?{option}", flags=flags)
            return _set_up(connection, durable=False, write=False)
        except (apsw.CantOpenError, apsw.IOError):
            continue
    raise apsw.CantOpenError(f"cannot read {path.name}")


def _set_up(connection: apsw.Connection, *, durable: bool, write: bool) -> apsw.Connection:
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    if not write:
        connection.execute("select count(*) from sqlite_master").fetchall()
        return connection
    secure = "on" if durable else "fast"  # `fast` costs an index nothing; `Database.wipe` does the rest
    if not next(iter(connection.execute("pragma page_count")))[0]:
        connection.execute("pragma auto_vacuum = incremental")
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}; pragma secure_delete = {secure}")
    connection.execute("pragma wal_autocheckpoint = 2000; pragma journal_size_limit = 33554432; pragma cache_size = -16000")
    connection.execute("pragma temp_store = memory")
    return connection


def migrate(connection: apsw.Connection, path: Path, folders: tuple[str, ...], *, durable: bool) -> None:
    """Migrate the schema, one transaction per step. The record is backed up first. Raises `IndexMismatch` if it is newer."""
    with translated(path):
        steps = migrations(folders)
        version, newest = _version(connection), max(steps)
        if version > newest:
            raise IndexMismatch(
                f"{path} was written by a newer contextd (schema {version}, this one knows {newest}); upgrade contextd"
            )
        if version == newest or connection.readonly("main"):
            if not connection.readonly("main"):
                _copy_of(path).unlink(missing_ok=True)  # left by a migration that was killed after its last step
            return
        backup = _backed_up(connection, path) if durable and version else None
        pending = sorted(number for number in steps if number > version)
        # A new database is made in one transaction: a process that opens it meanwhile must not back up an unfinished one.
        for numbers in [pending] if not version else [[number] for number in pending]:
            _step(connection, {number: steps[number] for number in numbers})
        if backup is not None:
            backup.unlink(missing_ok=True)


@lru_cache(maxsize=4)
def declared(folders: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Return the tables and indexes that the scripts of some folders create, as SQLite stores them."""
    connection = apsw.Connection(":memory:")
    _step(connection, dict(sorted(migrations(folders).items())))
    return frozenset(connection.execute("select name, sql from sqlite_master where sql is not null"))


def _step(connection: apsw.Connection, scripts: dict[int, str]) -> None:
    connection.execute("begin immediate")
    try:
        for number, script in scripts.items():
            if _version(connection) < number:
                connection.execute(script)
                connection.execute(f"pragma user_version = {number:d}")
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def _version(connection: apsw.Connection) -> int:
    return int(next(iter(connection.execute("pragma user_version")))[0])


def migrations(folders: tuple[str, ...]) -> dict[int, str]:
    """Return the scripts of some folders by number. Numbers are unique in all folders; the last is the schema version."""
    found: dict[int, str] = {}
    for folder in folders:
        for entry in files("contextd.stores.sqlite").joinpath(folder).iterdir():
            if match := re.match(r"(\d+)_\w+\.sql$", entry.name):
                found[int(match[1])] = entry.read_text("utf-8")
    return found


def _copy_of(path: Path) -> Path:
    return path.with_name(path.name + ".before-migration")


def _backed_up(connection: apsw.Connection, path: Path) -> Path:
    target = _copy_of(path)
    target.unlink(missing_ok=True)
    make_file(target)
    copy = apsw.Connection(str(target))
    with copy.backup("main", connection, "main") as backup:
        while not backup.done:
            backup.step(1000)
    copy.close()
    return target
