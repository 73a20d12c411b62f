"""The projects of a data directory: list them, remove one, erase its memories.

An index can be rebuilt, so it is deleted with its folder. Memories and chats of a project cannot, so they stay unless they are
erased first. The registration of the project stays with them; it finds them when the folder is indexed again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw

from contextd.errors import ContextdError
from contextd.ports.catalog import KnownProject
from contextd.stores.lease import lease
from contextd.stores.sqlite.interactions import LOG, SqliteInteractions
from contextd.stores.sqlite.record import SqliteRecord
from contextd.stores.sqlite.store import open_index
from contextd.values.query import THE_OWNER

ROOT, INDEXED = "root ", "indexed "  # settings of an index, for each source
_REGISTRY = "select workspace_id, name, place from registry where kind = 'project' order by name, place"
_ONE = "select workspace_id, name, place from registry where kind = 'project' and workspace_id = ?"
_SETTINGS = "select name, value from setting where workspace_id = ? and (instr(name, ?) = 1 or instr(name, ?) = 1)"
_STORED = """select (select count(*) from memory where workspace_id = ?1) + (select count(*) from chat where workspace_id = ?1)
+ (select count(*) from document where workspace_id = ?1 and source_id = 3 and dead_seq is null)"""
_UNREGISTER = ("delete from source_right where workspace_id = ?", "delete from registry where workspace_id = ?")


class Catalog:
    """The projects of one data directory."""

    def __init__(self, home: Path, record: SqliteRecord) -> None:
        self.home, self.record = home, record

    def all(self) -> list[KnownProject]:
        """Return every project, by name."""
        return [self._known(*row) for row in self.record.database.query(_REGISTRY)]

    def get(self, workspace: int) -> KnownProject | None:
        """Return a project by its workspace."""
        found = self.record.database.query(_ONE, (workspace,))
        return self._known(*found[0]) if found else None

    def remove(self, project: KnownProject) -> None:
        """Delete the index of a project, and its registration if it has no memories. Raises `Busy` while it is written."""
        folder = self._folder(project.workspace)
        if folder.exists():
            with lease(folder, "contextd projects remove"):
                for path in folder.iterdir():
                    if path.is_file() and path.stem != "writer":  # the lock is held
                        path.unlink()
            shutil.rmtree(folder)
        self._erase_log(project.workspace)
        if not self._stored_count(project.workspace):
            self.record.database.transact(lambda connection: _unregister(connection, project.workspace))

    def _erase_log(self, workspace: int) -> None:
        """Erase what the interaction log says of the files and commits of a project. A damaged log keeps no project."""
        log = SqliteInteractions(self.home / LOG)
        with suppress(ContextdError):
            logged = log.documents(workspace)
            log.erase(workspace, logged - self.record.living(workspace, logged))
            log.settle()
        log.close()

    def erase_memories(self, project: KnownProject) -> int:
        """Forget the owner's memories, chats and notes in a project. Returns their number."""
        before = self._stored_count(project.workspace)
        for memory in self.record.memories.all(project.workspace, THE_OWNER):
            if memory.author == THE_OWNER.name:
                self.record.memories.forget(project.workspace, memory.id)
        chats = self.record.chats(project.workspace)
        for session in chats.sessions(THE_OWNER):
            if chats.known([session.uri], THE_OWNER.name):
                chats.forget([session.uri], session.uri, THE_OWNER.name)
        return before - self._stored_count(project.workspace)

    def _known(self, workspace: int, name: str, place: str) -> KnownProject:
        folder = self._folder(workspace)
        noted = dict(self._noted(folder, workspace))
        roots = tuple(sorted({value for setting, value in noted.items() if setting.startswith(ROOT)}))
        times = [int(value) for setting, value in noted.items() if setting.startswith(INDEXED)]
        size = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
        return KnownProject(
            workspace, name, roots or (_root_of(place),), size, max(times, default=None), self._stored_count(workspace)
        )

    def _noted(self, folder: Path, workspace: int) -> Iterator[tuple[str, str]]:
        """Yield the settings with root and time of index runs, from the index; nothing if it cannot be read."""
        if (folder / "index.db").exists():
            with suppress(ContextdError):
                store = open_index(folder, workspace)
                yield from store.rows(_SETTINGS, ROOT, INDEXED)
                store.close()

    def _stored_count(self, workspace: int) -> int:
        return int(self.record.database.query(_STORED, (workspace,))[0][0])

    def _folder(self, workspace: int) -> Path:
        return self.home / "projects" / f"{workspace:016x}"


def _unregister(connection: apsw.Connection, workspace: int) -> None:
    for query in _UNREGISTER:
        connection.execute(query, (workspace,))


def _root_of(place: str) -> str:
    """Return the folder of a place in the registry: the parent if the place is git's directory."""
    return str(Path(place).parent) if Path(place).name == ".git" else place
