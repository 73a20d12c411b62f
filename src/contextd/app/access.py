"""Access to a project: the record has the access list, and the rows of the index follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextd.app import staleness
from contextd.app.project import Project
from contextd.errors import Busy, Conflict, Forbidden, InvalidInput
from contextd.ports.record import Record
from contextd.ports.store import Batch, Lease
from contextd.values.document import OWNER
from contextd.values.query import Reader


@dataclass(frozen=True, slots=True)
class Access:
    """The access rights of one reader."""

    record: Record
    reader: Reader

    def readers(self, project: Project) -> frozenset[str]:
        """Return the principals that may read a project."""
        return self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})

    def may_read(self, project: Project) -> bool:
        """Return whether the record lets the reader read a project. The rows of the index decide further.

        A reader sees only what both allow, so a changed right may be written to one after the other: see `change`.
        """
        return bool(self.reader.principals & self.readers(project))

    def usable(self, project: Project) -> Project:
        """Return the project if the reader is its owner or may read it. Raises `Forbidden` for others, without any detail."""
        return project if self.reader.name == OWNER else self.readable(project)

    def readable(self, project: Project) -> Project:
        """Return the project if the reader may read it. Raises `Forbidden` otherwise, also for an owner without the right."""
        if not self.may_read(project):
            raise Forbidden(staleness.unreadable(self.reader))
        return project

    def change(
        self,
        project: Project,
        change: Callable[[frozenset[str]], frozenset[str]],
        hand_over: Callable[[], object],
        *,
        force: bool,
    ) -> frozenset[str]:
        """Change the access list. Returns the new one. Raises `Forbidden` if the reader is not the owner.

        The record is written first. After a crash in between, readers need both rights; the next run updates the index. If
        another process holds the index, `hand_over` asks it to update the index and waits.
        """
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
            names, before = self._changed(project, change, force), self.readers(project)
            self.record.set_source_right(project.workspace, project.source.id, names)
            if not names <= before:  # a right that is removed counts at once; the index follows with the next run
                hand_over()
        return names

    def _changed(self, project: Project, change: Callable[[frozenset[str]], frozenset[str]], force: bool) -> frozenset[str]:
        names = change(self.readers(project))
        if not force and not self.reader.principals & names:
            raise Conflict(f"{OWNER} would lose access to this project; keep {OWNER} in the access list, or use --force")
        if not names:
            raise InvalidInput("the access list of this project would be empty; keep at least one reader")
        return names


def share(project: Project, principals: frozenset[str], lease: Lease) -> None:
    """Give all documents of a project an access list. Nothing is written if they have it."""
    project.store.apply(Batch(shared=dict.fromkeys((project.source.id, project.commits.id), principals)), lease)
