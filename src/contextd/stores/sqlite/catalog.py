"""The projects of a data directory: what is kept of each, and how one is removed.

An index can be made again and is deleted with its folder. Memories and chats of a project cannot: they stay, and with them the
registration by which they are found when the folder is indexed again, unless they are erased first.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from contextd.errors import ContextdError
from contextd.stores.lease import lease
from contextd.stores.sqlite.record import SqliteRecord
from contextd.stores.sqlite.store import open_index
from contextd.values.query import THE_OWNER

ROOT, INDEXED = "root ", "indexed "  # settings of an index, for each source
_REGISTRY = "select workspace_id, name, place from registry where kind = 'project' order by name, place"
_SETTINGS = "select name, value from setting where workspace_id = ? and (instr(name, ?) = 1 or instr(name, ?) = 1)"
_TOLD = """select (select count(*) from memory where workspace_id = ?1) + (select count(*) from chat where workspace_id = ?1)"""
_UNREGISTER = ("delete from source_right where workspace_id = ?", "delete from registry where workspace_id = ?")


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project of a data directory: its folders (worktrees share an index), its size in bytes, when it was indexed last."""

    workspace: int
    name: str
    roots: tuple[str, ...]
    size: int
    indexed: int | None  # in microseconds
    memories: int  # memories, chats and notes that are kept with it


class Catalog:
    """The projects of one data directory."""

    def __init__(self, home: Path, record: SqliteRecord) -> None:
        self.home, self.record = home, record

    def all(self) -> list[KnownProject]:
        """Every project, by name."""
        return [self._known(*row) for row in self.record.database.query(_REGISTRY)]

    def remove(self, project: KnownProject) -> None:
        """Delete the index of a project, and its registration if nothing else is kept with it; `Busy` while it is written."""
        folder = self._folder(project.workspace)
        if folder.exists():
            with lease(folder, "contextd projects remove"):
                for path in folder.iterdir():
                    if path.is_file() and path.stem != "writer":  # the lock is held
                        path.unlink()
            shutil.rmtree(folder)
        if not self._told(project.workspace):
            self.record.database.transact(lambda connection: _unregister(connection, project.workspace))

    def erase_memories(self, project: KnownProject) -> int:
        """Forget what the owner told and imported in a project; how many memories, chats and notes that were."""
        before = self._told(project.workspace)
        for memory in self.record.memories.all(project.workspace, THE_OWNER):
            if memory.author == THE_OWNER.name:
                self.record.memories.forget(project.workspace, memory.id)
        chats = self.record.chats(project.workspace)
        for session in chats.sessions(THE_OWNER):
            if chats.known([session.uri], THE_OWNER.name):
                chats.forget([session.uri], session.uri, THE_OWNER.name)
        return before - self._told(project.workspace)

    def _known(self, workspace: int, name: str, place: str) -> KnownProject:
        folder = self._folder(workspace)
        noted = dict(self._noted(folder, workspace))
        roots = tuple(sorted({value for setting, value in noted.items() if setting.startswith(ROOT)}))
        times = [int(value) for setting, value in noted.items() if setting.startswith(INDEXED)]
        size = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
        return KnownProject(workspace, name, roots or (_root_of(place),), size, max(times, default=None), self._told(workspace))

    def _noted(self, folder: Path, workspace: int) -> Iterator[tuple[str, str]]:
        """Where and when the project was indexed, from its index; nothing of one that cannot be read."""
        if (folder / "index.db").exists():
            with suppress(ContextdError):
                store = open_index(folder, workspace)
                yield from store.rows(_SETTINGS, ROOT, INDEXED)
                store.close()

    def _told(self, workspace: int) -> int:
        return int(self.record.database.query(_TOLD, (workspace,))[0][0])

    def _folder(self, workspace: int) -> Path:
        return self.home / "projects" / f"{workspace:016x}"


def _unregister(connection: apsw.Connection, workspace: int) -> None:
    for query in _UNREGISTER:
        connection.execute(query, (workspace,))


def _root_of(place: str) -> str:
    """The folder of a place in the registry: git's directory lies in it."""
    return str(Path(place).parent) if Path(place).name == ".git" else place
