"""Run jobs, and store the result of each in its row.

A job whose process was killed is still `in_progress`. The next process that holds the lease runs it again; it continues where
it was, since a run only handles what is new, changed or gone. After three attempts, the job fails.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import asdict

from contextd.errors import STORAGE_CODES, Busy, ContextdError, StorageError
from contextd.indexing.pipeline import Progress, Report
from contextd.values.job import MOST_ATTEMPTS, Job, Jobs

_EVERY = 0.5  # seconds between two updates of the progress in the row
PATIENCE = 60.0  # seconds without a heartbeat after which the holder of the lease counts as stuck

_FRAMES = 8  # frames of a traceback in the log

Work = Callable[[Job, Progress], Report]


class Cancelled(ContextdError):
    """The job was cancelled."""

    exit_code = 3
    code = "cancelled"


def run_all(jobs: Jobs, work: Work, shown: Callable[[Job, Report], None] = lambda *_: None) -> None:
    """Run all queued jobs, oldest first. A failure is stored in the row of its job and does not stop the next one."""
    while (job := jobs.next()) is not None:
        run(job, jobs, work, lambda report, job=job: shown(job, report))  # type: ignore[misc]


def see_through(jobs: Jobs, job: str, run_here: Callable[[], None], shown: Progress = lambda _: None) -> Report:
    """Run all queued jobs, including this one, or wait while another process holds the lease and runs them.

    Raises `Busy` if that process has had no heartbeat for `PATIENCE` seconds. The job is cancelled if waiting is given up.
    """
    sign, seen = -1, time.monotonic()
    try:
        while not (now := jobs.get(job)).over:
            try:
                run_here()
            except Busy as busy:
                if busy.sign != sign:
                    sign, seen = busy.sign, time.monotonic()
                elif time.monotonic() - seen > PATIENCE:
                    raise
                shown(Report(files=now.done, total=now.total, waiting_for=busy.holder))
                time.sleep(_EVERY / 2)
    except (Busy, KeyboardInterrupt):
        jobs.cancel(job)
        raise
    return _report_of(now)


def _report_of(job: Job) -> Report:
    """Return the report of a finished job, or raise the error it ended with."""
    if job.state == "cancelled":
        raise Cancelled(f"job {job.id} was cancelled ({job.reason})")
    if job.state == "failed":
        code = str(job.report.get("code", ""))
        raise StorageError(job.reason, code=code) if code in STORAGE_CODES else ContextdError(job.reason)
    return Report(**job.report)


def run(job: Job, jobs: Jobs, work: Work, shown: Progress = lambda _: None) -> None:
    """Run one job to its end."""
    if job.state == "cancelling":
        jobs.finish(job.id, "cancelled", "cancelled before it went on", {})
        return
    if job.attempts >= MOST_ATTEMPTS:
        _end(job, jobs, "failed", f"{job.attempts} attempts ended without a result, as by a kill; not begun again", Report())
        return
    if not jobs.lease(job.id):
        return
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
    except Exception as error:  # a bug, or out of memory: only this job fails
        for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
            jobs.log(job.id, f"{frame.filename}:{frame.lineno} in {frame.name}")
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        _end(job, jobs, "failed", f"an error in contextd ({what}); `contextd jobs show {job.id[:8]}` says where", report)
    else:
        jobs.extend(job.id, report.files, report.total)
        for warning in report.warnings:
            jobs.log(job.id, f"warning: {warning}")
        for uri, why in report.failed.items():
            jobs.log(job.id, f"failed: {uri}: {why}")
        _end(
            job, jobs, "completed", f"{report.written} written, {report.unchanged} unchanged, {report.removed} removed", report
        )


def _end(job: Job, jobs: Jobs, state: str, message: str, report: Report, code: str = "") -> None:
    ended = jobs.finish(job.id, state, message, asdict(report) | ({"code": code} if code else {}))
    jobs.log(job.id, f"{ended}: {message}")


def _noted(job: Job, jobs: Jobs, shown: Progress) -> Progress:
    last = 0.0

    def progress(report: Report) -> None:
        nonlocal last
        shown(report)
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            if not jobs.extend(job.id, report.files, report.total):
                raise Cancelled("the job was cancelled")

    return progress
