"""Who may read a project, and who says so: the record decides, the rows of the index follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextd.app import staleness
from contextd.app.project import Project
from contextd.errors import Busy, Conflict, Forbidden, InvalidInput
from contextd.ports.record import Record
from contextd.ports.world import Batch, Lease
from contextd.values.document import OWNER
from contextd.values.query import Reader


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of one reader."""

    record: Record
    reader: Reader

    def readers(self, project: Project) -> frozenset[str]:
        """Who may read a project."""
        return self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})

    def may_read(self, project: Project) -> bool:
        """Whether the record lets the reader read a project; the index then shows what its rows allow.

        A reader sees what both allow, so a right that changes may be written to one after the other: see `change`.
        """
        return bool(self.reader.principals & self.readers(project))

    def usable(self, project: Project) -> Project:
        """The project, if the reader is its owner or may read it: others learn nothing of it and change nothing in it."""
        return project if self.reader.name == OWNER else self.readable(project)

    def readable(self, project: Project) -> Project:
        """The project, if the reader may read it; its owner needs the right for that as everybody does."""
        if not self.may_read(project):
            raise Forbidden(staleness.unreadable(self.reader))
        return project

    def change(self, project: Project, change: Callable[[frozenset[str]], frozenset[str]], *, force: bool) -> frozenset[str]:
        """Change who may read. The record decides and is written first; a crash before the index follows leaves those who
        may read by both, and the next run brings the index in line with the record."""
        if self.reader.name != OWNER:
            raise Forbidden(
                f"only {OWNER} can change the access list of this project; the current reader is {self.reader.name}"
            )
        try:
            with project.lease("contextd share") as lease:
                names = self._changed(project, change, force)
                self.record.set_source_right(project.workspace, project.source.id, names)
                share(project, names, lease)
        except Busy:
            names = self._changed(project, change, force)
            if not names < self.readers(project):
                raise
            self.record.set_source_right(project.workspace, project.source.id, names)  # taken at once; the index follows
        return names

    def _changed(self, project: Project, change: Callable[[frozenset[str]], frozenset[str]], force: bool) -> frozenset[str]:
        names = change(self.readers(project))
        if not force and not self.reader.principals & names:
            raise Conflict(f"{OWNER} would lose access to this project; keep {OWNER} in the access list, or use --force")
        if not names:
            raise InvalidInput("the access list of this project would be empty; keep at least one principal")
        return names


def share(project: Project, principals: frozenset[str], lease: Lease) -> None:
    """Give all documents of a project an access list. Nothing is written if they have it."""
    project.store.apply(Batch(shared=dict.fromkeys((project.source.id, project.commits.id), principals)), lease)
