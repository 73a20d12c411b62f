"""Work on an index as a value: nothing here does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
