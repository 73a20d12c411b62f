"""Commands for queries: search, context, explain, task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from contextd.app.tasks import TYPES
from contextd.surfaces.cli.find import outline_of, show_occurrences, show_outline
from contextd.surfaces.cli.show import (
    as_json,
    block,
    limited,
    note,
    out,
    project_options,
    query_from,
    served,
    served_options,
    styled,
    table,
    terminal,
    text_from,
    warn,
)
from contextd.text.invisible import visible, visible_line
from contextd.values.document import CHAT, COMMIT, MEMORY


def _narrowing(command: Callable[..., Any]) -> Callable[..., Any]:
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


def _narrow(paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], exclude: tuple[str, ...]) -> Any:
    from contextd.values.query import Narrow

    return Narrow(_resolved(paths), languages, kinds, exclude=_resolved(exclude))


def _resolved(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return existing paths in full. Other paths are relative to the project's root."""
    return tuple(str(Path(path).resolve()) if Path(path).exists() else path for path in paths)


def _answering(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that answers within a budget."""
    for option in (
        click.option("-b", "--budget", type=int, default=None, help="Maximum number of tokens (default: 1500)."),
        limited("candidate hits"),
        click.option(
            "-t",
            "--template",
            default="markdown",
            show_default=True,
            help="Output template: xml, markdown, chat, detailed, summary, json, or your own template.",
        ),
    ):
        command = option(command)
    return _narrowing(ordered(command))


def _answer(
    query: tuple[str, ...], project: str, reader: str, also: tuple[str, ...], budget: int | None, limit: int | None,
    template: str, paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], min_score: float | None,
    timeout: float | None, rerank: bool, ranker: str, history: tuple[str, ...], exclude: tuple[str, ...],
    mmr_lambda: float | None, no_cache: bool, explained: bool = False,
) -> Any:  # fmt: skip
    """Return the context of a question, with its whole trace if it is to be explained."""
    text = query_from(query)
    session = served(project, reader, also)
    return (session.preview if explained else session.context)(
        text,
        budget=budget,
        **({"k": limit} if limit else {}),
        template=template,
        min_score=min_score,
        narrow=_narrow(paths, languages, kinds, exclude),
        deadline=timeout,
        rerank=rerank,
        ranker=ranker,
        history=history,
        mmr_lambda=mmr_lambda,
        cache=not no_cache,
    )


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@limited("hits (default: 12; 100 with --exact or --regex)")
@click.option("--exact", is_flag=True, help="Search all indexed files for QUERY as literal text.")
@click.option("--regex", is_flag=True, help="Search all indexed files for QUERY as a regular expression (RE2).")
@ordered
@_narrowing
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
    narrow = _narrow(paths, languages, kinds, exclude)
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


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@_answering
def context(query: tuple[str, ...], json_output: bool, **options: Any) -> int:
    """Print the context for QUERY within a token budget, ready for a model.

    \b
    Examples:
      contextd context "how does login work"
      contextd context "why is the cache stale" --budget 800 --template xml
      git diff | contextd context - --json
    """
    answer = _answer(query, **options)
    if json_output:
        from contextd.surfaces.wire.answers import ContextAnswer

        as_json(ContextAnswer.of(answer))
    else:
        warn(answer.trace.warnings)
        if answer.text:
            block(answer.text)
        elif not answer.truncated:  # else a warning says that nothing fits the budget
            note("nothing relevant was found")
        note(f"{answer.tokens} of {answer.budget} tokens ({answer.tokenizer})")
    return 0 if answer.hits else 1


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@project_options
@_answering
def explain(query: tuple[str, ...], json_output: bool, **options: Any) -> int:
    """Show every step of QUERY: its hits, its dropped hits and the reasons.

    \b
    Example:
      contextd explain "how does login work"
    """
    from contextd.surfaces.wire.answers import ContextAnswer, TraceAnswer
    from contextd.surfaces.wire.convert import plain

    answer = _answer(query, **options, explained=True)
    if json_output:
        as_json(plain(ContextAnswer.of(answer)) | {"trace": TraceAnswer.of(answer.trace), "terms": dict(answer.plan.terms)})
        return 0 if answer.hits else 1
    warn(answer.trace.warnings)
    plan = answer.plan
    out(f"understood as {plan.route}; searched as {plan.strategy}; terms: {', '.join(plan.terms) or '(none)'}")
    if plan.model:
        out(f"by {plan.model}: {plan.act or 'no act'}, confidence {plan.confidence:.2f}, {plan.k or 'any number of'} hits")
    table(
        ("step", "ms", "count"),
        [(s.name, f"{s.milliseconds:.1f}", "" if s.count is None else s.count) for s in answer.trace.steps],
    )
    table(("dropped by", "what", "why"), [(d.step, d.what, d.why) for d in answer.trace.drops])
    table(("score", "place", "label", "why"), [_hit_row(hit) for hit in answer.hits])
    out(f"{answer.tokens} of {answer.budget} tokens ({answer.tokenizer})")
    return 0 if answer.hits else 1


@click.command()
@click.option("--title", required=True, help="Title of the task.")
@click.option("--description", default="", help="Description of the task. Use - to read it from standard input.")
@click.option("--type", "kind", default="implementation", show_default=True, help=f"Type of the task: {', '.join(TYPES)}.")
@click.option(
    "--complexity",
    type=int,
    default=5,
    show_default=True,
    help="Complexity of the task (1 to 10). A higher value gives a larger token budget.",
)
@click.option("--id", "number", default="", help="Task ID to show in the prompt, such as an issue number.")
@served_options
@project_options
@_narrowing
def task(
    title: str, description: str, kind: str, complexity: int, number: str, project: str, reader: str, json_output: bool,
    also: tuple[str, ...], paths: tuple[str, ...], languages: tuple[str, ...], kinds: tuple[str, ...], min_score: float | None,
    timeout: float | None, exclude: tuple[str, ...],
) -> int:  # fmt: skip
    """Print a prompt for a task, including the relevant context of the project.

    The type and the complexity set the token budget.

    \b
    Examples:
      contextd task --title "Sessions never expire" --type bugfix --complexity 7
      gh issue view 12 | contextd task --title "Add JWT login" --description - --path src/auth
    """
    from contextd.app.tasks import Task
    from contextd.surfaces.wire.answers import ContextAnswer

    text = text_from((description,)) if description == "-" else description
    wanted = Task(title, text, kind, complexity, number, _narrow(paths, languages, kinds, exclude))
    found = served(project, reader, also).task(wanted, min_score=min_score, deadline=timeout)
    if json_output:
        inner = ContextAnswer.of(found.context) if found.context is not None else None
        as_json({"prompt": found.prompt, "budget": found.budget, "context": inner, "warnings": list(found.warnings)})
    else:
        warn(found.warnings)
        block(found.prompt)
    return 0


def _hit_row(hit: Any) -> tuple[str, str, str, str]:
    why = ", ".join(f"{name} {value:.2f}" for name, value in hit.why.items())
    return f"{hit.score:.2f}", f"{hit.chunk.uri}:{hit.chunk.start_line}", hit.chunk.label, why
