"""Commands that write memories, and commands for access."""

from __future__ import annotations

from typing import Any

import click

from contextd.surfaces.cli.show import (
    as_json,
    asked,
    counted,
    json_option,
    note,
    opened,
    out,
    project_options,
    served,
    served_options,
    text_from,
    warn,
)
from contextd.surfaces.wire.convert import plain
from contextd.values.memory import UNKNOWN


@click.command()
@click.argument("text", nargs=-1, required=True)
@served_options
@project_options
@click.option("--here", is_flag=True, help="Save the memory in this project. The default is a personal memory.")
@click.option("--share-with", "principals", multiple=True, metavar="NAME", help="Additional reader of the memory. Repeatable.")
@click.option(
    "--kind",
    default=None,
    help="Kind: constraint, preference, activity, characteristic, goal, fact, decision, or your own (default: detected).",
)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Topic of the memory (default: detected). Repeatable.")
@click.option("--since", metavar="DATE", help="First date on which the memory is valid.")
@click.option("--private", is_flag=True, help="Hide the memory from agents. You can still recall it on this machine.")
@click.option("--pin", is_flag=True, help="Pin the memory. A pinned memory is listed before others of equal relevance.")
def remember(
    text: tuple[str, ...], project: str, reader: str, json_output: bool, here: bool, principals: tuple[str, ...],
    kind: str | None, topics: tuple[str, ...], since: str | None, private: bool, pin: bool,
) -> int:  # fmt: skip
    """Save TEXT as a memory, personal or in this project.

    The kind, the attribute and the topics are detected from TEXT unless you set them. A repeated fact does not create a
    second memory. A new value of an attribute replaces the old value. The old value is kept; list it with `contextd memories
    --all`.

    \b
    Examples:
      contextd remember "I deploy on Fridays, never on Mondays"
      contextd remember "Budget for shoes: max 150€"
      contextd remember --here "the payment service owns the orders table"
      pbpaste | contextd remember -
    """
    from contextd.surfaces.cli.memories import date, say_new_topics
    from contextd.surfaces.wire.answers import MemoryAnswer

    known = {"kind": kind, "topics": topics or None, "valid_from": date(since), "private": private, "pinned": pin}
    session = opened(project, reader) if here else served(None, reader)
    topics_before = {topic.name for topic in session.memories.topics()} if topics else None
    saved = session.remember(
        text_from(text), principals=principals, in_project=here, **{name: one for name, one in known.items() if one is not None}
    )
    warn(saved.warnings)
    say_new_topics(saved.memory, topics_before)
    if json_output:
        as_json(plain(MemoryAnswer.of(saved.memory)) | {"known": saved.known, "replaced": [one.id for one in saved.replaced],
                 "contradicts": [one.id for one in saved.contradicts]})  # fmt: skip
        return 0
    out(f"{'known already:' if saved.known else 'remembered'} {saved.memory.id}")
    note(_guessed(saved.memory))
    for old in saved.replaced:
        note(f"replaces {old.id[:8]}: {old.text}")
    for other in saved.contradicts:
        note(f"contradicts {other.id[:8]}: {other.text} (forget one, or update it)")
    return 0


def _guessed(memory: Any) -> str:
    """Return the detected fields of a memory on one line."""
    stated = f"{memory.attribute} = {memory.value} {memory.unit}".strip() if memory.attribute else ""
    kind = "kind: not recognized" if memory.kind == UNKNOWN else memory.kind
    return ", ".join(part for part in (kind, stated, " ".join(memory.topics)) if part)


_STATES = {
    "gone": "gone",
    "pending": "pending: the last bytes are erased when the other process stops reading",
    "copies": "gone from the record; a damaged copy (record.db.corrupt-…) may still hold it: delete that file",
}


@click.command()
@click.argument("memory")
@served_options
@project_options
def forget(memory: str, project: str, reader: str, json_output: bool) -> int:
    """Delete MEMORY permanently from the record, the search index and the log. The first 4 characters of its id are enough.

    \b
    Example:
      contextd forget 6d1c0b1e8f5a4e0d9c3b2a1908f7e6d5
    """
    session = served(project, reader)
    known = session.memories.get(memory)
    replaced = [one.id for one in session.memories.all() if one.replaced_by == known.id]
    state = session.forget(known.id)
    as_json({"id": known.id, "state": state}) if json_output else out(f"{known.id}: {_STATES[state]}")
    for one in session.memories.several(replaced):
        if one.valid_to is None:
            note(f"Valid again: {one.id[:8]} {one.text!r}")
    return 0


@click.command()
@click.argument("principals", nargs=-1, required=True, metavar="READERS...")
@click.option("--only", is_flag=True, help="Limit access to READERS.")
@click.option("--force", is_flag=True, help="With --only: apply the change even if you lose access.")
@project_options
def share(principals: tuple[str, ...], only: bool, force: bool, project: str, reader: str, json_output: bool) -> int:
    """Grant READERS access to this project's documents. Existing readers keep their access.

    \b
    Examples:
      contextd share ana
      contextd share everyone
      contextd share --only owner bob
    """
    from contextd.app.assemble import open_session

    session = open_session(project, reader=reader)
    names = session.share_only(principals, force=force) if only else session.share(principals)
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@click.argument("principals", nargs=-1, required=True, metavar="READERS...")
@click.option("--force", is_flag=True, help="Apply the change even if you lose access.")
@project_options
def unshare(principals: tuple[str, ...], force: bool, project: str, reader: str, json_output: bool) -> int:
    """Revoke the access of READERS to this project's documents.

    \b
    Example:
      contextd unshare everyone ana
    """
    from contextd.app.assemble import open_session

    session = open_session(project, reader=reader)
    before = session.who()
    names = session.unshare(principals, force=force)
    for name in sorted(set(principals) - before):
        note(f"{name} is not in the access list")
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@project_options
def who(project: str, reader: str, json_output: bool) -> int:
    """Show the access list of this project.

    \b
    Example:
      contextd who
    """
    names = asked(project, reader).who()
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@json_option
def salvage(json_output: bool) -> int:
    """Recover the readable data of a damaged record.db into a new file. The damaged file is kept beside it.

    \b
    Example:
      contextd salvage
    """
    from contextd.app.assemble import salvaged_record

    done = salvaged_record()
    if done is None:
        as_json({"healthy": True}) if json_output else out("the record is healthy; there is nothing to salvage")
        return 0
    saved, aside = done
    if json_output:
        as_json({"saved": saved, "damaged": str(aside)})
    else:
        out(
            f"saved {counted(saved.get('memory', 0), 'memory', 'memories')} and "
            f"{counted(saved.get('source_right', 0), 'access right', 'access rights')}; the damaged file is {aside}"
        )
    return 0 if saved else 1
