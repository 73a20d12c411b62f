"""A pool of connections to one database file. A thread takes a connection while it works, and returns it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from contextd.stores.sqlite.connect import connect, disk_full

_KEPT = 4  # maximum idle connections; each has up to three descriptors and 16 MB of pages


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection, the id of its file, and whether it is read-only because the disk was full."""

    connection: apsw.Connection
    file: int
    full: bool


class ConnectionPool:
    """One connection for each thread that works at the moment. Any thread may call its methods."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path, self._durable = path, durable
        self._idle: list[Opened] = []
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    @contextmanager
    def connection(self) -> Iterator[Opened]:
        """Take a connection for this thread alone. A nested call gets the same one."""
        held: Opened | None = getattr(self._of_thread, "opened", None)
        if held is not None:
            yield held
            return
        opened = self._of_thread.opened = self._take()
        try:
            yield opened
        finally:
            self._of_thread.opened = None
            self._give_back(opened)

    def close(self) -> None:
        """Close idle connections. The next caller opens a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for opened in idle:
            opened.connection.close()

    def _take(self) -> Opened:
        while True:
            with self._lock:
                opened = self._idle.pop() if self._idle else None
            if opened is None:
                connection = connect(self._path, durable=self._durable)
                return Opened(connection, file_of(self._path), connection.readonly("main") and disk_full(self._path))
            if not self._outdated(opened):
                return opened
            opened.connection.close()

    def _outdated(self, opened: Opened) -> bool:
        """Return whether the file was replaced, or a disk that was full has space again."""
        return opened.file != file_of(self._path) or (opened.full and not disk_full(self._path))

    def _give_back(self, opened: Opened) -> None:
        with self._lock:
            if len(self._idle) < _KEPT and not opened.connection.in_transaction:
                self._idle.append(opened)
                return
        opened.connection.close()


def file_of(path: Path) -> int:
    """Return the inode of a file, which changes when the file is replaced; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
