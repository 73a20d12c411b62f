"""Output: tables and color on a terminal, plain text in a pipe, JSON on request. Control characters are always escaped."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from contextd.errors import InvalidInput
from contextd.text.invisible import escaped_json, visible, visible_line


def out(text: str = "") -> None:
    """Print one line. Line breaks in file names and messages are escaped."""
    click.echo(visible_line(text))


def note(text: str) -> None:
    """Print one line to standard error."""
    click.echo(visible_line(text), err=True)


_EVERY = 2.0  # seconds between lines of progress


def every_few_seconds(message: Callable[[Any], str]) -> Callable[[Any], None]:
    """Return a function that prints progress every few seconds."""
    last = [time.monotonic()]

    def say(state: Any) -> None:
        if time.monotonic() - last[0] >= _EVERY:
            last[0] = time.monotonic()
            note(message(state))

    return say


def block(text: str) -> None:
    """Print a text of several lines."""
    click.echo(visible(text), nl=not text.endswith("\n"))


def as_json(value: Any) -> None:
    """Print a value as JSON. Control characters are escaped."""
    from contextd.surfaces.wire.convert import plain  # loaded when used: most commands print no JSON

    click.echo(escaped_json(json.dumps(plain(value), ensure_ascii=False, indent=2, default=str)))


def as_list(items: Sequence[Any], total: int | None = None) -> None:
    """Print items as JSON, in the one shape that lists have; `total` if there are more of them."""
    from contextd.surfaces.wire.answers import ListAnswer

    as_json(ListAnswer.of(items, total))


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to standard error, each only once per command."""
    printed = click.get_current_context().meta.setdefault("contextd.said", set())
    for warning in warnings:
        if warning not in printed:
            printed.add(warning)
            note(f"warning: {warning}")


def terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def styled(text: str, **style: Any) -> str:
    """Return a text with style; unstyled in a pipe, on a dumb terminal, or if NO_COLOR is set."""
    plain = not terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, **style)


_GAP = 2  # characters between two columns
_MEASURES = ("score", "lines", "files", "count", "MB", "memories", "tokens", "file tokens", "saved")
_USAGE = ("p50 ms", "p95 ms", "p99 ms", "proposed", "in answers", "share", "hits", "queries", "context tokens")
_NUMBERS = frozenset((*_MEASURES, *_USAGE))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, headed: bool = True) -> None:
    """Print a table on a terminal; tab-separated lines in a pipe, with a header line if `headed`.

    Nothing is cut. Cells are wrapped between words; if a word would have to be broken, each row is printed as a record.
    """
    cells = [[visible_line(str(cell)) for cell in row] for row in rows]
    if not terminal():
        if headed:
            out("\t".join(headings))
        for row in cells:
            out("\t".join(cell.replace("\t", " ") for cell in row))
    elif cells:
        _show(headings, cells)


def _show(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, color_system="auto" if styled("x", bold=True) != "x" else None)
    widths = _widths([[heading, *column] for heading, *column in zip(headings, *rows, strict=True)], console.width)
    if widths is None:
        _records(headings, rows)
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading, width in zip(headings, widths, strict=True):
        shown.add_column(heading, justify="right" if heading in _NUMBERS else "left", overflow="fold", width=width)
    for row in rows:
        shown.add_row(*map(Text, row))
    console.print(shown)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return the width of each column: its longest word and a share of the rest; None if the words need more room."""
    from rich.cells import cell_len

    whole = [max(map(cell_len, column)) for column in columns]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    left = room - _GAP * (len(columns) - 1) - sum(words)
    if left < 0:
        return None
    share = min(1.0, left / max(1, sum(whole) - sum(words)))
    return [least + int((most - least) * share) for least, most in zip(words, whole, strict=True)]


def _records(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as records: the first cell, then the other cells with their headings."""
    for first, *others in rows:
        click.echo(styled(f"{headings[0]}: {first}", bold=True))
        for heading, cell in zip(headings[1:], others, strict=True):
            if cell:
                click.echo(f"  {heading}: {cell}")


def text_from(words: Sequence[str]) -> str:
    """Join the arguments to a text; `-` reads it from standard input."""
    return sys.stdin.read() if tuple(words) == ("-",) else " ".join(words)


def query_from(words: Sequence[str]) -> str:
    """Return the text of a query. Raises InvalidInput if it is empty: on a command line, that is a mistake."""
    from contextd.settings.limits import checked_query

    return checked_query(text_from(words))


def confirmed(question: str, option: str) -> bool:
    """Ask a question on the terminal. Raises InvalidInput without a terminal, naming the option that skips the question."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"nothing was changed; give {option} to run without confirmation")
    if click.confirm(question, err=True):
        return True
    note("nothing was changed")
    return False


def opened(project: str | None, reader: str, also: Sequence[str] = ()) -> Any:
    """Open a session for a command and print its warnings."""
    from contextd.app.assemble import open_session

    session = open_session(project, reader=reader, also=also)
    warn(session.warnings)
    return session


def counted(number: int, one: str, several: str) -> str:
    """Return a number with its noun, singular or plural."""
    return f"{number} {one if number == 1 else several}"


def asked(project: str | None, reader: str, also: Sequence[str] = ()) -> Any:
    """Open a session for a read-only command. Nothing is created for a folder that is not indexed."""
    from contextd.app.assemble import open_to_ask

    session = open_to_ask(project, reader=reader, also=also)
    warn(session.warnings)
    return session


def served(project: str | None, reader: str, also: Sequence[str] = ()) -> Any:
    """Return a client of the running service, or a session of this process if none runs. Both have the same methods."""
    from contextd.surfaces.cli.hybrid import client

    return client(project, reader, also) or asked(project, reader, also)


def around(project: str | None) -> str | None:
    """Return the project to read memories of: the one named, or the known project around the current folder, if any."""
    from contextd.app.assemble import is_project

    return project or ("." if is_project() else None)


def here(path: str, project: str) -> str:
    """Resolve a path against the current folder if it exists there; else it is relative to the project."""
    target = Path.cwd() / path
    return str(target) if project == "." and path and target.exists() else path


json_option = click.option("--json", "json_output", is_flag=True, help="Print JSON.")
reader_option = click.option(
    "--as",
    "reader",
    default="owner",
    metavar="NAME",
    help="Act as this reader (default: owner). No password is checked.",
)
project_option = click.option(
    "-p", "--project", default=".", metavar="PATH", help="Project directory (default: the current project)."
)


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands for a project."""
    for option in (json_option, reader_option, project_option):
        command = option(command)
    return command


def served_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose between the service and this process. Their values are read by `served`."""

    def choose(ctx: click.Context, parameter: click.Parameter, chosen: bool) -> None:
        if chosen:
            ctx.find_root().meta["contextd.mode"] = "standalone" if parameter.name == "service" else "embedded"

    for name, text in (
        ("--embedded", "Answer in this process, even if the service runs."),
        ("--service", "Ask the service; fail if it does not run."),
    ):
        command = click.option(name, is_flag=True, expose_value=False, callback=choose, help=text)(command)
    return command


class WholeNumber(click.IntRange):
    """A whole number within limits. Its error names the limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Fails for any other text and for a number outside the limits."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            limits = f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"{value!r} (must be a whole number {limits})", param, ctx)


def limited(most: str, default: int | None = None) -> Callable[..., Any]:
    """Add the option for the length of a list, as `limit`: `-k`, `-n` or `--limit`."""
    return click.option(
        "-k",
        "-n",
        "--limit",
        "limit",
        type=WholeNumber(min=1),
        default=default,
        show_default=default is not None,
        help=f"Maximum number of {most}.",
    )


def personal_options(project: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of commands for memories and chats: personal ones, unless a project is given. `project` is its help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            json_option,
            reader_option,
            click.option("-p", "--project", default=None, metavar="PATH", help=project),
        ):
            command = option(command)
        return command

    return decorate


@contextmanager
def progress_of(settings: Any, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """Report progress: a bar on a terminal, lines elsewhere. Yields callbacks for files and for deep embedding."""
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
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.fields[more]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, more="")

        def files(report: Any) -> None:
            what = f"waiting for {visible_line(report.waiting_for)}" if report.waiting_for else report.phase
            total = report.phase_total or None
            bar.update(task, description=what, total=total, completed=report.phase_done, more=_counted(report))

        def chunks(done: int) -> None:
            bar.update(task, description="deep embedding", total=None, completed=done, more=f"{done} chunks")

        yield files, chunks


def _counted(report: Any) -> str:
    """Return the progress of a phase in numbers."""
    if not report.phase_done and not report.phase_total:
        return ""
    return f"{report.phase_done:,}" + (f" of {report.phase_total:,}" if report.phase_total else "")


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
            note(f"{report.phase}: {_counted(report)}".removesuffix(": "))

    def chunks(done: int) -> None:
        if due():
            note(f"deep embedding: {done} chunks")

    return files, chunks
