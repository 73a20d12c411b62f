"""The engine's side of a project's index: runs, jobs, the watch, and who may read what it holds."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextd.app import staleness
from contextd.app.project import NOT_INDEXED, Project, inside
from contextd.errors import Busy, InvalidInput, StorageError
from contextd.ports.record import Record
from contextd.ports.world import Embedder, FileState, Parser, Skip
from contextd.settings.defaults import Settings
from contextd.settings.limits import checked_names
from contextd.values.document import OWNER
from contextd.values.job import Job
from contextd.values.query import Reader

if TYPE_CHECKING:  # loaded when used: a question needs neither
    from contextd.indexing.pipeline import Report
    from contextd.indexing.upkeep import Upkeep

_LOOK = 0.05  # seconds between two looks at a job that is waited for


@dataclass(slots=True)
class Keeping:
    """A project whose index is kept; the engine is one that also answers."""

    settings: Settings
    project: Project | None
    reader: Reader
    record: Record
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    unindexed: Path | None = field(default=None, kw_only=True)  # a folder that was asked about and is not registered

    def index(
        self,
        *,
        verify: bool = False,
        deep: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Bring the index of the project up to date with its folder; a damaged one is put aside and made anew."""
        project = self._project()
        try:
            return self.perform("index", (), {"verify": verify, "deep": deep}, progress, on_deep)
        except StorageError as error:
            if error.code != "corrupt":
                raise
            project.store.close()
            self.project = replace(project, store=project.renew(project.store))
            report = self.perform("index", (), {"deep": deep}, progress, on_deep)
            report.warnings.append(f"the index was damaged and has been made anew; the old one is kept ({error})")
            return report

    def rebuild(
        self,
        paths: Iterable[str] = (),
        *,
        vacuum: bool = True,
        keep_errors: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
    ) -> Report:
        """Make the index of some paths, or of everything, again from the files; the old one answers meanwhile."""
        options = {"epoch": secrets.randbits(40) + 1, "vacuum": vacuum, "clear_errors": not keep_errors}
        return self.perform("rebuild", self._there(paths), options, progress)

    def refresh(
        self, paths: Iterable[str], *, force: bool = False, progress: Callable[[Report], None] = lambda _: None
    ) -> Report:
        """Look at some paths again; `force` makes their index again though nothing changed."""
        options = {"epoch": secrets.randbits(40) + 1} if force else {"verify": True}
        return self.perform("refresh", self._there(paths), options, progress)

    def retry(self, *, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """Read the files again that failed."""
        from contextd.indexing.pipeline import Report

        failed = [uri for uri, _, _ in self._project().store.notes.failures()]
        return self.perform("refresh", failed, {"verify": True}, progress) if failed else Report()

    def perform(
        self,
        kind: str,
        paths: Iterable[str],
        options: Mapping[str, Any],
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Ask for a job and see it through: run it here, or wait for the process that holds the lease to do so."""
        from contextd.indexing.jobs import run_all, see_through

        began, project = time.monotonic(), self._project()
        job = self._job_for(project, kind, tuple(paths), options)

        def run_here() -> None:
            with project.lease(f"contextd {kind}"), project.parser(keep=False) as parser:
                upkeep = self._upkeep(parser, on_deep)
                run_all(project.store.jobs, upkeep.work, lambda one, report: progress(report) if one.id == job.id else None)

        report = see_through(project.store.jobs, job.id, run_here, progress)
        report.warnings += project.source.warnings()
        report.seconds = time.monotonic() - began
        return report

    def _job_for(self, project: Project, kind: str, paths: tuple[str, ...], options: Mapping[str, Any]) -> Job:
        """A new job. Holding the lease for a moment tells a rebuild under way from one whose process is dead."""
        who = f"{self.reader.name}, process {os.getpid()}"
        if kind == "rebuild":
            with suppress(Busy), project.lease("contextd rebuild"):
                return project.store.jobs.add(kind, who, paths, options, alone=True)
        return project.store.jobs.add(kind, who, paths, options)

    def request_index(self) -> str:
        """Queue an index run of a project that has no index; returns at once. The job's id; empty if none is needed.

        Whoever holds the lease runs it, now or when there is one.
        """
        project = self._project()
        if project.store.documents(project.source.id):
            return ""
        waiting = project.store.jobs.next()
        return (waiting or self._job_for(project, "index", (), {})).id

    def await_job(self, job: str, seconds: float) -> None:
        """Wait until a job is over, or so many seconds."""
        end = time.monotonic() + seconds
        while not self._project().store.jobs.get(job).over and time.monotonic() < end:
            time.sleep(_LOOK)

    def unattended(self) -> bool:
        """Whether no process holds the project's lease at the moment."""
        try:
            with self._project().lease("contextd mcp"):
                return True
        except Busy:
            return False

    def watch(self, stop: Callable[[], bool], say: Callable[[str], None]) -> None:
        """Keep the index up to date until told to stop; jobs that others ask for are run on the way."""
        from contextd.indexing.upkeep import Watching

        project = self._project()
        with project.lease("contextd watch"), project.parser(keep=True) as parser:
            Watching(self._upkeep(parser), project.arm, stop, say, project.machine).run()

    def estimate(self, paths: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
        """Files and bytes by language that a rebuild would read."""
        found: dict[str, tuple[int, int]] = {}
        for state in self._project().source.scan(inside(self._project().root, paths)):
            if isinstance(state, FileState):
                files, size = found.get(state.language, (0, 0))
                found[state.language] = files + 1, size + state.stamp.size
        return found

    def _upkeep(self, parser: Parser, on_deep: Callable[[int], None] = lambda _: None) -> Upkeep:
        from contextd.indexing.pipeline import Options
        from contextd.indexing.upkeep import Upkeep

        project, bootstrap = self._project(), self.settings.bootstrap
        options = Options(
            batch=bootstrap.batch_size,
            priority=bootstrap.priority_extensions,
            most_files=bootstrap.max_initial_files,
            fail_fast=bootstrap.fail_fast,
            warn_bytes=self.settings.indexing.warn_file_size_mb * (1 << 20),
            most_bytes=self.settings.storage.max_mb * 1_000_000,
        )
        acl = project.store.grant(self._readers(project))
        if project.store.notes.setting(where := f"root {project.source.id}") != str(project.root):
            project.store.notes.set_setting(where, str(project.root))
        self._share(project, acl)  # what a crash between record and index may have left undone
        return Upkeep(
            (project.source, project.commits),
            project.store,
            project.recipe,
            options,
            acl,
            parser,
            self.static,
            self.deep,
            on_deep,
        )

    def known(self) -> Project:
        """The project, for a report about what is indexed."""
        return self._readable()

    def root(self) -> Path:
        """The folder of the project."""
        return self._project().root

    def files(self) -> Iterable[FileState | Skip]:
        """Every file of the project: those that belong to it, and the others with the reason."""
        return self._project().source.scan()

    def source_warnings(self) -> tuple[str, ...]:
        """The rules about files that the last scan could not use."""
        return self._project().source.warnings()

    # Rights

    def share(self, principals: Iterable[str]) -> frozenset[str]:
        """Let principals read the project's documents, too; returns all who may. Rights are the owner's to give."""
        return self._set_readers(lambda readers: readers | checked_names(principals), force=True)

    def share_only(self, principals: Iterable[str], *, force: bool = False) -> frozenset[str]:
        """Say who may read the project's documents; nobody else may. Without `force` the caller cannot lose the right."""
        return self._set_readers(lambda _: checked_names(principals), force=force)

    def unshare(self, principals: Iterable[str], *, force: bool = False) -> frozenset[str]:
        """Take the right to read the project's documents from principals; returns all who still may."""
        return self._set_readers(lambda readers: readers - checked_names(principals), force=force)

    def who(self) -> frozenset[str]:
        """Who may read the project's documents."""
        return self._readers(self._project())

    # Inside

    def _project(self) -> Project:
        """The project, for a reader who may read it: others learn nothing of it and change nothing in it."""
        if self.unindexed is not None:
            raise InvalidInput(NOT_INDEXED)
        if self.project is None:
            raise InvalidInput("this needs a project; run it inside one, or name it with --project")
        if self.reader.name != OWNER and not self._may_read(self.project):
            raise InvalidInput(staleness.unreadable(self.reader))
        return self.project

    def _readable(self) -> Project:
        """The project, for what shows something of its index: the owner needs the right for that as everybody does."""
        project = self._project()
        if not self._may_read(project):
            raise InvalidInput(staleness.unreadable(self.reader))
        return project

    def _may_read(self, project: Project) -> bool:
        """Whether the record lets the reader read a project; the index then shows what its rows allow.

        A reader sees what both allow, so a right that changes may be written to one after the other: see `_set_readers`.
        """
        return bool(self.reader.principals & self._readers(project))

    def _set_readers(self, change: Callable[[frozenset[str]], frozenset[str]], *, force: bool) -> frozenset[str]:
        """Change who may read. The record decides and is written first; a crash before the index follows leaves those who
        may read by both, and the next run brings the index in line with the record."""
        project = self._project()
        if self.reader.name != OWNER:
            raise InvalidInput(f"only {OWNER} says who may read this project; you ask as {self.reader.name}")
        try:
            with project.lease("contextd share"):
                names = self._changed_readers(project, change, force)
                acl = project.store.grant(names)
                self.record.set_source_right(project.workspace, project.source.id, names)
                self._share(project, acl)
        except Busy:
            names = self._changed_readers(project, change, force)
            if not names < self._readers(project):
                raise
            self.record.set_source_right(project.workspace, project.source.id, names)  # taken at once; the index follows
        return names

    def _changed_readers(
        self, project: Project, change: Callable[[frozenset[str]], frozenset[str]], force: bool
    ) -> frozenset[str]:
        names = change(self._readers(project))
        if not force and not self.reader.principals & names:
            raise InvalidInput(f"{OWNER} could no longer read this project; let {OWNER} stay, or use --force")
        if not names:
            raise InvalidInput("nobody could read this project any more; leave at least one principal")
        return names

    def _readers(self, project: Project) -> frozenset[str]:
        return self.record.source_right(project.workspace, project.source.id) or frozenset({OWNER})

    def _there(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Paths of a caller below the root; one at which nothing is, nor was, is a mistake."""
        project = self._project()
        asked = inside(project.root, paths)
        for path in asked:
            if not project.source.present(path) and path not in project.store.documents(project.source.id):
                raise InvalidInput(f"there is no {path} in {project.root}")
        return asked

    def _share(self, project: Project, acl: int) -> None:
        project.store.share((project.source.id, project.commits.id), acl)
