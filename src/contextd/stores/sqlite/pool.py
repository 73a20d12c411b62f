"""The connections of one database file: a thread has one of its own while it works, and gives it back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from contextd.stores.sqlite.connect import connect, disk_full

_KEPT = 4  # connections that stay open while nobody needs them: three descriptors and 16 MB of pages each, at most


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection, the file it has open, and whether it can only read because the disk was full."""

    connection: apsw.Connection
    file: int
    full: bool


class ConnectionPool:
    """As many connections as threads work at the same time, however many threads there are."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path, self._durable = path, durable
        self._idle: list[Opened] = []
        self._lock = threading.Lock()
        self._mine = threading.local()

    @contextmanager
    def connection(self) -> Iterator[Opened]:
        """A connection of this thread alone; whoever asks again inside gets the same one."""
        held: Opened | None = getattr(self._mine, "opened", None)
        if held is not None:
            yield held
            return
        opened = self._mine.opened = self._taken()
        try:
            yield opened
        finally:
            self._mine.opened = None
            self._give_back(opened)

    def close(self) -> None:
        """Close the connections that nobody works with; the next to ask opens one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for opened in idle:
            opened.connection.close()

    def _taken(self) -> Opened:
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
        """Whether the file was replaced, or there is space again on a disk that was full."""
        return opened.file != file_of(self._path) or (opened.full and not disk_full(self._path))

    def _give_back(self, opened: Opened) -> None:
        with self._lock:
            if len(self._idle) < _KEPT and not opened.connection.in_transaction:
                self._idle.append(opened)
                return
        opened.connection.close()


def file_of(path: Path) -> int:
    """What tells one file at a place from the next."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
