"""Record what queries take: a row of the log for each answer, and totals of this process."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from contextd import privacy
from contextd.values.answer import Context
from contextd.values.document import CHAT, COMMIT, MEMORY
from contextd.values.usage import QueryUsage, purpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextd.app.session import Session
    from contextd.ports.usage import UsageLog
    from contextd.values.answer import Hit, SearchResult
    from contextd.values.query import Query

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # upper limits of times, in seconds
_NO_FILES = (MEMORY, CHAT, COMMIT)
_DAY = 86_400_000_000  # microseconds


@dataclass(slots=True)
class Times:
    """How many times were within each of BUCKETS; the last count is of longer ones."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one time."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class Totals:
    """Sums over the queries of this process. They only grow."""

    queries: Counter[tuple[str, str]] = field(default_factory=Counter)  # by operation and cache level
    proposed: Counter[str] = field(default_factory=Counter)  # by retriever
    survived: Counter[str] = field(default_factory=Counter)
    times: dict[str, Times] = field(default_factory=dict)  # by operation
    tokens: int = 0
    file_tokens: int = 0

    def add(self, row: QueryUsage) -> None:
        """Count one query."""
        self.queries[row.operation, row.cache or "none"] += 1
        self.proposed.update(row.proposed)
        self.survived.update(row.survived)
        self.times.setdefault(row.operation, Times()).add(row.milliseconds / 1000)
        self.tokens += row.tokens
        self.file_tokens += row.file_tokens


@dataclass(slots=True)
class Usage:
    """The usage of one data directory. Any thread may call its methods."""

    log: UsageLog
    totals: Totals = field(default_factory=Totals)
    _cleaned: int = 0  # the day of the last clean-up
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, session: Session, operation: str, query: Query, answer: SearchResult | Context, began: float) -> None:
        """Record an answer, if the settings allow it. `began` is of `time.perf_counter`."""
        asked = purpose()
        if not session.settings.metrics.enabled or (asked is not None and not asked.operation):
            return
        row = _row(session, operation, query, answer, (time.perf_counter() - began) * 1000)
        if asked is None:
            self._add(row, session.settings.metrics.keep_days)
        else:
            task = privacy.scrub_text(asked.task, session.setup.rules)[0] if asked.task else ""
            whole = replace(row, operation=asked.operation, task=task)
            asked.last = lambda: self._add(whole, session.settings.metrics.keep_days)

    def _add(self, row: QueryUsage, days: int) -> None:
        with self._lock:
            self.totals.add(row)
            stale, self._cleaned = self._cleaned != row.at // _DAY, row.at // _DAY
        if stale:
            self.log.keep(days)
        self.log.add(row)

    def counted(self) -> Totals:
        """Return a copy of the totals."""
        with self._lock:
            return deepcopy(self.totals)


def _row(session: Session, operation: str, query: Query, answer: SearchResult | Context, milliseconds: float) -> QueryUsage:
    trace, packed = answer.trace, answer if isinstance(answer, Context) else None
    found = {hit.chunk.id.document for hit in answer.hits}
    return QueryUsage(
        at=time.time_ns() // 1000,
        operation=operation,
        reader=session.reader.name,
        project=f"{session.project.workspace:016x}" if session.project is not None else "",
        cache=trace.cache,
        milliseconds=round(milliseconds, 2),
        steps={} if trace.cache else _steps(answer),
        hits=len(answer.hits),
        proposed={name: len(documents) for name, documents in trace.proposed.items()},
        survived={name: len(documents & found) for name, documents in trace.proposed.items()},
        languages=dict(Counter(hit.chunk.language or "other" for hit in answer.hits)),
        tokens=packed.tokens if packed is not None and packed.hits else 0,
        budget=packed.budget if packed is not None else 0,
        file_tokens=file_tokens(answer.hits) if packed is not None else 0,
        warnings=len(trace.warnings),
        public=not session.private,
        text=privacy.scrub_text(query.text, session.setup.rules)[0] if session.settings.metrics.log_text else "",
    )


def _steps(answer: SearchResult | Context) -> dict[str, float]:
    """Return milliseconds by step. A step that ran for several workspaces is summed."""
    sums: Counter[str] = Counter()
    for step in answer.trace.steps:
        sums[step.name] += step.milliseconds  # type: ignore[assignment]
    return {name: round(milliseconds, 2) for name, milliseconds in sums.items()}


def file_tokens(hits: Sequence[Hit]) -> int:
    """Estimate the tokens of the whole files that hits come from, by the tokens per character of the hits themselves."""
    chunks = [hit.chunk for hit in hits if hit.chunk.language not in _NO_FILES and hit.chunk.document_length]
    shown = sum(chunk.end - chunk.start for chunk in chunks)
    if not shown:
        return 0
    lengths = {chunk.id.document: chunk.document_length for chunk in chunks}
    return round(sum(lengths.values()) * sum(chunk.tokens for chunk in chunks) / shown)
