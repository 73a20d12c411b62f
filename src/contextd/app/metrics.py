"""Report on usage: tokens given and saved, times by step, what each retriever contributed, cache levels, trends by day."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from contextd.errors import InvalidInput
from contextd.ports.usage import UsageLog
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.settings.limits import MOST_DAYS, MOST_TOKENS, checked_number, checked_texts
from contextd.values.usage import AgentUsage, QueryUsage

_DAY = 86_400_000_000  # microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOP = 10  # tasks
_DELIVERED = frozenset(("context", "task", "hook", "query_context"))  # operations whose context a model receives


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Times in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What a retriever contributed: documents it proposed, and those of them in answers."""

    proposed: int
    survived: int
    share: float  # of its proposals that survived


@dataclass(frozen=True, slots=True)
class Saved:
    """Tokens of contexts beside those of the whole files they quote."""

    contexts: int
    tokens: int
    file_tokens: int
    share: float  # of the tokens that was saved; negative if contexts were longer than their files


@dataclass(frozen=True, slots=True)
class Day:
    """One day of UTC."""

    day: str
    queries: int
    saved: Saved


@dataclass(frozen=True, slots=True)
class AgentTotal:
    """Tokens that a program reported, per call, with and without context."""

    agent: str
    calls: int
    calls_without: int
    tokens_with: float  # in and out, mean of a call
    tokens_without: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """The usage of some time."""

    since: str  # the first day
    queries: int
    operations: Mapping[str, int]
    cache: Mapping[str, int]  # answers by cache level
    times: Mapping[str, Percentiles]  # by operation
    steps: Mapping[str, Percentiles]
    retrievers: Mapping[str, Effect]
    languages: Mapping[str, int]  # hits
    saved: Saved
    days: Sequence[Day]
    tasks: Mapping[str, Saved]  # those that saved most
    agents: Sequence[AgentTotal]


@dataclass(frozen=True, slots=True)
class MetricsService:
    """Reports on usage for one reader, of the projects that they may ask for."""

    log: UsageLog
    reader: str
    enabled: bool = True
    reaches: Callable[[str], bool] = lambda project: True  # given the id of a project; empty for none
    rules: Sequence[Rule] = ()
    private: bool = True  # whether tasks of queries that could use private data are shown

    def report(self, days: int = 30, *, all_readers: bool = False) -> Metrics:
        """Return the usage of the last days: that of the reader, or of all readers. Raises InvalidInput."""
        since = time.time_ns() // 1000 - _at_least("days", checked_number("days", days, MOST_DAYS), 1) * _DAY
        own = (row for row in self.log.rows(since) if all_readers or row.reader == self.reader)
        shown = (self._without_task(row) for row in own if self.reaches(row.project))
        return metrics_of(shown, since)

    def add(
        self,
        operation: str,
        *,
        agent: str = "",
        task: str = "",
        tokens_in: int = 0,
        tokens_out: int = 0,
        with_context: bool = True,
        notes: str = "",
        project: str = "",
    ) -> None:
        """Record the tokens that an agent or a model used, as its program reports them. Raises InvalidInput."""
        texts = checked_texts("usage", (operation, agent, task, notes))
        operation, agent, task, notes = (scrub_text(text, self.rules)[0] for text in texts)
        if not operation.strip():
            raise InvalidInput("the operation is empty; give a name such as chat or task")
        used = {"tokens_in": tokens_in, "tokens_out": tokens_out}
        counts = {name: _at_least(name, checked_number(name, count, MOST_TOKENS), 0) for name, count in used.items()}
        now, more = time.time_ns() // 1000, {"with_context": with_context, "text": notes}
        if self.enabled:
            self.log.add(AgentUsage(now, operation, self.reader, project, agent, task, **counts, **more))  # type: ignore[arg-type]

    def _without_task(self, row: QueryUsage | AgentUsage) -> QueryUsage | AgentUsage:
        hidden = isinstance(row, QueryUsage) and row.task and not (self.private or row.public)
        return replace(row, task="") if hidden else row


def _at_least(name: str, number: int, least: int) -> int:
    if number < least:
        raise InvalidInput(f"invalid value for {name}: {number} (must be at least {least})")
    return number


def metrics_of(rows: Iterable[QueryUsage | AgentUsage], since: int) -> Metrics:
    """Return the report on some rows."""
    every = list(rows)
    queries = [row for row in every if isinstance(row, QueryUsage)]
    return Metrics(
        since=_day(since),
        queries=len(queries),
        operations=dict(Counter(row.operation for row in queries).most_common()),
        cache=dict(Counter(row.cache or "none" for row in queries).most_common()),
        times=_times((row.operation, row.milliseconds) for row in queries),
        steps=_times(step for row in queries for step in row.steps.items()),
        retrievers=_effects(queries),
        languages=dict(_summed(row.languages for row in queries).most_common()),
        saved=saved(queries),
        days=_days(queries),
        tasks=_tasks(queries),
        agents=_agents([row for row in every if isinstance(row, AgentUsage)]),
    )


def saved(rows: Iterable[QueryUsage]) -> Saved:
    """Return the sums over contexts that were delivered and quote files."""
    contexts = [row for row in rows if row.operation in _DELIVERED and row.tokens and row.file_tokens]
    tokens, file_tokens = sum(row.tokens for row in contexts), sum(row.file_tokens for row in contexts)
    return Saved(len(contexts), tokens, file_tokens, round(1 - tokens / file_tokens, 4) if file_tokens else 0.0)


def _times(pairs: Iterable[tuple[str, float]]) -> dict[str, Percentiles]:
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, milliseconds in pairs:
        by_name[name].append(milliseconds)
    return {name: _percentiles(sorted(values)) for name, values in by_name.items()}


def _percentiles(values: Sequence[float]) -> Percentiles:
    p50, p95, p99 = (values[min(len(values) - 1, int(len(values) * share))] for share in (0.5, 0.95, 0.99))
    return Percentiles(len(values), p50, p95, p99)


def _effects(rows: Sequence[QueryUsage]) -> dict[str, Effect]:
    proposed, survived = _summed(row.proposed for row in rows), _summed(row.survived for row in rows)
    found = {name: Effect(count, survived[name], round(survived[name] / (count or 1), 4)) for name, count in proposed.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1].survived, item[0])))


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _days(rows: Sequence[QueryUsage]) -> list[Day]:
    by_day: dict[str, list[QueryUsage]] = defaultdict(list)
    for row in rows:
        by_day[_day(row.at)].append(row)
    return [Day(day, len(some), saved(some)) for day, some in sorted(by_day.items())]


def _day(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d")


def _tasks(rows: Sequence[QueryUsage]) -> dict[str, Saved]:
    by_task: dict[str, list[QueryUsage]] = defaultdict(list)
    for row in rows:
        if row.task:
            by_task[row.task].append(row)
    sums = {task: saved(some) for task, some in by_task.items()}
    best = sorted(sums.items(), key=lambda item: (item[1].tokens - item[1].file_tokens, item[0]))
    return dict(best[:_TOP])


def _agents(rows: Sequence[AgentUsage]) -> list[AgentTotal]:
    by_agent: dict[str, list[AgentUsage]] = defaultdict(list)
    for row in rows:
        by_agent[row.agent].append(row)
    return [_agent(name, some) for name, some in sorted(by_agent.items())]


def _agent(name: str, rows: Sequence[AgentUsage]) -> AgentTotal:
    given = [row.tokens_in + row.tokens_out for row in rows if row.with_context]
    without = [row.tokens_in + row.tokens_out for row in rows if not row.with_context]
    return AgentTotal(name, len(given), len(without), _mean(given), _mean(without))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
