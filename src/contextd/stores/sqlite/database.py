"""A database file: connections from a pool, writes in transactions that begin as writers, errors in our words."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from contextd.errors import ContextdError, StorageError, TimedOut
from contextd.settings.permissions import make_folder
from contextd.stores.sqlite.connect import (
    BUSY_MILLISECONDS,
    connect,
    declared,
    disk_full,
    full,
    migrate,
    storage_error,
    translated,
)
from contextd.stores.sqlite.pool import ConnectionPool, file_of
from contextd.values.deadline import remaining

T = TypeVar("T")

_LONGEST = 2.0  # seconds between two attempts to empty a log that a reader holds


_DUE = "select 1 from setting where workspace_id = 0 and name = 'wipe'"
_DONE = "delete from setting where workspace_id = 0 and name = 'wipe'"


def wiping(connection: apsw.Connection) -> None:
    """Note in a transaction that deletes something that the database is to be wiped: see `Database.wipe_if_due`."""
    connection.execute("insert or replace into setting values (0, 'wipe', '')")


class Database:
    """One file. `durable` syncs every commit and wipes what is deleted."""

    def __init__(self, path: Path, *, durable: bool, schemas: tuple[str, ...]) -> None:
        self.path = path
        self._schemas = schemas
        self._durable = durable
        self._pool = ConnectionPool(path, durable=durable)
        self._moment = threading.local()  # what was read in the transaction of this thread
        self.write_lock = threading.RLock()
        self._failed = ""  # what the disk said when it failed
        self._emptying: threading.Thread | None = None
        self._full = False  # the log holds what was deleted
        self._emptying_lock = threading.Lock()
        with translated(path):
            make_folder(path.parent)
        try:
            with self.connection() as connection:
                migrate(connection, path, schemas, durable=durable)
        except ContextdError:  # whoever replaces the file must not meet our locks on it
            self.close()
            raise

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written now: by permissions, or because the disk is full."""
        with self._pool.connection() as opened:
            return opened.connection.readonly("main")

    @property
    def opened(self) -> int:
        """The file that this thread works with."""
        with self._pool.connection() as opened:
            return opened.file

    def replaced(self) -> bool:
        """Whether another file is by now at the place of the one this thread works with."""
        return self.opened != file_of(self.path)

    def query(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a query."""
        with self.connection() as connection:
            return rows(connection, query, values)

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        """A connection of this thread's; the same one inside. Errors of SQLite become ours."""
        with translated(self.path), self._pool.connection() as opened:
            yield opened.connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One read transaction: nothing changes inside it. A second one inside it sees the same.

        Errors of SQLite inside it become ours; other errors, such as a broken connection of a model, stay what they are.
        """
        with self._pool.connection() as opened:
            connection = opened.connection
            nested = connection.in_transaction
            if not nested:
                with translated(self.path):
                    connection.execute("begin")
                self._moment.known = {}
            try:
                yield connection
            except apsw.Error as error:
                raise storage_error(self.path, error) from error
            finally:
                if not nested:
                    self._moment.known = None
                if not nested and connection.in_transaction:  # an error of the disk has ended it already
                    with translated(self.path):
                        connection.execute("rollback")

    def once(self, name: str, work: Callable[[], T]) -> T:
        """The result of some reading, which is done once in a read transaction of this thread."""
        known: dict[str, Any] | None = getattr(self._moment, "known", None)
        if known is None:
            return work()
        if name not in known:
            known[name] = work()
        result: T = known[name]
        return result

    def once_written(self, name: str, make: Callable[[], T]) -> T:
        """A value made once in the write transaction of this thread, such as its position."""
        made: dict[str, Any] = self._moment.made
        if name not in made:
            made[name] = make()
        result: T = made[name]
        return result

    def transact(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run some writes in one transaction; all of them happen or none."""
        if self.read_only:
            if disk_full(self.path):
                raise full(self.path)
            raise StorageError(
                f"{self.path} is read-only; check the permissions of the file and its directory", code="read_only"
            )
        with self.connection() as connection, self._writing(), _patient(connection, self.path):
            if self._failed:
                what = f"the disk failed ({self._failed}) and writing is disabled"
                raise StorageError(f"{self.path}: {what}. Check the disk, then start contextd again", code="io")
            connection.execute("begin immediate")
            self._moment.made = {}
            try:
                result = work(connection)
                connection.execute("commit")
            except BaseException as error:
                if isinstance(error, apsw.IOError) and storage_error(self.path, error).code == "io":
                    self._failed = str(error)  # a second sync may succeed without having written anything
                if connection.in_transaction:
                    connection.execute("rollback")
                raise
            return result

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of the writers of this process. Raises `TimedOut` if it cannot be had by the caller's deadline."""
        patience = remaining()
        if not self.write_lock.acquire(timeout=-1 if patience is None else patience):
            raise _late(self.path)
        try:
            yield
        finally:
            self.write_lock.release()

    def checkpoint(self) -> bool:
        """Empty the write-ahead log into the database.

        False while a reader holds the log. A thread then tries again until it succeeds or the process ends.
        """
        with self.connection() as connection, self.write_lock:
            if _emptied(connection, 1000):
                return True
        with self._emptying_lock:
            self._full = True
            if self._emptying is None:
                self._emptying = threading.Thread(target=self._keep_emptying, daemon=True)
                self._emptying.start()
        return False

    def _keep_emptying(self) -> None:
        """Of the file that is there now: it may be replaced or taken away at any time."""
        connection: apsw.Connection | None = None
        try:
            connection = connect(self.path, durable=self._durable)
            pause = 0.1
            while self._wanted():
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST)
                with self.write_lock:
                    self._full = not _emptied(connection, 50)
        except (apsw.Error, ContextdError):
            with self._emptying_lock:  # the next checkpoint begins anew
                self._emptying = None
        finally:
            if connection is not None:
                connection.close()

    def _wanted(self) -> bool:
        """Whether the log is to be emptied still; when not, the thread that asks ends."""
        with self._emptying_lock:
            if not self._full:
                self._emptying = None
            return self._full

    def log_size(self) -> int:
        """Bytes of the write-ahead log, which grows as long as a reader holds it."""
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    def check(self) -> None:
        """Look at every page; a damaged database is an error."""
        faults = self.query("pragma quick_check(1)")
        if faults != [("ok",)]:
            raise StorageError(f"{self.path}: the database is damaged ({faults[0][0]})", code="corrupt")
        if set(self.query("select name, sql from sqlite_master where sql is not null")) != declared(self._schemas):
            raise StorageError(f"{self.path}: the schema of the database is damaged", code="corrupt")

    def shrink(self) -> None:
        """Give free pages back to the disk."""
        with self.connection() as connection, self.write_lock:
            connection.execute("pragma incremental_vacuum").fetchall()
        self.checkpoint()

    def wipe(self) -> bool:
        """Write the whole database anew and empty the log: no page keeps a copy of what was deleted. False: see `checkpoint`.

        `secure_delete` is not enough: when rows move to another page, copies stay in the unused part of the old one.
        """
        with self.connection() as connection, self.write_lock:  # what it is copied to meanwhile is not held in memory
            connection.execute("pragma temp_store = file; vacuum; pragma temp_store = memory").fetchall()
        if self.query(_DUE):
            self.transact(lambda connection: connection.execute(_DONE))
        return self.checkpoint()

    def wipe_if_due(self) -> None:
        """Wipe what a process deleted that ended before it had wiped; what cannot be written now is due still."""
        if not self.read_only and self.query(_DUE):
            with suppress(StorageError):
                self.wipe()

    def close(self) -> None:
        """Close the connections that nobody works with."""
        self._pool.close()


@contextmanager
def _patient(connection: apsw.Connection, path: Path) -> Iterator[None]:
    """Wait for writers of other processes no longer than the caller's deadline allows."""
    patience = remaining()
    if patience is None:
        yield
        return
    connection.set_busy_timeout(int(patience * 1000))
    try:
        yield
    except apsw.BusyError:
        raise _late(path) from None
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)


def _late(path: Path) -> TimedOut:
    return TimedOut(f"{path} is being written by another process or thread; nothing was changed. Try again")


def _emptied(connection: apsw.Connection, milliseconds: int) -> bool:
    connection.set_busy_timeout(milliseconds)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
    return True


def packed(text: str) -> bytes:
    """A text as it is stored."""
    return zlib.compress(text.encode("utf-8"), 6)


def unpacked(data: bytes) -> str:
    """A stored text; damage that SQLite cannot see is seen here."""
    try:
        return zlib.decompress(data).decode("utf-8")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StorageError(f"a stored text is damaged ({error}); run `contextd index --verify`", code="corrupt") from None


def rows(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """The rows of a query on a connection."""
    return connection.execute(query, tuple(values)).fetchall()
