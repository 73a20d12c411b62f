"""Commands for memories: recall, list, change, link."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

import click

from contextd.surfaces.cli.filters import ordered
from contextd.surfaces.cli.memory_files import export, import_, show_progress
from contextd.surfaces.cli.show import (
    WholeNumber,
    around,
    as_json,
    as_list,
    asked,
    block,
    counted,
    limited,
    note,
    out,
    personal_options,
    query_from,
    served,
    served_options,
    table,
    terminal,
    text_from,
    warn,
)


def date(text: str | None, *, end: bool = False) -> int | None:
    """Parse a date into microseconds; with `end`, the end of that day."""
    if text is None:
        return None
    for pattern in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            parsed = time.strptime(text, pattern)
        except ValueError:
            continue
        return int(time.mktime(parsed) * 1_000_000) + (86_400_000_000 - 1 if end and pattern == "%Y-%m-%d" else 0)
    raise click.UsageError(f"invalid date: {text!r} (use the form 2026-05-31)")


_own_options = personal_options("Also find memories of this project.")


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command for one memory."""
    return served_options(_own_options(command))


@click.command()
@click.argument("query", nargs=-1, required=True)
@served_options
@personal_options("Also search the memories of this project (default: the current project, if it is known).")
@limited("memories (default: 12)")
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Limit results to this kind, such as constraint. Repeatable."
)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Limit results to this topic. Repeatable.")
@click.option("--since", metavar="DATE", help="Limit results to memories from this date or later.")
@click.option("--until", metavar="DATE", help="Limit results to memories from this date or earlier.")
@click.option("--as-of", metavar="DATE", help="Use the memories that were valid on this date (default: today).")
@click.option("--min-confidence", type=float, default=0.0, help="Minimum confidence of a memory (0 to 1).")
@click.option("--conversation", default="", metavar="ID", help="Limit results to this conversation.")
@click.option("--min-score", type=float, default=None, help="Minimum relevance of a memory, 0 to 1 (default: 0.3).")
@ordered
@click.option(
    "--links",
    type=WholeNumber(0, 5),
    default=0,
    show_default=True,
    help="Maximum number of link steps to follow from each hit.",
)
def recall(
    query: tuple[str, ...], project: str | None, reader: str, json_output: bool, limit: int | None, kinds: tuple[str, ...],
    topics: tuple[str, ...], since: str | None, until: str | None, as_of: str | None, min_confidence: float, conversation: str,
    min_score: float | None, links: int, rerank: bool, ranker: str, history: tuple[str, ...], mmr_lambda: float | None,
    no_cache: bool,
) -> int:  # fmt: skip
    """Search your memories for QUERY.

    \b
    Examples:
      contextd recall "what shoes do I need"
      contextd recall budget --kind constraint
      contextd recall "where did I live" --as-of 2024-06-01
    """
    from contextd.values.memory import Recall
    from contextd.values.query import Narrow

    text = query_from(query)
    session = served(around(project), reader)
    wanted = Recall(frozenset(topics), conversation, min_confidence, date(as_of, end=True), depth=links)
    narrow = Narrow(kinds=kinds, since=date(since), until=date(until, end=True), recall=wanted)
    order = {"rerank": rerank, "ranker": ranker, "history": history, "mmr_lambda": mmr_lambda, "cache": not no_cache}
    found = session.recall(text, k=limit, min_score=min_score, narrow=narrow, **order)
    if json_output:
        from contextd.surfaces.wire.answers import SearchAnswer

        as_json(SearchAnswer.of(found.hits, found.plan, found.trace, text))
        return 0 if found.hits else 1
    warn(found.trace.warnings)
    if not found.hits:
        note("nothing found")
        return 1
    known = session.memories.several([hit.chunk.uri for hit in found.hits])
    hit_of = {hit.chunk.uri: hit for hit in found.hits}
    rows = [
        (f"{hit.score:.2f}", one.id[:8], one.kind, _told(one.text, hit) + _linked(hit))
        for one in known
        if (hit := hit_of.get(f"memory:{one.id}")) is not None  # it may have been forgotten since
    ]
    table(("score", "id", "kind", "memory"), rows)
    return 0 if found.hits else 1


def _told(text: str, hit: Any) -> str:
    """Return the text of a memory, behind its author if that is somebody else."""
    return f"{hit.chunk.told_by}: {text}" if hit.chunk.told_by else text


def _linked(hit: Any) -> str:
    """Return why a linked memory was added."""
    if hit.relation is None:
        return ""
    return f" ({hit.relation.kind}, {hit.relation.uri.removeprefix('memory:')[:8]})"


@click.group(invoke_without_command=True)
@served_options
@personal_options("Also list the memories of this project.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Limit the list to this kind. Repeatable.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Limit the list to this topic. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Also list memories that are no longer valid.")
@limited("memories (default: all)")
@click.pass_context
def memories(
    ctx: click.Context, project: str | None, reader: str, json_output: bool, kinds: tuple[str, ...], topics: tuple[str, ...],
    everything: bool, limit: int | None,
) -> int:  # fmt: skip
    """List memories, latest first. The subcommands show and change a memory.

    \b
    Examples:
      contextd memories
      contextd memories --kind constraint
      contextd memories show 6d1c
      contextd memories update 6d1c "Shoe size: EU 43"
      contextd memories pin 6d1c
    """
    if ctx.invoked_subcommand is not None:
        return 0
    found = [
        one
        for one in served(around(project), reader).memories.all()
        if (everything or one.valid_to is None)
        and (not kinds or one.kind in kinds)
        and (not topics or set(topics) & set(one.topics))
    ]
    total, found = len(found), found[:limit]
    if json_output:
        as_list([_payload(one) for one in found], total)
    elif found:
        table(("id", "kind", "topics", "memory"), [(one.id[:8], one.kind, ", ".join(one.topics), _line(one)) for one in found])
        if terminal():
            note(counted(len(found), "memory", "memories"))
    else:
        note("nothing found" if kinds or topics else "No memories yet. Save one with `contextd remember`.")
    return 0 if found else 1


@memories.command("show")
@click.argument("memory")
@_options
def show(memory: str, project: str | None, reader: str, json_output: bool) -> int:
    """Show all fields of MEMORY (an id, or its first 4 characters or more)."""
    service = served(around(project), reader).memories
    one, links = service.get(memory), service.links(memory)
    if json_output:
        as_json(_payload(one) | {"links": [{"kind": link.kind, "memory": other.id} for link, other in links]})
        return 0
    block(one.text)
    for name, value in _payload(one).items():
        if name not in ("text", "id") and value not in ("", None, [], 0, False):
            out(f"  {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for link, other in links:
        out(f"  {link.kind} {'→' if link.start == one.id else '←'} {other.id[:8]} {other.text}")
    return 0


@memories.command("update")
@click.argument("memory")
@click.argument("text", nargs=-1)
@_options
@click.option("--kind", default=None, help="New kind of the memory.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="New topic of the memory. Repeatable.")
@click.option("--attribute", default=None, help="Attribute that the memory states, such as shoe_size.")
@click.option("--value", default=None, help="Value of the attribute.")
@click.option("--unit", default=None, help="Unit of the value.")
@click.option("--share-with", "principals", multiple=True, metavar="NAME", help="Additional reader of the memory. Repeatable.")
@click.option("--until", metavar="DATE", help="Last date on which the memory is valid.")
def update(
    memory: str, text: tuple[str, ...], project: str | None, reader: str, json_output: bool, kind: str | None,
    topics: tuple[str, ...], attribute: str | None, value: str | None, unit: str | None, principals: tuple[str, ...],
    until: str | None,
) -> int:  # fmt: skip
    """Update the TEXT or other fields of MEMORY.

    The fields that you set are never detected again. The previous version stays in the history of the memory.

    \b
    Examples:
      contextd memories update 6d1c "Shoe size: EU 43"
      contextd memories update 6d1c --kind preference --topic Fashion
    """
    fields = {"text": text_from(text) if text else None, "kind": kind, "attribute": attribute, "value": value, "unit": unit}
    fields |= {"topics": topics or None, "principals": principals or None, "valid_to": date(until, end=True)}  # type: ignore[dict-item]
    service = served(around(project), reader).memories
    known = {topic.name for topic in service.topics()} if topics else None
    changed = service.update(memory, **{name: one for name, one in fields.items() if one is not None})
    warn(changed.warnings)
    say_new_topics(changed.memory, known)
    return _print_memory(changed.memory, json_output, "changed")


def say_new_topics(memory: Any, known: Collection[str] | None) -> None:
    """Print the topics of a memory that were not known before; nothing if none were given."""
    for name in () if known is None else [name for name in memory.topics if name not in known]:
        note(f"new topic: {name}")


def _flag(name: str, field: str, on: bool, done: str, text: str) -> click.Command:
    """Add a command that sets or clears one flag. It prints `done` with the memory."""

    def command(memory: str, project: str | None, reader: str, json_output: bool) -> int:
        return _print_memory(served(around(project), reader).memories.mark(memory, **{field: on}), json_output, done)

    command.__doc__ = text
    made = click.command(name)(_options(click.argument("memory")(command)))
    memories.add_command(made)
    return made


_flag("pin", "pinned", True, "pinned", "Pin MEMORY. A pinned memory is listed before other memories of equal relevance.")
_flag("unpin", "pinned", False, "unpinned", "Unpin MEMORY.")
_flag("never-recall", "silent", True, "excluded", "Exclude MEMORY from answers. The memory is not deleted.")
_flag("recall-again", "silent", False, "included again", "Include MEMORY in answers again.")
_flag("private", "private", True, "made private", "Hide MEMORY from agents. You can still recall it on this machine.")
_flag("public", "private", False, "made public", "Show MEMORY to agents again.")


@memories.command("verify")
@click.argument("memory")
@_options
def verify(memory: str, project: str | None, reader: str, json_output: bool) -> int:
    """Confirm the detected fields of MEMORY. Confirmed fields are never detected again."""
    return _print_memory(served(around(project), reader).memories.verify(memory), json_output, "verified")


@memories.command("feedback")
@click.argument("memory")
@click.argument("verdict", type=click.Choice(["useful", "useless"]))
@_options
def feedback(memory: str, verdict: str, project: str | None, reader: str, json_output: bool) -> int:
    """Rate MEMORY as useful or useless. The rating raises or lowers its rank in later answers."""
    rated = served(around(project), reader).memories.feedback(memory, useful=verdict == "useful")
    return _print_memory(rated, json_output, f"rated {verdict}")


@memories.command("history")
@click.argument("memory")
@_options
def history(memory: str, project: str | None, reader: str, json_output: bool) -> int:
    """Show the previous versions of MEMORY, latest first."""
    versions = served(around(project), reader).memories.history(memory)
    if json_output:
        as_list([{"at": _day(one.at), "by": one.by} | _payload(one.before) for one in versions])
    else:
        table(("until", "by", "kind", "memory"), [(_day(one.at), one.by, one.before.kind, one.before.text) for one in versions])
    return 0 if versions else 1


@memories.command("link")
@click.argument("memory")
@click.argument("other")
@click.option("--kind", default="related", show_default=True, help="Kind of the link from MEMORY to OTHER.")
@_options
def link(memory: str, other: str, kind: str, project: str | None, reader: str, json_output: bool) -> int:
    """Link MEMORY to OTHER. Both memories show the link."""
    made = served(around(project), reader).memories.link(memory, other, kind)
    as_json({"start": made.start, "end": made.end, "kind": made.kind}) if json_output else out(
        f"{made.kind}: {made.start[:8]} → {made.end[:8]}"
    )
    return 0


@memories.command("unlink")
@click.argument("memory")
@click.argument("other")
@click.option("--kind", default="", help="Limit the removal to links of this kind.")
@_options
def unlink(memory: str, other: str, kind: str, project: str | None, reader: str, json_output: bool) -> int:
    """Remove the links between MEMORY and OTHER."""
    count = served(around(project), reader).memories.unlink(memory, other, kind)
    as_json({"unlinked": count}) if json_output else out(f"{counted(count, 'link', 'links')} removed")
    return 0 if count else 1


@memories.command("enrich")
@click.option("--all", "everything", is_flag=True, help="Detect the fields of all memories again.")
@_own_options
def enrich(everything: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Detect missing fields of your memories, compute missing vectors, and print a report.

    The fields are kind, attribute, topics and language. Run this after `contextd models fetch`: without model weights,
    memories get no kind and no vectors.
    """
    service = asked(project, reader).memories
    quality = service.enrich(everything=everything, progress=show_progress)
    if json_output:
        as_json({
            "memories": quality.total, "kinds": quality.kinds, "with_attribute": quality.with_attribute,
            "unsure": quality.unsure, "verified": quality.verified,
        })  # fmt: skip
        return 0
    table(("kind", "count"), list(quality.kinds.items()))
    parts = (quality.with_attribute, quality.unsure, quality.verified)
    stated, unsure, verified = (f"{part / max(quality.total, 1):.0%}" for part in parts)
    total = counted(quality.total, "memory", "memories")
    note(f"{total}: {stated} with an attribute, {unsure} unsure, {verified} set or verified by you")
    return 0


memories.add_command(export)
memories.add_command(import_)


def _line(memory: Any) -> str:
    """Return a memory on one line. A memory that is no longer valid shows its end."""
    over = f" (until {_day(memory.valid_to)})" if memory.valid_to is not None else ""
    return " ".join(memory.text.split()) + over


def _print_memory(memory: Any, json_output: bool, what: str) -> int:
    as_json(_payload(memory)) if json_output else out(f"{what} {memory.id[:8]}: {memory.text}")
    return 0


def _day(microseconds: int | None) -> str | None:
    return None if microseconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds / 1e6))


def _payload(memory: Any) -> dict[str, Any]:
    from contextd.surfaces.wire.answers import MemoryAnswer
    from contextd.surfaces.wire.convert import plain

    return dict(plain(MemoryAnswer.of(memory)))
