"""The trace of a query: steps with counts and times, drops with reasons, warnings."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from contextd.errors import Unavailable

T = TypeVar("T")


class DeadlineExceeded(Unavailable):
    """The caller's deadline passed before a required step could start."""

    code = "deadline"
    http_status = 504


@dataclass(frozen=True, slots=True)
class Step:
    """One finished step."""

    name: str
    milliseconds: float
    count: int | None


@dataclass(frozen=True, slots=True)
class Drop:
    """A candidate that was left out, and why."""

    step: str
    what: str
    why: str


@dataclass(slots=True)
class Trace:
    """Collects steps, drops and warnings; checks the deadline between steps."""

    deadline: float | None = None
    steps: list[Step] = field(default_factory=list)
    left_out: list[Callable[[], Iterable[Drop]]] = field(default_factory=list)  # make the drops, in order
    warnings: list[str] = field(default_factory=list)
    proposed: dict[str, set[int]] = field(default_factory=dict)  # by retriever: the documents it proposed
    cache: str = ""  # "exact" or "semantic" if the answer was given before

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Run a required step. Raises DeadlineExceeded after the deadline."""
        self._check(name)
        began = time.perf_counter()
        result = work()
        count = len(result) if hasattr(result, "__len__") else None
        self.steps.append(Step(name, (time.perf_counter() - began) * 1000, count))
        return result

    def attempt(self, name: str, work: Callable[[], T], otherwise: T) -> T:
        """Run an optional step. If it raises Unavailable, warn and return `otherwise`."""
        try:
            return self.step(name, work)
        except Unavailable as error:
            self.warn(f"{name}: {error}")
            return otherwise

    def warn(self, message: str) -> None:
        """Add a warning, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    @property
    def drops(self) -> list[Drop]:
        """What was left out, in order. There are hundreds for a question, and few readers: they are made when asked for."""
        return [drop for make in self.left_out for drop in make()]

    def drop(self, step: str, what: str, why: str) -> None:
        """Record that something was left out, and why."""
        self.left_out.append(lambda: (Drop(step, what, why),))

    def drop_all(self, step: str, why: str, what: Callable[[], Iterable[str]]) -> None:
        """Record that several were left out for one reason."""
        self.left_out.append(lambda: (Drop(step, one, why) for one in what()))

    def propose(self, by_retriever: Mapping[str, Collection[int]]) -> None:
        """Record the documents that each retriever proposed."""
        for retriever, documents in by_retriever.items():
            self.proposed.setdefault(retriever, set()).update(documents)

    def _check(self, name: str) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlineExceeded(
                f"timed out before the step {name!r}; raise the timeout (--timeout), or narrow the search (--path)"
            )
