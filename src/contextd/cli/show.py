"""Output: tables and color on a terminal, plain text in a pipe, JSON on request. Control characters never get through."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Text that cannot steer a terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def out(text: str = "") -> None:
    """Print a line."""
    click.echo(plain(text))


def note(text: str) -> None:
    """Print a remark beside the output."""
    click.echo(plain(text), err=True)


def as_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def terminal() -> bool:
    """Whether a person is looking."""
    return sys.stdout.isatty()


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, headed: bool = True) -> None:
    """A table on a terminal; tab-separated lines in a pipe, the first with the headings unless a list is wanted."""
    if not terminal():
        if headed:
            out("\t".join(headings))
        for row in rows:
            out("\t".join(str(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        shown.add_column(heading, justify="right" if heading in ("score", "lines", "files", "count", "MB") else "left")
    for row in rows:
        shown.add_row(*(Text(plain(str(cell))) for cell in row))
    Console().print(shown)


def spoken(words: Sequence[str]) -> str:
    """A text from the arguments, or from a pipe for `-`."""
    return sys.stdin.read() if tuple(words) == ("-",) else " ".join(words)


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options every command about a project has."""
    for option in (
        click.option("--json", "json_output", is_flag=True, help="Print JSON."),
        click.option("--as", "reader", default="owner", metavar="NAME", help="Ask as this reader (default: owner)."),
        click.option("-p", "--project", default=".", metavar="PATH", help="The project (default: the one around this folder)."),
    ):
        command = option(command)
    return command
