"""Commands for reports on usage: metrics, savings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from contextd.surfaces.cli.show import (
    WholeNumber,
    as_json,
    asked,
    counted,
    json_option,
    out,
    reader_option,
    styled,
    table,
    terminal,
)

if TYPE_CHECKING:
    from contextd.app.metrics import Day, Metrics, Percentiles

_BAR = 40  # characters
_METHOD = (
    "Method: the tokens of each context are compared with those of the whole files that it quotes.",
    "File tokens are estimated from the quoted lines. Searches, `explain` and contexts without files do not count.",
)


def _reporting(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        json_option,
        reader_option,
        click.option("--all-readers", is_flag=True, help="Count the queries of all readers."),
        click.option(
            "--days", type=WholeNumber(min=1, max=3650), default=30, show_default=True, help="Number of days, up to now."
        ),
    ):
        command = option(command)
    return command


@click.command()
@_reporting
def metrics(days: int, all_readers: bool, reader: str, json_output: bool) -> int:
    """Show the latency of queries by step, the contribution of each retriever, cache hits, and tokens by day.

    The figures come from a log in the data directory. To stop it: contextd config set metrics.enabled false

    \b
    Examples:
      contextd metrics
      contextd metrics --days 7 --json
    """
    found = asked(None, reader).metrics.report(days, all_readers=all_readers)
    if json_output:
        as_json(found)
    else:
        _show(found)
    return 0 if found.queries or found.agents else 1


@click.command()
@_reporting
def savings(days: int, all_readers: bool, reader: str, json_output: bool) -> int:
    """Show how many tokens contexts saved, compared with reading the files that they quote.

    \b
    Examples:
      contextd savings
      contextd savings --days 7
    """
    found = asked(None, reader).metrics.report(days, all_readers=all_readers)
    if json_output:
        as_json({"since": found.since, "saved": found.saved, "days": found.days, "tasks": found.tasks})
        return 0 if found.saved.contexts else 1
    one = found.saved
    if not one.contexts:
        out(f"No contexts since {found.since}. Run `contextd context QUESTION`, or connect an agent with `contextd install`.")
        return 1
    total = f"{one.tokens:,} tokens instead of {one.file_tokens:,}"
    out(f"{counted(one.contexts, 'context', 'contexts')} since {found.since}: {total}, {_less(one.share)}.")
    _bars(found.days)
    if found.tasks:
        rows = [
            (task, f"{saved.tokens:,}", f"{saved.file_tokens:,}", f"{saved.share:.0%}") for task, saved in found.tasks.items()
        ]
        table(("task", "tokens", "file tokens", "saved"), rows)
    for line in _METHOD:
        click.echo(styled(line, dim=True))
    return 0


def _less(share: float) -> str:
    return f"{share:.0%} less" if share >= 0 else f"{-share:.0%} more"


def _bars(days: Sequence[Day]) -> None:
    """Print one bar for each day: the tokens of contexts within those of their files."""
    shown = [day for day in days if day.saved.file_tokens]
    most = max((day.saved.file_tokens for day in shown), default=1)
    for day in shown:
        files = max(1, round(_BAR * day.saved.file_tokens / most))
        given = min(files, round(files * day.saved.tokens / day.saved.file_tokens))
        bar = "█" * given + "░" * (files - given)
        out(f"{day.day}  {bar:<{_BAR}}  {day.saved.tokens:,} of {day.saved.file_tokens:,}")


def _show(found: Metrics) -> None:
    cached = sum(count for level, count in found.cache.items() if level != "none")
    out(f"{counted(found.queries, 'query', 'queries')} since {found.since}, {cached} answered from the cache")
    if found.saved.contexts:
        share = f"{abs(found.saved.share):.0%} {'less' if found.saved.share >= 0 else 'more'}"
        out(f"{found.saved.tokens:,} tokens of context from files of {found.saved.file_tokens:,} ({share})")
    _section(("operation", "count", "p50 ms", "p95 ms", "p99 ms"), [_times(*one) for one in found.times.items()])
    _section(("step", "count", "p50 ms", "p95 ms", "p99 ms"), [_times(*one) for one in found.steps.items()])
    effects = [(name, one.proposed, one.survived, f"{one.share:.1%}") for name, one in found.retrievers.items()]
    _section(("retriever", "proposed", "in answers", "share"), effects)
    _section(("language", "hits"), list(found.languages.items()))
    _section(("day", "queries", "context tokens"), [(day.day, day.queries, f"{day.saved.tokens:,}") for day in found.days])
    agents = [
        (one.agent or "-", one.calls, f"{one.tokens_with:,.0f}", one.calls_without, f"{one.tokens_without:,.0f}")
        for one in found.agents
    ]
    if agents:
        _section(("agent", "calls with context", "tokens each", "calls without", "tokens each"), agents)


def _section(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, on a terminal after an empty line."""
    if rows and terminal():
        out()
    table(headings, rows)


def _times(name: str, times: Percentiles) -> tuple[str, int, str, str, str]:
    return name, times.count, f"{times.p50:.1f}", f"{times.p95:.1f}", f"{times.p99:.1f}"
