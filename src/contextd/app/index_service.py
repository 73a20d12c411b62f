"""Operations on the index of a project: runs, jobs, watching."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextd.app.access import Access, share
from contextd.app.checks import reason_left_out
from contextd.app.project import Project, inside
from contextd.app.setup import Setup
from contextd.errors import Busy, NotFound, StorageError
from contextd.ports.interactions import DocumentTraces
from contextd.ports.store import Lease
from contextd.ports.world import FileState, Parser
from contextd.text.paths import below
from contextd.values.document import access_list_id
from contextd.values.job import Job

if TYPE_CHECKING:  # loaded on use: a query needs neither
    from contextd.indexing.pipeline import Report
    from contextd.indexing.upkeep import Upkeep

_LOOK = 0.05  # seconds between checks of a job that is waited for
_BYTES_PER_SECOND = 540_000  # of one core on an ordinary machine: a rough estimate


def estimated_seconds(size: int) -> int:
    """Return about how long it takes to index files of so many bytes."""
    return max(1, round(size / _BYTES_PER_SECOND))


def rebuild_options(*, vacuum: bool, keep_errors: bool) -> dict[str, Any]:
    """Return the options of a job that indexes files again although they are known."""
    return {"epoch": secrets.randbits(40) + 1, "vacuum": vacuum, "clear_errors": not keep_errors}


def refresh_options(*, force: bool) -> dict[str, Any]:
    """Return the options of a job that checks files by their content; `force` indexes them again."""
    return {"epoch": secrets.randbits(40) + 1} if force else {"verify": True}


@dataclass(frozen=True, slots=True)
class IndexService:
    """The index of a project that the reader may use."""

    project: Project
    access: Access
    setup: Setup
    traces: DocumentTraces | None = None
    hidden: tuple[str, ...] = ()  # paths that do not exist for the caller

    def index(
        self,
        *,
        verify: bool = False,
        deep: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Update the index of the project from its folder. A damaged index is moved aside and rebuilt."""
        project, mark = self.project, self.project.mark()
        try:
            return self.perform("index", (), {"verify": verify, "deep": deep}, progress, on_deep)
        except StorageError as error:
            if error.code != "corrupt":
                raise
            project.renew(mark)
            report = self.perform("index", (), {"deep": deep}, progress, on_deep)
            report.warnings.append(f"the index was damaged and was rebuilt; the damaged index is kept ({error})")
            return report

    def rebuild(
        self,
        paths: Iterable[str] = (),
        *,
        vacuum: bool = True,
        keep_errors: bool = False,
        progress: Callable[[Report], None] = lambda _: None,
    ) -> Report:
        """Index some paths, or everything, again from the files. The old index answers meanwhile."""
        options = rebuild_options(vacuum=vacuum, keep_errors=keep_errors)
        return self.perform("rebuild", self._there(paths), options, progress)

    def refresh(
        self, paths: Iterable[str], *, force: bool = False, progress: Callable[[Report], None] = lambda _: None
    ) -> Report:
        """Check some paths again. `force` indexes them even if nothing changed."""
        asked = self._there(paths)
        report = self.perform("refresh", asked, refresh_options(force=force), progress)
        reasons = {path: reason_left_out(self.project, path) for path in asked}
        report.warnings += [f"{path} is left out ({reason})" for path, reason in reasons.items() if reason]
        return report

    def retry(self, *, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """Read failed files again."""
        from contextd.indexing.pipeline import Report

        failed = [uri for uri, _, _ in self.project.store.notes.failures()]
        return self.perform("refresh", failed, {"verify": True}, progress) if failed else Report()

    def perform(
        self,
        kind: str,
        paths: Iterable[str],
        options: Mapping[str, Any],
        progress: Callable[[Report], None] = lambda _: None,
        on_deep: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Add a job and complete it: run it here, or wait for the process that holds the lease."""
        from contextd.indexing.jobs import run_all, see_through

        began, project = time.monotonic(), self.project
        job = self._job_for(project, kind, tuple(paths), options)

        def run_here() -> None:
            with project.lease(f"contextd {kind}") as lease, project.parser(keep=False) as parser:
                upkeep = self._upkeep(lease, parser, on_deep)
                run_all(project.store.jobs, upkeep.work, lambda one, report: progress(report) if one.id == job.id else None)

        report = see_through(project.store.jobs, job.id, run_here, progress)
        report.warnings += project.source.warnings()
        report.seconds = time.monotonic() - began
        return report

    def _job_for(self, project: Project, kind: str, paths: tuple[str, ...], options: Mapping[str, Any]) -> Job:
        """Add a job. Taking the lease for a moment tells a running rebuild from one whose process died."""
        who = f"{self.access.reader.name}, process {os.getpid()}"
        if kind == "rebuild":
            with suppress(Busy), project.lease("contextd rebuild"):
                return project.store.jobs.add(kind, who, paths, options, alone=True)
        return project.store.jobs.add(kind, who, paths, options)

    def queue(self, kind: str, paths: Iterable[str], options: Mapping[str, Any]) -> Job:
        """Add a job without waiting for it. The holder of the lease runs it."""
        return self._job_for(self.project, kind, self._there(paths), options)

    def request(self) -> str:
        """Queue an index run of a project that has no index, without waiting. Returns the job's id; empty if none is needed.

        The holder of the lease runs it, now or later.
        """
        project = self.project
        if project.store.documents(project.source.id):
            return ""
        waiting = project.store.jobs.next()
        return (waiting or self._job_for(project, "index", (), {})).id

    def await_job(self, job: str, seconds: float) -> None:
        """Wait until a job has ended, or the given number of seconds."""
        end = time.monotonic() + seconds
        while not self.project.store.jobs.get(job).over and time.monotonic() < end:
            time.sleep(_LOOK)

    def unattended(self) -> bool:
        """Return whether no process holds the project's lease at the moment."""
        try:
            with self.project.lease("contextd"):
                return True
        except Busy:
            return False

    def watch(self, stop: Callable[[], bool], say: Callable[[str], None], who: str) -> None:
        """Keep the index up to date until `stop` returns true; runs queued jobs, too. `who` is shown to other writers."""
        from contextd.indexing.upkeep import Watching

        project = self.project
        with project.lease(who) as lease, project.parser(keep=True) as parser:
            Watching(self._upkeep(lease, parser), project.arm, stop, say, project.machine).run()

    def estimate(self, paths: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
        """Return files and bytes by language that a rebuild would read."""
        found: dict[str, tuple[int, int]] = {}
        is_hidden = below(self.hidden) if self.hidden else lambda uri: False
        for state in self.project.source.scan(inside(self.project.root, paths)):
            if isinstance(state, FileState) and not is_hidden(state.uri):
                files, size = found.get(state.language, (0, 0))
                found[state.language] = files + 1, size + state.stamp.size
        return found

    def _upkeep(self, lease: Lease, parser: Parser, on_deep: Callable[[int], None] = lambda _: None) -> Upkeep:
        from contextd.indexing.pipeline import Options
        from contextd.indexing.upkeep import Upkeep

        project, bootstrap = self.project, self.setup.settings.bootstrap
        options = Options(
            batch=bootstrap.batch_size,
            priority=bootstrap.priority_extensions,
            most_files=bootstrap.max_initial_files,
            fail_fast=bootstrap.fail_fast,
            warn_bytes=self.setup.settings.indexing.warn_file_size_mb * (1 << 20),
            most_bytes=self.setup.settings.storage.max_mb * 1_000_000,
        )
        if project.store.notes.setting(where := f"root {project.source.id}") != str(project.root):
            project.store.notes.set_setting(where, str(project.root))

        def acl() -> int:
            readers = self.access.readers(project)  # may change while a watcher runs
            share(project, readers, lease)
            return access_list_id(readers)

        return Upkeep(
            (project.source, project.commits),
            project.store,
            lease,
            project.recipe,
            options,
            acl,
            parser,
            self.setup.static,
            self.setup.deep,
            on_deep,
            self.traces,
        )

    def _there(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return a caller's paths below the root. Raises InvalidInput for a path that neither exists nor is indexed."""
        project = self.project
        asked = inside(project.root, paths)
        is_hidden = below(self.hidden) if self.hidden else lambda uri: False
        for path in asked:
            if is_hidden(path) or (not project.source.present(path) and path not in project.store.documents(project.source.id)):
                raise NotFound(f"no such file or directory in {project.root}: {path}")
        return asked
