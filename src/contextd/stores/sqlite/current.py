"""The snapshot a process keeps of one workspace: readers move it forward, never back, and never from one file to another."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import apsw

from contextd.errors import StorageError, Unavailable
from contextd.stores.sqlite import fold
from contextd.stores.sqlite.connect import translated
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.snapshot import Head, Snapshot, advance, heads_of, load


class Current:
    """The newest snapshot of a workspace, shared by all threads."""

    def __init__(self, database: Database, workspace: int, folder: Path | None) -> None:
        self._database, self._workspace, self._folder = database, workspace, folder
        self._kept: Snapshot | None = None
        self._file = 0  # the one it was read from
        self._lock = threading.Lock()

    def at(self, connection: apsw.Connection, *, patient: bool = True, deadline: float | None = None) -> Snapshot:
        """The snapshot at a transaction's position. A patient caller is told by `FileNotFoundError` to begin another one.

        A caller with a deadline waits half of its time for another thread that reads a snapshot, then it raises `Unavailable`:
        the rest is for what else there is to search.

        A transaction on a file that has been replaced gets a snapshot of its own, made of that file alone: the base files
        beside it are the new one's.
        """
        kept, head = self._kept, self._head(connection)
        if kept is not None and kept.head == head and self._file == self._database.opened and not self._database.replaced():
            return kept  # without waiting for a thread that reads a newer one
        patience = -1.0 if deadline is None else max(0.0, deadline - time.monotonic()) / 2
        if not self._lock.acquire(timeout=patience):
            raise Unavailable("the index is being loaded; ask again, or give it more time")
        with ExitStack() as held:
            held.callback(self._lock.release)
            found = None if self._database.replaced() else self._advanced(connection, head, patient)
            if found is None or self._database.replaced():
                return fold.rebuilt(connection, self._workspace)
            if self._kept is None or found.head.seq >= self._kept.head.seq:
                self._kept = found
            return found

    def anew(self, connection: apsw.Connection) -> Snapshot:
        """The same, read from disk, whatever is known."""
        self.forget()
        return self.at(connection, patient=False)

    def forget(self) -> None:
        """Drop what is kept: the next reader reads from disk."""
        with self._lock:
            self._kept = None

    def _head(self, connection: apsw.Connection) -> Head:
        """The position of the workspace in the transaction of this thread; those of all workspaces are read at once."""
        with translated(self._database.path):
            heads = self._database.once("heads", lambda: heads_of(connection))
        return heads.get(self._workspace, Head(0, 0, 0, 0))

    def _advanced(self, connection: apsw.Connection, head: Head, patient: bool) -> Snapshot:
        if self._file != self._database.opened:  # another index has taken its place
            self._kept, self._file = None, self._database.opened
        old = self._kept
        if old is not None and head.seq < old.head.seq:
            old = None
        return self._loaded(connection, old, patient)

    def _loaded(self, connection: apsw.Connection, old: Snapshot | None, patient: bool) -> Snapshot:
        """From an older snapshot or from disk. A missing or damaged base is made again in memory, until the next fold."""
        with translated(self._database.path):
            try:
                return advance(old, connection, self._folder) if old else load(connection, self._workspace, self._folder)
            except FileNotFoundError as error:
                missing = error
            except StorageError as error:
                if error.code != "derived":
                    raise
                return fold.rebuilt(connection, self._workspace)
        if patient:
            raise missing
        return fold.rebuilt(connection, self._workspace)
