"""Opening the index of a project; a damaged one is put aside and begun anew, since it can be made again from the files."""

from __future__ import annotations

import time
from pathlib import Path

from contextd.errors import StorageError
from contextd.stores.lease import lease
from contextd.stores.sqlite.store import SqliteStore, open_index

_REPAIR_SECONDS = 10.0


def opened_or_renewed(folder: Path, workspace: int) -> tuple[SqliteStore, str]:
    """The index of a project; a damaged one is put aside and begun anew, which is worth a word."""
    try:
        return open_index(folder, workspace), ""
    except StorageError as error:
        if error.code != "corrupt":
            raise
    return renewed(folder, workspace), "the index was damaged and has been put aside; run `contextd index` to make it again"


def renewed(folder: Path, workspace: int) -> SqliteStore:
    """An index in place of a damaged one, made by whoever holds the lease; another process may have been faster."""
    with lease(folder, "a repair", wait=_REPAIR_SECONDS):
        try:
            store = open_index(folder, workspace)
            store.check()
        except StorageError as error:
            if error.code != "corrupt":
                raise
            quarantine(folder)
            store = open_index(folder, workspace)
    return store


def quarantine(folder: Path) -> list[Path]:
    """Move a damaged index aside; what it held can be made again from the project.

    The log and the shared memory go first: a new file that met the old shared memory would cut it short under its readers.
    """
    moved = []
    for path in sorted(folder.glob("index.db*"), reverse=True):
        if ".corrupt-" not in path.name:
            target = path.with_name(f"{path.name}.corrupt-{int(time.time())}")
            path.rename(target)
            moved.append(target)
    return moved
