"""Output of `contextd search` besides hits: exact matches, and the outline of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import click

from contextd.errors import Forbidden, NotFound
from contextd.surfaces.cli.show import as_json, here, note, styled, table
from contextd.text.invisible import visible_line

_BEFORE, _WIDEST = 60, 160  # characters of a long line: before the match, and in all


def show_occurrences(
    find: Callable[..., list[Any]], text: str, limit: int, narrow: Any, timeout: float | None, json_output: bool
) -> int:
    """Print matches of a text or a pattern as `path:line:column:line`."""
    found = find(text, limit=limit + 1, narrow=narrow, deadline=timeout)
    more, found = len(found) > limit, found[:limit]
    if json_output:
        as_json({"query": text, "matches": [_payload(one) for one in found], "truncated": more})
        return 0 if found else 1
    for one in found:
        click.echo(f"{styled(visible_line(one.uri), bold=True)}:{one.line}:{one.column}:{_marked(one)}")
    if not found:
        note("nothing found")
    if more:
        note(f"There are more matches; {'this is the first' if limit == 1 else f'these are the first {limit}'}. Raise --limit.")
    return 0 if found else 1


def _payload(one: Any) -> dict[str, Any]:
    found = asdict(one)
    return {"path": found.pop("uri"), **found}


def _marked(one: Any) -> str:
    """Return the line of a match with the match in color. A long line starts a little before it."""
    first = one.column - 1
    end = min(first + len(one.match.split("\n")[0]), len(one.text))
    start = max(0, first - _BEFORE) if len(one.text) > _WIDEST else 0
    stop = max(end, start + _WIDEST)
    parts = (one.text[start:first], one.text[first:end], one.text[end:stop])
    before, match, after = (visible_line(part) for part in parts)
    return before + styled(match, fg="yellow") + after


def outline_of(session: Any, text: str, project: str) -> list[Any] | None:
    """Return the outline of an indexed file, if its path is the whole query; else None."""
    if len(text.split()) != 1:
        return None
    try:
        path = here(text, project)
        found: list[Any] | None = session.structure.outline(path) if (session.root() / path).is_file() else None
    except (OSError, ValueError):  # too long for a path, or with a character that no path has
        return None
    except (NotFound, Forbidden):  # no project, or not indexed yet; the answer itself says so
        return None
    return found


def show_outline(outline: Sequence[Any]) -> int:
    """Print the definitions or sections of a file, with their lines."""
    table(("place", "kind", "name", "line"), [(f"{one.uri}:{one.line}", one.kind, one.label, one.signature) for one in outline])
    return 0
