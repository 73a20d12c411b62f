"""Tools for the index: refresh, statistics, rebuild. Their answers have the field names of the founding interface."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from contextd.errors import InvalidInput

if TYPE_CHECKING:
    from contextd.surfaces.mcp.tools import ToolCall
    from contextd.surfaces.wire import requests
    from contextd.values.job import Job

_LOOK = 0.2  # seconds between two looks at a job that is waited for
_LONGEST = 3600.0  # seconds to wait for a job


def refresh(call: ToolCall, asked: requests.RefreshTool) -> dict[str, Any]:
    """Read files again."""
    from contextd.app.index_service import refresh_options

    files = sum(count for count, _ in call.session.estimate(asked.paths).values())
    job = call.session.index_service.queue("refresh", asked.paths, refresh_options(force=asked.force))
    call.start()
    if asked.asynchronous:
        return {"status": "queued", "filesQueued": files, "jobId": job.id, "message": f"{files} files will be read again"}
    done = _awaited(call, job.id)
    return {"status": done.state, "filesQueued": files, "jobId": job.id, "message": _message(done, f"{files} files were read")}


def stats(call: ToolCall, asked: requests.StatsTool) -> dict[str, Any]:
    """Return the state of the index."""
    from contextd.app.engine_stats import engine_stats

    return engine_stats(call.session)


def rebuild(call: ToolCall, asked: requests.RebuildTool) -> dict[str, Any]:
    """Index everything again, or some paths."""
    from contextd.app.index_service import rebuild_options

    if not asked.confirm:
        raise InvalidInput("a rebuild needs confirm: true; use options.validateOnly for an estimate")
    estimate = _estimate(call, asked)
    if asked.options.validate_only:
        message = f"Dry run: would read {estimate['estimatedFiles']} files. Nothing was changed."
        return {"status": "completed", **estimate, "message": message}
    options = rebuild_options(vacuum=asked.options.vacuum, keep_errors=not asked.options.clear_errors)
    job = call.session.index_service.queue("rebuild", asked.paths, options)
    call.start()
    if asked.asynchronous:
        message = f"Rebuild queued: {estimate['estimatedFiles']} files, about {estimate['estimatedTime']} s."
        return {"status": "queued", "jobId": job.id, **estimate, "message": message}
    done = _awaited(call, job.id)
    return {"status": done.state, "jobId": job.id, **estimate, "message": _message(done, "Rebuild completed.")}


def status(call: ToolCall, asked: requests.RebuildStatusTool) -> dict[str, Any]:
    """Return the progress of a rebuild."""
    jobs = call.session.jobs
    job = jobs.get(asked.job)
    found: dict[str, Any] = {"jobId": job.id, "status": job.state}
    if job.state == "in_progress":
        found["progress"] = _progress(job)
    if job.state == "completed":
        found["result"] = dict(job.report)
    if job.state in ("failed", "cancelled"):
        found["error"] = job.reason or job.message
    if asked.logs:
        found["logs"] = [f"{_iso(at)} {line}" for at, line in jobs.lines(job.id)]
    return found


def _estimate(call: ToolCall, asked: requests.RebuildTool) -> dict[str, Any]:
    from contextd.app.index_service import estimated_seconds

    found = call.session.estimate(asked.paths)
    size = sum(one for _, one in found.values())
    details = {
        "byLanguage": {name or "other": files for name, (files, _) in found.items()},
        "totalSizeGB": round(size / 1e9, 4),
    }
    files = sum(count for count, _ in found.values())
    scope = "partial" if asked.paths else "full"
    return {"scope": scope, "estimatedFiles": files, "estimatedTime": estimated_seconds(size), "details": details}


def _awaited(call: ToolCall, job: str) -> Job:
    """Wait for a job, with progress. A cancelled call cancels it."""
    jobs, end = call.session.jobs, time.monotonic() + _LONGEST
    while not (found := jobs.get(job)).over and time.monotonic() < end:
        if call.is_cancelled():
            return jobs.cancel(job)
        call.report(found.done, found.total)
        time.sleep(_LOOK)
    return found


def _message(job: Job, done: str) -> str:
    return done if job.state == "completed" else job.reason or job.message or f"The job is {job.state}."


def _progress(job: Job) -> dict[str, Any]:
    share = job.done / job.total if job.total else 0.0
    began = job.started or job.created
    left = (time.time() * 1e6 - began) * (1 - share) / share if share else None
    ends = datetime.now(UTC) + timedelta(microseconds=left) if left is not None else None
    return {
        "filesProcessed": job.done,
        "filesTotal": job.total,
        "percentComplete": round(100 * share, 1),
        "startedAt": _iso(began),
        "estimatedCompletion": ends.isoformat(timespec="seconds") if ends else None,
    }


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
