"""The snapshot a process keeps of one workspace: readers move it forward, never back, and never from one file to another."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from contextd.errors import StorageError, TimedOut
from contextd.stores.search.fold import rebuilt
from contextd.stores.search.reading import Head
from contextd.stores.search.snapshot import Snapshot, advance, load
from contextd.stores.sqlite.connect import translated
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.reading import SqliteReading, heads_of


class Current:
    """The newest snapshot of a workspace, shared by all threads."""

    def __init__(self, database: Database, workspace: int, folder: Path | None) -> None:
        self._database, self._workspace, self._folder = database, workspace, folder
        self._kept: tuple[int, Snapshot] | None = None  # with the file it was read from: one value, so that no reader sees half
        self._lock = threading.Lock()

    def at(self, reading: SqliteReading, *, patient: bool = True, deadline: float | None = None) -> Snapshot:
        """The snapshot at a transaction's position. A patient caller is told by `FileNotFoundError` to begin another one.

        A caller with a deadline waits half of its time for another thread that reads a snapshot, then it raises `TimedOut`:
        the rest is for what else there is to search.

        A transaction on a file that has been replaced gets a snapshot of its own, made of that file alone: the base files
        beside it are the new one's.
        """
        head, file = self._head(reading), self._database.opened
        known = self._known(file)
        if known is not None and known.head == head and not self._database.replaced():
            return known  # without waiting for a thread that reads a newer one
        patience = -1.0 if deadline is None else max(0.0, deadline - time.monotonic()) / 2
        if not self._lock.acquire(timeout=patience):
            raise TimedOut("the index is being loaded; ask again, or give it more time")
        try:
            known = self._known(file)
            old = known if known is not None and head.seq >= known.head.seq else None
            found = None if self._database.replaced() else self._loaded(reading, old, patient)
            if found is None or self._database.replaced():
                return rebuilt(reading)
            if known is None or found.head.seq >= known.head.seq:
                self._kept = file, found
            return found
        finally:
            self._lock.release()

    def anew(self, reading: SqliteReading) -> Snapshot:
        """The same, read from disk, whatever is known."""
        self.forget()
        return self.at(reading, patient=False)

    def forget(self) -> None:
        """Drop what is kept: the next reader reads from disk."""
        with self._lock:
            self._kept = None

    def _head(self, reading: SqliteReading) -> Head:
        """The position of the workspace in the transaction of this thread; those of all workspaces are read at once."""
        with translated(self._database.path):
            heads = self._database.once("heads", lambda: heads_of(reading.connection))
        return heads.get(self._workspace, Head(0, 0, 0, 0))

    def _known(self, file: int) -> Snapshot | None:
        """The snapshot that is kept, if it was read from that file: another index may have taken its place."""
        kept = self._kept
        return kept[1] if kept is not None and kept[0] == file else None

    def _loaded(self, reading: SqliteReading, old: Snapshot | None, patient: bool) -> Snapshot:
        """From an older snapshot or from disk. A missing or damaged base is made again in memory, until the next fold."""
        with translated(self._database.path):
            try:
                return advance(old, reading, self._folder) if old else load(reading, self._folder)
            except FileNotFoundError as error:
                missing = error
            except StorageError as error:
                if error.code != "derived":
                    raise
                return rebuilt(reading)
        if patient:
            raise missing
        return rebuilt(reading)
