"""The engine's side of a project's index: runs, jobs, the watch, and who may read what it holds."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contextd.errors import Busy, InvalidInput, StorageError
from contextd.job import Job
from contextd.ports import Embedder, FileState, Parser, Skip
from contextd.project import Project, inside
from contextd.record_ports import Record
from contextd.settings import Settings
from contextd.types import OWNER, Reader

if TYPE_CHECKING:  # loaded when used: a question needs neither
    from contextd.indexing.pipeline import Report
    from contextd.indexing.upkeep import Upkeep


@dataclass(slots=True)
class Keeping:
    """A project whose index is kept; the engine is one that also answers."""

    settings: Settings
    project: Project | None
    reader: Reader
    record: Record
    static: Embedder | None
    deep: Callable[[], Embedder | None]

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
            self.project = replace(project, store=project.renew())
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

        failed = [uri for uri, _, _ in self._project().store.failures()]
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

        project = self._project()
        job = self._job_for(project, kind, tuple(paths), options)

        def run_here() -> None:
            with project.lease(f"contextd {kind}"), project.parser(keep=False) as parser:
                upkeep = self._upkeep(parser, on_deep)
                run_all(project.store.jobs, upkeep.work, lambda one, report: progress(report) if one.id == job.id else None)

        return see_through(project.store.jobs, job.id, run_here, progress)

    def _job_for(self, project: Project, kind: str, paths: tuple[str, ...], options: Mapping[str, Any]) -> Job:
        """A new job. Holding the lease for a moment tells a rebuild under way from one whose process is dead."""
        who = f"{self.reader.name}, process {os.getpid()}"
        if kind == "rebuild":
            with suppress(Busy), project.lease("contextd rebuild"):
                return project.store.jobs.add(kind, who, paths, options, alone=True)
        return project.store.jobs.add(kind, who, paths, options)

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
        """The project, for a report about it."""
        return self._project()

    def files(self) -> Iterable[FileState | Skip]:
        """Every file of the project: those that belong to it, and the others with the reason."""
        return self._project().source.scan()

    # Rights

    def share(self, principals: Iterable[str]) -> frozenset[str]:
        """Say who may read the project's documents; nobody else may. Rights are the owner's to give."""
        project, names = self._project(), frozenset(principals)
        if self.reader.name != OWNER:
            raise InvalidInput(f"only {OWNER} says who may read this project; you ask as {self.reader.name}")
        if not names or not all(name.strip() for name in names):
            raise InvalidInput("name at least one principal, such as owner or everyone; an empty name is nobody")
        with project.lease("contextd share"):
            acl = project.store.grant(names)
            if names < self._readers(project):  # who loses the right loses it first, whatever happens then
                self._share(project, acl)
            self.record.set_source_right(project.workspace, project.source.id, names)
            self._share(project, acl)
        return names

    def who(self) -> frozenset[str]:
        """Who may read the project's documents."""
        return self._readers(self._project())

    # Inside

    def _project(self) -> Project:
        """The project, for a reader who may read it: others learn nothing of it and change nothing in it."""
        if self.project is None:
            raise InvalidInput("this needs a project; run it inside one, or name it with --project")
        if self.reader.name != OWNER and not self.reader.principals & self._readers(self.project):
            raise InvalidInput(f"{self.reader.name} may not read this project; `contextd share` says who may")
        return self.project

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
        for source in (project.source, project.commits):
            project.store.share(source.id, acl)
