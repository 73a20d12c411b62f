"""Output: tables and color on a terminal, plain text in a pipe, JSON on request. Control characters never get through."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from contextd.invisible import escaped_json, visible, visible_line


def out(text: str = "") -> None:
    """Print a line: it stays one, whatever file names and messages in it hold."""
    click.echo(visible_line(text))


def note(text: str) -> None:
    """Print a line beside the output."""
    click.echo(visible_line(text), err=True)


def block(text: str) -> None:
    """Print a text of several lines."""
    click.echo(visible(text), nl=not text.endswith("\n"))


def as_json(value: Any) -> None:
    """Print a value as JSON; what a terminal would act on is escaped."""
    click.echo(escaped_json(json.dumps(value, ensure_ascii=False, indent=2, default=str)))


def terminal() -> bool:
    """Whether a person is looking."""
    return sys.stdout.isatty()


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, headed: bool = True) -> None:
    """A table on a terminal; tab-separated lines in a pipe, the first with the headings unless a list is wanted."""
    if not terminal():
        if headed:
            out("\t".join(headings))
        for row in rows:
            out("\t".join(str(cell).replace("\t", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        shown.add_column(heading, justify="right" if heading in ("score", "lines", "files", "count", "MB") else "left")
    for row in rows:
        shown.add_row(*(Text(visible_line(str(cell))) for cell in row))
    Console().print(shown)


def spoken(words: Sequence[str]) -> str:
    """A text from the arguments, or from a pipe for `-`."""
    return sys.stdin.read() if tuple(words) == ("-",) else " ".join(words)


def opened(project: str | None, reader: str, also: Sequence[str] = ()) -> Any:
    """An engine for a command, its warnings told."""
    from contextd.assemble import open_engine

    engine = open_engine(project, reader=reader, also=also)
    for warning in engine.warnings:
        note(f"warning: {warning}")
    return engine


def here(path: str, project: str) -> str:
    """A path as it is meant in the current folder, where there is something at it; else as the project has it."""
    target = Path.cwd() / path
    return str(target) if project == "." and path and target.exists() else path


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options every command about a project has."""
    for option in (
        click.option("--json", "json_output", is_flag=True, help="Print JSON."),
        click.option("--as", "reader", default="owner", metavar="NAME", help="Ask as this reader (default: owner)."),
        click.option("-p", "--project", default=".", metavar="PATH", help="The project (default: the one around this folder)."),
    ):
        command = option(command)
    return command


def personal_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands about memories: of the person, and of a project when there is one here."""
    for option in (
        click.option("--json", "json_output", is_flag=True, help="Print JSON."),
        click.option("--as", "reader", default="owner", metavar="NAME", help="Ask as this reader (default: owner)."),
        click.option("-p", "--project", default=None, metavar="PATH", help="With the memories of this project."),
    ):
        command = option(command)
    return command


@contextmanager
def progress_of(settings: Any, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """A bar on a terminal, a line now and then elsewhere: for files, and for chunks embedded deeply."""
    if quiet or not settings.bootstrap.show_progress:
        yield (lambda report: None), (lambda done: None)
    elif terminal() and sys.stderr.isatty():
        with _bar() as callbacks:
            yield callbacks
    else:
        yield _lines(settings.bootstrap.progress_interval_seconds)


@contextmanager
def _bar() -> Iterator[tuple[Any, Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("indexing", total=None, more="")

        def files(report: Any) -> None:
            waiting = f"waiting for {visible_line(report.waiting_for)}" if report.waiting_for else "indexing"
            bar.update(task, description=waiting)
            rate = report.lines / report.seconds if report.seconds else 0
            bar.update(task, total=report.total, completed=report.files, more=f"{report.chunks} chunks, {rate:,.0f} lines/s")

        def chunks(done: int) -> None:
            bar.update(task, description="deep embedding", total=None, completed=done, more="chunks")

        yield files, chunks


def _lines(interval: float) -> tuple[Any, Any]:
    last, holder = [time.monotonic()], [""]

    def due() -> bool:
        if time.monotonic() - last[0] < interval:
            return False
        last[0] = time.monotonic()
        return True

    def files(report: Any) -> None:
        if report.waiting_for:
            if report.waiting_for != holder[0]:
                note(f"waiting for {report.waiting_for}")
            holder[0] = report.waiting_for
        elif due():
            left = (report.total - report.files) * report.seconds / max(report.files, 1)
            note(f"indexing: {report.files}/{report.total} files, {report.chunks} chunks, about {left:.0f} s left")

    def chunks(done: int) -> None:
        if due():
            note(f"deep embedding: {done} chunks")

    return files, chunks
