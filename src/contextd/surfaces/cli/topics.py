"""Commands for topics."""

from __future__ import annotations

from dataclasses import replace

import click

from contextd.surfaces.cli.show import as_json, as_list, counted, opened, out, personal_options, table

_options = personal_options("Also count the memories of this project.")
_anywhere = personal_options("No effect: topics apply to all projects.")


@click.group(invoke_without_command=True)
@_options
@click.pass_context
def topics(ctx: click.Context, project: str | None, reader: str, json_output: bool) -> None:
    """List your topics with the number of memories of each topic.

    \b
    Examples:
      contextd topics
      contextd topics add Sailing --below Leisure
      contextd topics rename Leisure "Free time"
      contextd topics merge Fitness Health
      contextd topics private Health
    """
    if ctx.invoked_subcommand is not None:
        return
    service = opened(project, reader).memories
    counts: dict[str, int] = {}
    for one in service.all():
        for name in one.topics:
            counts[name] = counts.get(name, 0) + 1
    hidden = replace(service, private=False).hidden_topics()
    rows = [(one.name, one.parent, counts.get(one.name, 0), one.name in hidden) for one in service.topics()]
    if json_output:
        as_list([{"name": name, "below": below, "memories": count, "private": private} for name, below, count, private in rows])
    else:
        shown = [(name, below, count, "yes" if private else "") for name, below, count, private in rows]
        table(("topic", "below", "count", "private"), shown)


@topics.command("add")
@click.argument("name")
@click.option("--below", default="", metavar="TOPIC", help="Parent topic.")
@_anywhere
def add_topic(name: str, below: str, project: str | None, reader: str, json_output: bool) -> int:
    """Add the topic NAME."""
    made = opened(project, reader).memories.add_topic(name, below)
    as_json({"name": made.name, "below": made.parent}) if json_output else out(f"added {made.name}")
    return 0


@topics.command("rename")
@click.argument("name")
@click.argument("new")
@_anywhere
def rename_topic(name: str, new: str, project: str | None, reader: str, json_output: bool) -> int:
    """Rename the topic NAME to NEW. The memories of the topic are updated."""
    count = opened(project, reader).memories.rename_topic(name, new)
    as_json({"name": new, "memories": count}) if json_output else out(
        f"{name} is {new} now, with {counted(count, 'memory', 'memories')}"
    )
    return 0


@topics.command("merge")
@click.argument("name")
@click.argument("into")
@_anywhere
def merge_topic(name: str, into: str, project: str | None, reader: str, json_output: bool) -> int:
    """Merge the topic NAME into the topic INTO. The memories of NAME move to INTO."""
    count = opened(project, reader).memories.merge_topic(name, into)
    as_json({"name": into, "memories": count}) if json_output else out(
        f"{counted(count, 'memory', 'memories')} moved from {name} to {into}"
    )
    return 0


@topics.command("delete")
@click.argument("name")
@_anywhere
def delete_topic(name: str, project: str | None, reader: str, json_output: bool) -> int:
    """Delete the topic NAME. Its memories are kept without the topic."""
    count = opened(project, reader).memories.delete_topic(name)
    as_json({"deleted": name, "memories": count}) if json_output else out(
        f"deleted {name}; {counted(count, 'memory', 'memories')} had it"
    )
    return 0


@topics.command("private")
@click.argument("name")
@click.option("--off", is_flag=True, help="Make the topic public again.")
@_anywhere
def private_topic(name: str, off: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Make the topic NAME private, with all topics below it.

    Memories of a private topic answer on this machine only: not over MCP, not in hooks, and over HTTP only for tokens made with
    --private.

    \b
    Examples:
      contextd topics private Health
      contextd topics private Health --off
    """
    from contextd.app.private_topics import set_private

    set_private(opened(project, reader), name, private=not off)
    as_json({"name": name, "private": not off}) if json_output else out(f"{name} is {'public' if off else 'private'} now")
    return 0
