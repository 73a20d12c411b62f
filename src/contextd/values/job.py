"""Work on an index as a value, and what is asked of whoever keeps the list of it: nothing here does it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_SILENCE = 30_000_000  # microseconds after which a run is no longer told of as under way
MOST_ATTEMPTS = 3  # to begin a job whose process dies


@dataclass(frozen=True, slots=True)
class Job:
    """Work on an index: what was asked for, by whom, how far it is, what became of it. Times are UTC microseconds."""

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
        """Whether it is under way and its process has given a sign of life lately."""
        return self.state == "in_progress" and now - (self.heartbeat or 0) < _SILENCE

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ("completed", "failed", "cancelled")


class Jobs(Protocol):
    """Work on an index that was asked for: anybody may ask, who holds the lease runs it."""

    def add(self, kind: str, who: str, paths: Sequence[str], options: Mapping[str, Any], *, alone: bool = False) -> Job:
        """Ask for a job. A second rebuild is refused while one is under way; `alone`: the caller holds the lease."""

    def get(self, job: str) -> Job:
        """One job, by its id or the first letters of it."""

    def recent(self, limit: int) -> list[Job]:
        """The newest jobs, newest first."""

    def next(self) -> Job | None:
        """The oldest job that is not done: one whose process died first."""

    def lease(self, job: str) -> bool:
        """Take a job to run it; False if it was cancelled. Each time counts as an attempt."""

    def extend(self, job: str, done: int, total: int) -> bool:
        """Extend the time for which a job is taken, and note how far it is; False if it is to be cancelled."""

    def finish(self, job: str, state: str, message: str, report: Mapping[str, Any]) -> str:
        """Note what became of a job; the state it ends in, `cancelled` for one that was to be cancelled."""

    def cancel(self, job: str) -> Job:
        """Ask a job to end."""

    def redact(self, uris: Collection[str]) -> None:
        """Take documents that are gone out of logs and reports."""

    def log(self, job: str, line: str) -> None:
        """Add a line to a job's log."""

    def lines(self, job: str) -> list[tuple[int, str]]:
        """A job's log: times and lines."""
