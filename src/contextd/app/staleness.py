"""Warnings about an answer: an index run in progress, files that changed since, no access."""

from __future__ import annotations

import time
from collections.abc import Sequence
from shlex import quote

from contextd.app.project import NOT_INDEXED, Project
from contextd.app.status import indexed_at
from contextd.values.answer import Hit
from contextd.values.document import OWNER
from contextd.values.job import Job
from contextd.values.query import Reader, Scope
from contextd.values.trace import Trace

_NAMED_FILES, _NAMED_PEOPLE = 2, 4  # in a note about authors
_FRESH = 10_000_000  # microseconds within which a new job is started, if any process can run it


def warn(project: Project, reader: Reader, sources: frozenset[int], hits: Sequence[Hit], trace: Trace) -> None:
    """Add warnings on the state of the index to the trace of an answer."""
    job = _run(project, reader)
    if hits or _sees_some(project, reader, sources):
        if job is not None and job.done < job.total:
            trace.warn(
                f"indexing is in progress (job {job.id[:6]}): {_so_far(job)}; repeat the query later for complete results"
            )
        _of_changes(project, hits, trace)
    elif job is not None:
        known = f": {_so_far(job)}" if job.total else ""
        trace.warn(f"This project is not indexed yet. Indexing is in progress{known}. Repeat the query in a few seconds.")
    elif indexed_at(project) is not None and not project.store.documents(project.source.id):
        trace.warn("This project has no files to search. Run `contextd index` when there are some.")
    else:
        trace.warn(NOT_INDEXED)


def unreadable(reader: Reader, what: str = "this project") -> str:
    """Return the message for a project without access; the same, whatever the project contains."""
    return f"{reader.name} has no access to {what}. The owner can grant it with `contextd share {quote(reader.name)}`."


def _sees_some(project: Project, reader: Reader, sources: frozenset[int]) -> bool:
    with project.store.view(Scope((project.workspace,), reader, sources)) as view:
        return bool(view.size)


def _run(project: Project, reader: Reader) -> Job | None:
    """Return the index run in progress or about to start; only for the owner."""
    job = project.store.jobs.next() if reader.name == OWNER else None
    now = time.time_ns() // 1000
    return job if job is not None and job.kind == "index" and (job.moving(now) or now - job.created < _FRESH) else None


def _so_far(job: Job) -> str:
    return f"{job.done} of {job.total} files are indexed"


def _of_changes(project: Project, hits: Sequence[Hit], trace: Trace) -> None:
    """Warn of files in an answer that have changed since they were indexed."""
    own = {hit.chunk.id.document for hit in hits if hit.chunk.workspace == project.workspace}
    for uri, stamp in project.store.stamps(project.source.id, sorted(own)).items():
        if what := project.source.change(uri, stamp):
            trace.warn(f"{uri} {what} since it was indexed; run `contextd index` or `contextd watch`")


def add_authors(project: Project, hits: Sequence[Hit], trace: Trace) -> None:
    """Add the authors of the best files in an answer, and the files that change with them, to the trace."""
    files = dict.fromkeys(hit.chunk.uri for hit in hits if project.source.present(hit.chunk.uri))
    for path in list(files)[:_NAMED_FILES]:
        past = project.past.history(path, 1)
        if past is not None and past.authors:
            people = ", ".join(f"{name} ({count})" for name, count in past.authors[:_NAMED_PEOPLE])
            others = ", ".join(other for other, _ in past.together[:_NAMED_PEOPLE])
            trace.warn(f"{path} was changed by {people}" + (f"; {others} often changes with it" if others else ""))
