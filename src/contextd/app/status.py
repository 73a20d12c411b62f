"""The status of a project's index, for one screen."""

from __future__ import annotations

import time
from dataclasses import dataclass

from contextd.app.project import Project
from contextd.indexing.changes import changes
from contextd.text.paths import below
from contextd.values.query import Reader, Scope


@dataclass(frozen=True, slots=True)
class Status:
    """A project's index: its size, its age, how far it is behind the folder, and who works on it."""

    name: str
    root: str
    indexed: int | None  # time of the last run, in microseconds
    files: int
    commits: int
    chunks: int
    deep: int  # chunks with a deep vector
    changed: int  # files that are new or have changed since
    gone: int
    failed: int
    job: str  # in progress
    writer: str  # the process that holds the lease


def status(project: Project, reader: Reader, hidden: tuple[str, ...] = ()) -> Status:
    """Compare a project with its folder. Only times and sizes of files are read. `hidden` paths do not count."""
    store, source = project.store, project.source
    inside = below(hidden) if hidden else lambda uri: False
    known = {uri: row for uri, row in store.documents(source.id).items() if not inside(uri)}
    found = (state for state in source.scan() if not inside(state.uri))
    now = changes(found, known, store.notes.failed_stamps(), look_again=False, priority=(), warn_bytes=float("inf"))
    sources = frozenset({source.id} if hidden else {source.id, project.commits.id})
    with store.view(Scope((project.workspace,), reader, sources, hidden=hidden)) as view:
        chunks, spaces = view.size, view.spaces
    return Status(
        project.name,
        str(project.root),
        indexed_at(project),
        len(known),
        0 if hidden else len(store.documents(project.commits.id)),
        chunks,
        max((count for space, count in spaces.items() if space.startswith("deep/")), default=0),
        len(now.to_read),
        len(now.gone),
        sum(not inside(uri) for uri, *_ in store.notes.failures()),
        _job(project),
        project.writer(),
    )


def indexed_at(project: Project) -> int | None:
    """Return when the last run ended. For an index of an older version, that of the last completed job."""
    if noted := project.store.notes.setting(f"indexed {project.source.id}"):
        return int(noted)
    return next((job.ended for job in project.store.jobs.recent(20) if job.state == "completed"), None)


def _job(project: Project) -> str:
    job = project.store.jobs.next()
    if job is None or not job.moving(time.time_ns() // 1000):
        return ""
    return f"{job.kind}, {job.done} of {job.total} files (job {job.id[:8]})"
