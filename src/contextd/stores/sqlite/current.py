"""The current snapshot of one workspace in a process. Readers move it forward, never back, and never to another file."""

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
    """The newest snapshot of a workspace, shared by all threads. Any thread may call its methods."""

    def __init__(self, database: Database, workspace: int, folder: Path | None) -> None:
        self._database, self._workspace, self._folder = database, workspace, folder
        self._kept: tuple[int, Snapshot] | None = None  # with the file it was read from; one tuple, replaced atomically
        self._lock = threading.Lock()

    def at(self, reading: SqliteReading, *, patient: bool = True, deadline: float | None = None) -> Snapshot:
        """Return the snapshot at a transaction's position.

        If the base file was replaced, a patient caller gets `FileNotFoundError` and should begin a new transaction.

        A caller with a deadline waits half of its time for another thread that loads a snapshot, then gets `TimedOut`. The
        other half is for the rest of the search.

        A transaction on a replaced database file gets its own snapshot, made from that file alone: the base files belong to the
        new database.
        """
        head, file = self._head(reading), self._database.opened
        known = self._known(file)
        if known is not None and known.head == head and not self._database.replaced():
            return known  # does not wait for a thread that loads a newer one
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
        """Return the snapshot at a transaction's position, loaded from disk."""
        self.forget()
        return self.at(reading, patient=False)

    def forget(self) -> None:
        """Drop the snapshot. The next reader loads it from disk."""
        with self._lock:
            self._kept = None

    def _head(self, reading: SqliteReading) -> Head:
        """Return the head of the workspace in this thread's transaction. The heads of all workspaces are read at once."""
        with translated(self._database.path):
            heads = self._database.once("heads", lambda: heads_of(reading.connection))
        return heads.get(self._workspace, Head(0, 0, 0, 0))

    def _known(self, file: int) -> Snapshot | None:
        """Return the stored snapshot if it was read from that file; the index may have been replaced."""
        kept = self._kept
        return kept[1] if kept is not None and kept[0] == file else None

    def _loaded(self, reading: SqliteReading, old: Snapshot | None, patient: bool) -> Snapshot:
        """Load from an older snapshot or from disk. A missing or damaged base is rebuilt in memory, until the next fold."""
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
