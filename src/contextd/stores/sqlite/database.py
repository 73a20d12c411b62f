"""A database file: pooled connections, write transactions, erasing of deleted data, mapped errors."""

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

_LONGEST = 2.0  # maximum seconds between two checkpoints while a reader holds the log


_DUE = "select 1 from setting where workspace_id = 0 and name = 'wipe'"
_DONE = "delete from setting where workspace_id = 0 and name = 'wipe'"


def request_wipe(connection: apsw.Connection) -> None:
    """Mark the database for `Database.wipe_if_due`, inside a transaction that deletes data."""
    connection.execute("insert or replace into setting values (0, 'wipe', '')")


class Database:
    """One database file. `durable` syncs every commit and overwrites deleted data. Any thread may call its methods."""

    def __init__(self, path: Path, *, durable: bool, schemas: tuple[str, ...]) -> None:
        self.path = path
        self._schemas = schemas
        self._durable = durable
        self._pool = ConnectionPool(path, durable=durable)
        self._transaction = threading.local()  # values cached for the transaction of this thread
        self.write_lock = threading.RLock()
        self._failed = ""  # the message of a disk failure
        self._emptying: threading.Thread | None = None
        self._full = False  # the log still holds deleted data
        self._emptying_lock = threading.Lock()
        self._observer: tuple[int, apsw.Connection] | None = None  # the file, and a connection that notices commits
        self._version_lock = threading.Lock()
        with translated(path):
            make_folder(path.parent)
        try:
            with self.connection() as connection:
                migrate(connection, path, schemas, durable=durable)
        except ContextdError:  # release our locks, so that the file can be replaced
            self.close()
            raise

    @property
    def read_only(self) -> bool:
        """Whether the database cannot be written now: because of permissions, or because the disk is full."""
        with self._pool.connection() as opened:
            return opened.connection.readonly("main")

    @property
    def opened(self) -> int:
        """The id of the file that this thread has open."""
        with self._pool.connection() as opened:
            return opened.file

    def replaced(self) -> bool:
        """Return whether the file that this thread has open was replaced by another one."""
        return self.opened != file_of(self.path)

    def version(self) -> tuple[int, int]:
        """Return a value that changes with every commit of any process, read on a connection that never writes."""
        with self._version_lock, translated(self.path):
            if self._observer is None or self._observer[0] != file_of(self.path):
                if self._observer is not None:
                    self._observer[1].close()
                self._observer = file_of(self.path), connect(self.path, durable=self._durable)
            file, connection = self._observer
            return file, int(connection.pragma("data_version"))

    def query(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query."""
        with self.connection() as connection:
            return rows(connection, query, values)

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        """Take a connection for this thread; nested calls get the same one. Errors of SQLite become ours."""
        with translated(self.path), self._pool.connection() as opened:
            yield opened.connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Open a read transaction, which sees one state of the database. A nested call joins it.

        Errors of SQLite inside it become ours. Other errors, such as a broken connection of a model, are not changed.
        """
        with self._pool.connection() as opened:
            connection = opened.connection
            nested = connection.in_transaction
            if not nested:
                with translated(self.path):
                    connection.execute("begin")
                self._transaction.known = {}
            try:
                yield connection
            except apsw.Error as error:
                raise storage_error(self.path, error) from error
            finally:
                if not nested:
                    self._transaction.known = None
                if not nested and connection.in_transaction:  # a disk error may have ended it
                    with translated(self.path):
                        connection.execute("rollback")

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return the result of `work`, which is called once per read transaction of this thread."""
        known: dict[str, Any] | None = getattr(self._transaction, "known", None)
        if known is None:
            return work()
        if name not in known:
            known[name] = work()
        result: T = known[name]
        return result

    def once_written(self, name: str, make: Callable[[], T]) -> T:
        """Return a value that is made once per write transaction of this thread, such as its writer."""
        made: dict[str, Any] = self._transaction.made  # an AttributeError outside of a transaction
        if name not in made:
            made[name] = make()
        result: T = made[name]
        return result

    def transact(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in one write transaction: all writes happen or none. Raises `TimedOut` at the caller's deadline.

        The transaction begins as a writer (`begin immediate`), so it cannot deadlock half-way.
        """
        if self.read_only:
            if disk_full(self.path):
                raise full(self.path)
            raise StorageError(
                f"{self.path} is read-only; check the permissions of the file and its directory", code="read_only"
            )
        with self.connection() as connection, self._writing(), _limited_wait(connection, self.path):
            if self._failed:
                what = f"the disk failed ({self._failed}) and writing is disabled"
                raise StorageError(f"{self.path}: {what}. Check the disk, then start contextd again", code="io")
            connection.execute("begin immediate")
            self._transaction.made = {}
            try:
                result = work(connection)
                connection.execute("commit")
            except BaseException as error:
                if isinstance(error, apsw.IOError) and storage_error(self.path, error).code == "io":
                    self._failed = str(error)  # a second sync may report success without writing
                if connection.in_transaction:
                    connection.execute("rollback")
                raise
            finally:
                del self._transaction.made
            return result

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock of this process. Raises `TimedOut` at the caller's deadline."""
        seconds = remaining()
        if not self.write_lock.acquire(timeout=-1 if seconds is None else seconds):
            raise _timed_out(self.path)
        try:
            yield
        finally:
            self.write_lock.release()

    def checkpoint(self) -> bool:
        """Write the write-ahead log into the database and empty it.

        Returns False while a reader holds the log. A thread then tries again until it succeeds or the process ends.
        """
        with self.connection() as connection, self.write_lock:
            seconds = remaining()
            if _emptied(connection, 1000 if seconds is None else min(1000, int(seconds * 1000))):
                return True
        with self._emptying_lock:
            self._full = True
            if self._emptying is None:
                self._emptying = threading.Thread(target=self._keep_emptying, daemon=True)
                self._emptying.start()
        return False

    def _keep_emptying(self) -> None:
        """Checkpoint until the log is empty. Opens a separate connection, since the file may be replaced or removed."""
        connection: apsw.Connection | None = None
        try:
            connection = connect(self.path, durable=self._durable)
            pause = 0.1
            while self._must_empty():
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST)
                with self.write_lock:
                    self._full = not _emptied(connection, 50)
        except (apsw.Error, ContextdError):
            with self._emptying_lock:  # the next checkpoint starts a new thread
                self._emptying = None
        finally:
            if connection is not None:
                connection.close()

    def _must_empty(self) -> bool:
        """Return whether the log still has to be emptied. If not, the calling thread must end."""
        with self._emptying_lock:
            if not self._full:
                self._emptying = None
            return self._full

    def log_size(self) -> int:
        """Return the size of the write-ahead log in bytes. It grows as long as a reader holds it."""
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    def check(self) -> None:
        """Check every page and the schema. Raises `StorageError` for a damaged database."""
        faults = self.query("pragma quick_check(1)")
        if faults != [("ok",)]:
            raise StorageError(f"{self.path}: the database is damaged ({faults[0][0]})", code="corrupt")
        if set(self.query("select name, sql from sqlite_master where sql is not null")) != declared(self._schemas):
            raise StorageError(f"{self.path}: the schema of the database is damaged", code="corrupt")

    def shrink(self) -> None:
        """Return free pages to the file system."""
        with self.connection() as connection, self.write_lock:
            connection.execute("pragma incremental_vacuum").fetchall()
        self.checkpoint()

    def wipe(self) -> bool:
        """Rewrite the whole database and empty the log, so that no copy of deleted data is left. False: see `checkpoint`.

        `secure_delete` is not enough: when rows move to another page, copies stay in the unused part of the old page.
        """
        try:
            with self.connection() as connection, self._writing(), _limited_wait(connection, self.path):
                connection.execute("pragma temp_store = file").fetchall()  # the copy is a file, to save memory
                try:
                    connection.execute("vacuum").fetchall()
                finally:
                    connection.execute("pragma temp_store = memory").fetchall()
            if self.query(_DUE):
                self.transact(lambda connection: connection.execute(_DONE))
        except TimedOut:  # the wipe stays due, if the transaction that deleted has noted so
            return False
        return self.checkpoint()

    def wipe_if_due(self) -> None:
        """Wipe if a process ended after deleting and before request_wipe. If the wipe fails, it stays due."""
        if not self.read_only and self.query(_DUE):
            with suppress(StorageError):
                self.wipe()

    def close(self) -> None:
        """Close idle connections."""
        with self._version_lock:
            if self._observer is not None:
                self._observer[1].close()
                self._observer = None
        self._pool.close()


@contextmanager
def _limited_wait(connection: apsw.Connection, path: Path) -> Iterator[None]:
    """Wait for writers of other processes until the caller's deadline at most."""
    seconds = remaining()
    if seconds is None:
        yield
        return
    connection.set_busy_timeout(int(seconds * 1000))
    try:
        yield
    except apsw.BusyError:
        raise _timed_out(path) from None
    finally:
        connection.set_busy_timeout(BUSY_MILLISECONDS)


def _timed_out(path: Path) -> TimedOut:
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
    """Return a text compressed for storage."""
    return zlib.compress(text.encode("utf-8"), 6)


def unpacked(data: bytes) -> str:
    """Return a stored text. Raises `StorageError` for damage that SQLite does not detect."""
    try:
        return zlib.decompress(data).decode("utf-8")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StorageError(f"a stored text is damaged ({error}); run `contextd index --verify`", code="corrupt") from None


def rows(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """Return the rows of a query on a connection."""
    return connection.execute(query, tuple(values)).fetchall()
