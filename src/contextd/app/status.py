"""What is known of a project's index at this moment, for one screen."""

from __future__ import annotations

import time
from dataclasses import dataclass

from contextd.app.project import Project
from contextd.indexing.changes import changes
from contextd.values.query import Reader, Scope


@dataclass(frozen=True, slots=True)
class Status:
    """A project's index: how large, how old, how far behind its folder, and who works on it."""

    name: str
    root: str
    indexed: int | None  # when, in microseconds
    files: int
    commits: int
    chunks: int
    deep: int  # chunks with a deep vector
    changed: int  # files that are new or have changed since
    gone: int
    failed: int
    job: str  # under way
    writer: str  # the process that holds the lease


def status(project: Project, reader: Reader) -> Status:
    """Look at a project and its folder; nothing is read but times and sizes of files."""
    store, source = project.store, project.source
    known = store.documents(source.id)
    now = changes(source.scan(), known, store.notes.failed_stamps(), look_again=False, priority=(), warn_bytes=float("inf"))
    with store.view(Scope((project.workspace,), reader, frozenset({source.id, project.commits.id}))) as view:
        chunks, spaces = view.size, view.spaces
    return Status(
        project.name,
        str(project.root),
        _indexed(project),
        len(known),
        len(store.documents(project.commits.id)),
        chunks,
        max((count for space, count in spaces.items() if space.startswith("deep/")), default=0),
        len(now.to_read),
        len(now.gone),
        len(store.notes.failures()),
        _job(project),
        project.writer(),
    )


def _indexed(project: Project) -> int | None:
    """When a run ended last; of an index that an older version wrote, by its jobs."""
    if noted := project.store.notes.setting(f"indexed {project.source.id}"):
        return int(noted)
    return next((job.ended for job in project.store.jobs.recent(20) if job.state == "completed"), None)


def _job(project: Project) -> str:
    job = project.store.jobs.next()
    if job is None or not job.moving(time.time_ns() // 1000):
        return ""
    return f"{job.kind}, {job.done} of {job.total} files (job {job.id[:8]})"
