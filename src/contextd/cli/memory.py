"""Commands about what a person wrote: memories and rights."""

from __future__ import annotations

import click

from contextd.cli.show import as_json, note, out, project_options


@click.command()
@click.argument("text", nargs=-1, required=True)
@project_options
@click.option("--here", is_flag=True, help="A memory of this project, not a personal one.")
@click.option("--share-with", "principals", multiple=True, metavar="NAME", help="Who else may read it; may be repeated.")
def remember(
    text: tuple[str, ...], project: str, reader: str, json_output: bool, here: bool, principals: tuple[str, ...]
) -> int:
    """Keep a fact, personal or of this project.

    \b
    Examples:
      contextd remember "I deploy on Fridays, never on Mondays"
      contextd remember --here "the payment service owns the orders table"
      pbpaste | contextd remember -
    """
    from contextd.assemble import open_engine
    from contextd.cli.show import spoken

    engine = open_engine(project if here else None, reader=reader)
    memory, warnings = engine.remember(spoken(text), principals=principals, in_project=here)
    for warning in warnings:
        note(f"warning: {warning}")
    payload = {"id": memory.id, "text": memory.text, "principals": sorted(memory.principals)}
    as_json(payload) if json_output else out(f"remembered {memory.id}")
    return 0


_STATES = {
    "gone": "forgotten",
    "pending": "forgotten; the last bytes go when the other process stops reading",
    "copies": "forgotten; a damaged copy (record.db.corrupt-…) may still hold it: delete that when you do not need it",
}


@click.command()
@click.argument("memory")
@project_options
def forget(memory: str, project: str, reader: str, json_output: bool) -> int:
    """Erase MEMORY (its id) for good: record, search structures and log.

    \b
    Example:
      contextd forget 6d1c0b1e8f5a4e0d9c3b2a1908f7e6d5
    """
    from contextd.assemble import open_engine

    state = open_engine(project, reader=reader).forget(memory.removeprefix("memory:").split(":")[0])
    if json_output:
        as_json({"id": memory, "state": state})
    else:
        out(_STATES[state])
    return 0


@click.command()
@click.argument("principals", nargs=-1, required=True)
@project_options
def share(principals: tuple[str, ...], project: str, reader: str, json_output: bool) -> int:
    """Say who may read this project's documents: PRINCIPALS and nobody else.

    \b
    Examples:
      contextd share owner ana
      contextd share everyone
      contextd share owner
    """
    from contextd.assemble import open_engine

    names = open_engine(project, reader=reader).share(principals)
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@click.argument("principals", nargs=-1, required=True)
@project_options
def unshare(principals: tuple[str, ...], project: str, reader: str, json_output: bool) -> int:
    """Take the right to read this project's documents from PRINCIPALS; the owner keeps it.

    \b
    Example:
      contextd unshare everyone ana
    """
    from contextd.assemble import open_engine

    engine = open_engine(project, reader=reader)
    names = engine.share((engine.who() - set(principals)) | {"owner"})
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@project_options
def who(project: str, reader: str, json_output: bool) -> int:
    """Show who may read this project's documents.

    \b
    Example:
      contextd who
    """
    from contextd.assemble import open_engine

    names = open_engine(project, reader=reader).who()
    as_json({"principals": sorted(names)}) if json_output else out("readable by " + ", ".join(sorted(names)))
    return 0


@click.command()
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def salvage(json_output: bool) -> int:
    """Save what can be read of a damaged record.db into a new one; the damaged file is kept beside it.

    \b
    Example:
      contextd salvage
    """
    from contextd.assemble import salvaged_record

    saved, aside = salvaged_record()
    if json_output:
        as_json({"saved": saved, "damaged": str(aside)})
    else:
        out(f"saved {saved.get('memory', 0)} memories and {saved.get('source_right', 0)} rights; the damaged file is {aside}")
    return 0 if saved else 1
