"""Options of queries: filters, the order of hits, and the conversation history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def narrowing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that filter results."""
    for option in (
        click.option(
            "--also", multiple=True, metavar="PROJECT", help="Also search this project (a directory or a name). Repeatable."
        ),
        click.option("--path", "paths", multiple=True, metavar="PATH", help="Limit results to this path. Repeatable."),
        click.option("--exclude", multiple=True, metavar="PATTERN", help="Exclude this path or pattern. Repeatable."),
        click.option("--lang", "languages", multiple=True, metavar="NAME", help="Limit results to this language. Repeatable."),
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            metavar="KIND",
            help="Limit results to this kind, such as code_function, code_class, markdown_section or memory. Repeatable.",
        ),
        click.option("--min-score", type=float, default=None, help="Minimum relevance of a hit, 0 to 1 (default: 0.3)."),
        click.option("--timeout", type=float, default=None, metavar="SECONDS", help="Timeout in seconds."),
    ):
        command = option(command)
    return command


def ordered(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the order of hits and for the conversation history."""
    for option in (
        click.option(
            "--after",
            "history",
            multiple=True,
            metavar="TEXT",
            help="Earlier message that the query follows up on, such as the previous question. Repeatable.",
        ),
        click.option("--rerank", is_flag=True, help="Rerank the best chats and memories (slower, more accurate)."),
        click.option(
            "--ranker",
            default="relevance",
            show_default=True,
            help="Ranking: relevance, similarity, recency, confidence, or `default`, a mix of them; or weights such as"
            " relevance=0.5,recency=0.5.",
        ),
        click.option(
            "--mmr-lambda",
            type=float,
            default=None,
            metavar="NUMBER",
            help="Weight of relevance: 1 for relevance only, 0 for maximum diversity (default: 0.7).",
        ),
        click.option("--no-cache", is_flag=True, help="Compute the answer again, even if the service has given it before."),
    ):
        command = option(command)
    return command


def narrow_from(paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], exclude: tuple[str, ...]) -> Any:
    """Return the filters that the options describe."""
    from contextd.values.query import Narrow

    return Narrow(_resolved(paths), languages, kinds, exclude=_resolved(exclude))


def _resolved(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return existing paths in full. Other paths are relative to the project's root."""
    return tuple(str(Path(path).resolve()) if Path(path).exists() else path for path in paths)
