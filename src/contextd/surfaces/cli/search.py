"""The command search. Loads little: it is asked most, and mostly answered by the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from contextd.surfaces.cli.filters import narrow_from, narrowing, ordered
from contextd.surfaces.cli.find import outline_of, show_occurrences, show_outline
from contextd.surfaces.cli.show import (
    as_json,
    limited,
    note,
    project_options,
    query_from,
    served,
    served_options,
    styled,
    terminal,
    text_from,
    warn,
)
from contextd.text.invisible import visible, visible_line
from contextd.values.document import CHAT, COMMIT, MEMORY


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@limited("hits (default: 12; 100 with --exact or --regex)")
@click.option("--exact", is_flag=True, help="Search all indexed files for QUERY as literal text.")
@click.option("--regex", is_flag=True, help="Search all indexed files for QUERY as a regular expression (RE2).")
@ordered
@narrowing
def search(
    query: tuple[str, ...], project: str, reader: str, json_output: bool, limit: int | None, also: tuple[str, ...],
    paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], min_score: float | None, timeout: float | None,
    rerank: bool, ranker: str, history: tuple[str, ...], exact: bool, regex: bool, exclude: tuple[str, ...],
    mmr_lambda: float | None, no_cache: bool,
) -> int:  # fmt: skip
    """Search the project for QUERY. The hits are sorted by relevance and grouped by file.

    If QUERY is the path of an indexed file, the outline of the file is printed.

    \b
    Examples:
      contextd search "where are routes registered"
      contextd search Session.close
      contextd search src/session.py
      contextd search --exact "raise Timeout(" --path src
      contextd search --regex "def (get|set)_\\w+" --lang python
      contextd search "retry path:src lang:python" --json
      pbpaste | contextd search -
    """
    text = text_from(query) if exact or regex else query_from(query)
    session = served(project, reader, also)
    narrow = narrow_from(paths, languages, kinds, exclude)
    order = {"rerank": rerank, "ranker": ranker, "history": history, "mmr_lambda": mmr_lambda, "cache": not no_cache}
    if exact or regex:
        if exact and regex:
            raise click.UsageError("--exact and --regex cannot be used together")
        find = session.find if exact else session.find_pattern
        return show_occurrences(find, text, limit or 100, narrow, timeout, json_output)
    outline = outline_of(session, text, project)
    if outline and not json_output:
        return show_outline(outline)
    found = session.search(text, k=limit, min_score=min_score, narrow=narrow, deadline=timeout, **order)
    if json_output:
        from contextd.surfaces.wire.answers import SearchAnswer
        from contextd.surfaces.wire.convert import plain

        more = {"outline": [asdict(one) for one in outline]} if outline else {}
        as_json(plain(SearchAnswer.of(found.hits, found.plan, found.trace, text)) | more)
    else:
        _show_hits(found)
    return 0 if found.hits else 1


_EXCERPT = 3  # lines of a hit
_BEFORE, _WIDEST = 60, 160  # characters of a long line: before its first match, and in all
_NO_LINES = (MEMORY, CHAT, COMMIT)  # languages of documents that are no files and have no lines


def _show_hits(found: Any) -> None:
    warn(found.trace.warnings)
    if not found.hits:
        note("nothing found")
    by_file: dict[str, list[Any]] = {}
    for hit in found.hits:
        by_file.setdefault(hit.chunk.uri, []).append(hit)
    gap = "  " if terminal() else "\t"
    for hit in (hit for hits in by_file.values() for hit in hits):
        chunk = hit.chunk
        lines = "" if chunk.language in _NO_LINES else f"{chunk.start_line}-{chunk.end_line} "
        place = styled(visible_line(_place(chunk)), bold=True)
        click.echo(f"{place}{gap}{hit.score:.2f}{gap}{lines}{visible_line(chunk.label)}".rstrip())
        _show_excerpt(chunk, found.plan.terms)


def _place(chunk: Any) -> str:
    """Return the location of a hit, so that terminals and editors can open it."""
    return str(chunk.uri) if chunk.language in _NO_LINES else f"{chunk.uri}:{chunk.start_line}"


def _show_excerpt(chunk: Any, wanted: Mapping[str, float]) -> None:
    """Print the lines of a hit that match best, with their numbers."""
    from contextd.text.terms import split

    lines = [(n, line) for n, line in enumerate(chunk.text.split("\n"), chunk.start_line) if line.strip()]
    best = sorted(lines, key=lambda one: (-len(wanted.keys() & set(split(one[1]))), one[0]))[:_EXCERPT]
    for number, line in sorted(best):
        shown = "" if chunk.language in _NO_LINES else f"{number:>6}"
        click.echo(f"{shown}  {_marked(visible(line.strip()), wanted)}")


def _marked(line: str, wanted: Mapping[str, float]) -> str:
    """Return a line with matching words in color. A long line starts a little before the first match."""
    from contextd.text.terms import matches

    start = max(0, min((first for first, _ in matches(line, wanted)), default=0) - _BEFORE) if len(line) > _WIDEST else 0
    line = line[start : start + _WIDEST]
    parts, at = [], 0
    for first, end in matches(line, wanted):
        parts += [line[at:first], styled(line[first:end], fg="yellow")]
        at = end
    return "".join([*parts, line[at:]])
