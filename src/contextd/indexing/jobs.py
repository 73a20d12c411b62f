"""Running jobs: each to its end, whatever that is, and its row says what became of it.

A job whose process was killed is still `in_progress`; the next one to hold the lease begins it again, and since every run
is "what is new, changed, gone", that is going on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict

from contextd.errors import STORAGE_CODES, ContextdError, StorageError, Unavailable
from contextd.indexing.pipeline import Progress, Report
from contextd.job import Job
from contextd.ports import Jobs

_EVERY = 0.5  # seconds between two notes of progress
_PATIENCE = 5.0  # seconds for which a holder of the lease may leave a job waiting while it does nothing

Work = Callable[[Job, Progress], Report]


class Cancelled(ContextdError):
    """Somebody wanted the job to end."""

    exit_code = 3
    code = "cancelled"


def run_all(jobs: Jobs, work: Work, shown: Callable[[Job, Report], None] = lambda *_: None) -> None:
    """Run every job there is, oldest first. A failure is noted in its row and does not stop the next one."""
    while (job := jobs.next()) is not None:
        run(job, jobs, work, lambda report, job=job: shown(job, report))  # type: ignore[misc]


def see_through(jobs: Jobs, job: str, run_here: Callable[[], None], shown: Progress = lambda _: None) -> Report:
    """Run the jobs here, this one among them; or, while another process holds the lease, wait for it to do so."""
    waited_since = time.monotonic()
    while not (now := jobs.get(job)).over:
        try:
            run_here()
        except Unavailable:
            if not _moving(jobs) and time.monotonic() - waited_since > _PATIENCE:
                jobs.cancel(job)
                raise
            shown(Report(files=now.done, total=now.total))
            time.sleep(_EVERY / 2)
    if now.state == "cancelled":
        raise Cancelled(f"job {now.id} was cancelled ({now.message})")
    if now.state == "failed":
        code = str(now.report.get("code", ""))
        raise StorageError(now.message, code=code) if code in STORAGE_CODES else ContextdError(now.message)
    return Report(**now.report)


def _moving(jobs: Jobs) -> bool:
    """Whether some job is under way, its process alive."""
    now = time.time_ns() // 1000
    return any(one.moving(now) for one in jobs.recent(20))


def run(job: Job, jobs: Jobs, work: Work, shown: Progress = lambda _: None) -> None:
    """Run one job to its end."""
    if job.state == "cancelling":
        jobs.end(job.id, "cancelled", "cancelled before it went on", {})
        return
    jobs.begin(job.id)
    jobs.log(job.id, "goes on after an interruption" if job.started else f"started, asked for by {job.who}")
    report = Report()
    try:
        report = work(job, _noted(job, jobs, shown))
    except Cancelled:
        _end(job, jobs, "cancelled", "cancelled; what was done until then stays", report)
    except ContextdError as error:
        _end(job, jobs, "failed", str(error), report, error.code)
    except KeyboardInterrupt:
        _end(job, jobs, "cancelled", "stopped from the keyboard", report)
        raise
    else:
        jobs.progress(job.id, report.files, report.total)
        for warning in report.warnings:
            jobs.log(job.id, f"warning: {warning}")
        for uri, why in report.failed.items():
            jobs.log(job.id, f"failed: {uri}: {why}")
        _end(
            job, jobs, "completed", f"{report.written} written, {report.unchanged} unchanged, {report.removed} removed", report
        )


def _end(job: Job, jobs: Jobs, state: str, message: str, report: Report, code: str = "") -> None:
    jobs.log(job.id, f"{state}: {message}")
    jobs.end(job.id, state, message, asdict(report) | ({"code": code} if code else {}))


def _noted(job: Job, jobs: Jobs, shown: Progress) -> Progress:
    last = 0.0

    def progress(report: Report) -> None:
        nonlocal last
        shown(report)
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            if not jobs.progress(job.id, report.files, report.total):
                raise Cancelled("the job was cancelled")

    return progress
