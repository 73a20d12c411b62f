"""Opening the index of a project; a damaged one is put aside and begun anew, since it can be made again from the files."""

from __future__ import annotations

import time
from pathlib import Path

from contextd.errors import StorageError
from contextd.ports.world import ProjectStore
from contextd.stores.lease import lease
from contextd.stores.sqlite.pool import file_of
from contextd.stores.sqlite.store import SqliteStore, open_index

_REPAIR_SECONDS = 10.0


def opened_or_renewed(folder: Path, workspace: int) -> tuple[SqliteStore, str]:
    """The index of a project; a damaged one is put aside and begun anew, which is worth a word."""
    file = file_of(folder / "index.db")
    try:
        return open_index(folder, workspace), ""
    except StorageError as error:
        if error.code != "corrupt":
            raise
    message = "the index was damaged and has been put aside; run `contextd index` to make it again"
    return replaced(folder, workspace, file), message


def replaced(folder: Path, workspace: int, damaged: int) -> SqliteStore:
    """A new index, unless another process has replaced the damaged file already.

    Damage that was met is not checked again: SQLite's own check passes some of it, and a second run would meet it again.
    """
    with lease(folder, "a repair", wait=_REPAIR_SECONDS):
        if file_of(folder / "index.db") == damaged:
            quarantine(folder)
        return open_index(folder, workspace)


def replace_damaged(store: ProjectStore, folder: Path, workspace: int, damaged: int) -> None:
    """The same under a store that is open: it goes on with the new file."""
    store.close()
    replaced(folder, workspace, damaged).close()


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
