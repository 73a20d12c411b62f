"""Opens the index of a project. A damaged index is moved aside and replaced by an empty one, to be rebuilt from the files."""

from __future__ import annotations

import time
from pathlib import Path

from contextd.errors import StorageError
from contextd.ports.store import ProjectStore
from contextd.stores.lease import lease
from contextd.stores.sqlite.pool import file_of
from contextd.stores.sqlite.store import SqliteStore, open_index

_REPAIR_SECONDS = 10.0


def opened_or_renewed(folder: Path, workspace: int) -> tuple[SqliteStore, str]:
    """Return the index of a project, and a warning if it was damaged and replaced by an empty one."""
    file = file_of(folder / "index.db")
    try:
        return open_index(folder, workspace), ""
    except StorageError as error:
        if error.code != "corrupt":
            raise
    message = "the index was damaged and has been set aside; run `contextd index` to rebuild it"
    return replaced(folder, workspace, file), message


def replaced(folder: Path, workspace: int, damaged: int) -> SqliteStore:
    """Return a new index, or that of another process which has already replaced the damaged file.

    The damage is not checked again: SQLite's own check misses some of it, and the next run would fail again.
    """
    with lease(folder, "a repair", wait=_REPAIR_SECONDS):
        if file_of(folder / "index.db") == damaged:
            quarantine(folder)
        return open_index(folder, workspace)


def replace_damaged(store: ProjectStore, folder: Path, workspace: int, damaged: int) -> None:
    """Replace the damaged file of an open store. The store continues with the new file."""
    store.close()
    replaced(folder, workspace, damaged).close()


def quarantine(folder: Path) -> list[Path]:
    """Move a damaged index aside, with its log. Returns the new paths. The index can be rebuilt from the project.

    The log and the shared memory are moved first: a new database would truncate the old shared memory under its readers.
    """
    moved = []
    for path in sorted(folder.glob("index.db*"), reverse=True):
        if ".corrupt-" not in path.name:
            target = path.with_name(f"{path.name}.corrupt-{int(time.time())}")
            path.rename(target)
            moved.append(target)
    return moved
