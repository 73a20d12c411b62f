"""The protocol of the catalog of projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project of a data directory: its folders (worktrees share an index), its size in bytes, the last index run."""

    workspace: int
    name: str
    roots: tuple[str, ...]
    size: int
    indexed: int | None  # in microseconds
    memories: int  # number of memories, chats, notes and pushed documents stored for it


class ProjectCatalog(Protocol):
    """The projects of one data directory."""

    def all(self) -> list[KnownProject]:
        """Return every project, by name."""

    def get(self, workspace: int) -> KnownProject | None:
        """Return a project by its workspace."""

    def remove(self, project: KnownProject) -> None:
        """Delete the index of a project, and its registration if it has no memories. Raises `Busy` while it is written."""
