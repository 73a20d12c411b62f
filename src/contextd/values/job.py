"""Index jobs: the job value, and the protocol of the job queue. Nothing here runs a job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_SILENCE = 30_000_000  # microseconds without a heartbeat after which a run no longer counts as running
MOST_ATTEMPTS = 3  # attempts to run a job whose process dies


@dataclass(frozen=True, slots=True)
class Job:
    """A job on an index: kind, requester, progress and result. Times are UTC microseconds."""

    id: str
    kind: str
    state: str
    who: str
    paths: tuple[str, ...]
    options: Mapping[str, Any]
    created: int
    started: int | None
    heartbeat: int | None
    ended: int | None
    done: int
    total: int
    message: str
    report: Mapping[str, Any]
    attempts: int
    reason: str
    lease_end: int | None

    def moving(self, now: int) -> bool:
        """Return whether the job is running and its process sent a heartbeat recently."""
        return self.state == "in_progress" and now - (self.heartbeat or 0) < _SILENCE

    @property
    def over(self) -> bool:
        """Return whether the job has ended."""
        return self.state in ("completed", "failed", "cancelled")


class Jobs(Protocol):
    """The job queue of an index. Anyone may add jobs; the holder of the lease runs them."""

    def add(self, kind: str, who: str, paths: Sequence[str], options: Mapping[str, Any], *, alone: bool = False) -> Job:
        """Add a job. Refuses a second rebuild while one is running. `alone`: the caller holds the lease."""

    def get(self, job: str) -> Job:
        """Return a job by its id or a prefix of it."""

    def recent(self, limit: int) -> list[Job]:
        """Return the newest jobs, newest first."""

    def next(self) -> Job | None:
        """Return the oldest unfinished job; first one whose process died."""

    def lease(self, job: str) -> bool:
        """Take a job to run it; False if it was cancelled. Each time counts as an attempt."""

    def extend(self, job: str, done: int, total: int) -> bool:
        """Extend the time for which a job is taken, and note how far it is; False if it is to be cancelled."""

    def finish(self, job: str, state: str, message: str, report: Mapping[str, Any]) -> str:
        """Record the result of a job. Returns the final state: `cancelled` if that was requested."""

    def cancel(self, job: str) -> Job:
        """Request that a job stops."""

    def redact(self, uris: Collection[str]) -> None:
        """Remove deleted documents from logs and reports."""

    def log(self, job: str, line: str) -> None:
        """Add a line to a job's log."""

    def lines(self, job: str) -> list[tuple[int, str]]:
        """Return a job's log as times and lines."""
