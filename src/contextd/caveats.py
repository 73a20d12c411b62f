"""What an answer has to be taken with: a run under way, files that changed since, nothing that may be read."""

from __future__ import annotations

import time
from collections.abc import Sequence

from contextd.project import NOT_INDEXED, Project
from contextd.trace import Trace
from contextd.types import OWNER, Hit, Reader, Scope


def warn(project: Project, reader: Reader, sources: frozenset[int], hits: Sequence[Hit], trace: Trace) -> None:
    """Say in the trace what whoever reads an answer ought to know of the index it comes from."""
    if hits or _sees_some(project, reader, sources):
        _of_a_run(project, reader, trace)
        _of_changes(project, hits, trace)
    else:
        trace.warn(NOT_INDEXED)


def unreadable(reader: Reader, what: str = "this project") -> str:
    """What a reader hears of a project that is not shared with them: the same, whatever it holds."""
    return f"{what} is not readable as {reader.name}; see `contextd who`"


def _sees_some(project: Project, reader: Reader, sources: frozenset[int]) -> bool:
    with project.store.view(Scope((project.workspace,), reader, sources)) as view:
        return bool(view.size())


def _of_a_run(project: Project, reader: Reader, trace: Trace) -> None:
    """How much is known so far, while files are read for the first time; told to the owner, whose runs they are."""
    job = project.store.jobs.next() if reader.name == OWNER else None
    if job is not None and job.kind == "index" and job.done < job.total and job.moving(time.time_ns() // 1000):
        trace.warn(f"{job.done} of {job.total} files are read so far (job {job.id[:6]} is under way); ask again for the rest")


def _of_changes(project: Project, hits: Sequence[Hit], trace: Trace) -> None:
    """Which files of an answer have changed since they were indexed."""
    own = {hit.chunk.id.document for hit in hits if hit.chunk.workspace == project.workspace}
    for uri, stamp in project.store.stamps(project.source.id, sorted(own)).items():
        if what := project.source.change(uri, stamp):
            trace.warn(f"{uri} {what} since it was indexed; `contextd index` or `contextd watch` brings it up to date")
