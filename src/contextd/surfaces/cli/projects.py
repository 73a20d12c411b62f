"""Commands for all projects of a data directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from contextd.errors import InvalidInput, NotFound
from contextd.surfaces.cli.show import as_json, as_list, confirmed, counted, json_option, note, out, table

_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def projects(ctx: click.Context, json_output: bool) -> None:
    """List the indexed projects with directory, size and last run.

    \b
    Examples:
      contextd projects
      contextd projects remove app
      contextd projects remove ~/code/app --with-memories
      contextd projects prune
    """
    if ctx.invoked_subcommand is not None:
        return
    from contextd.app.assemble import catalog
    from contextd.surfaces.cli.status import day

    known = catalog().all()
    if json_output:
        as_list([_payload(one) for one in known])
        return
    rows = [
        (one.name, " ".join(one.roots), f"{one.size / 1e6:.1f}", day(one.indexed) if one.indexed else "", one.memories or "")
        for one in known
    ]
    table(("name", "folder", "MB", "indexed", "memories"), rows)
    note(counted(len(known), "project", "projects") if known else "No project is indexed yet. Run `contextd index` in one.")


@projects.command("remove")
@click.argument("project")
@click.option("--with-memories", is_flag=True, help="Also delete your memories and chats of the project.")
@_yes
@json_option
def remove(project: str, with_memories: bool, yes: bool, json_output: bool) -> int:
    """Delete the index of PROJECT (a name or a directory). Its files, memories and chats are kept.

    \b
    Examples:
      contextd projects remove app
      contextd projects remove ~/code/app --yes
    """
    from contextd.app.assemble import catalog

    return _remove([_named(catalog().all(), project)], with_memories, yes, json_output)


@projects.command("prune")
@_yes
@json_option
def prune(yes: bool, json_output: bool) -> int:
    """Delete the index of every project whose directory is missing. Memories and chats are kept.

    A directory on an unmounted disk counts as missing. Check the list before you confirm.

    \b
    Example:
      contextd projects prune
    """
    from contextd.app.assemble import catalog

    gone = [one for one in catalog().all() if one.size and not any(Path(root).exists() for root in one.roots)]
    return _remove(gone, False, yes, json_output)


def _named(known: Sequence[Any], project: str) -> Any:
    """Return the project with that name, folder or name in the settings. Raises InvalidInput if there is none or several."""
    from contextd.settings import config

    settings = config.load(config.home() / "config.toml", None, os.environ).settings
    folder = str(Path(settings.projects.get(project, project)).expanduser().resolve())
    found = [one for one in known if folder in one.roots] or [one for one in known if one.name == project]
    if not found:
        raise NotFound(f"no such project: {project!r}; run `contextd projects` for a list")
    if len(found) > 1:
        raise InvalidInput(
            f"several projects have the name {project!r}: {', '.join(one.roots[0] for one in found)}. Give a directory."
        )
    return found[0]


def _remove(chosen: Sequence[Any], with_memories: bool, yes: bool, json_output: bool) -> int:
    """Delete indexes after confirmation."""
    from contextd.app.assemble import catalog
    from contextd.surfaces.cli.hybrid import client
    from contextd.surfaces.client.connection import path_of

    for one in chosen:
        kept = counted(one.memories, "memory or chat", "memories and chats")
        note(f"{one.name}: {' '.join(one.roots)}, {one.size / 1e6:.1f} MB, {kept}")
    if chosen and not yes:
        what = "the index" if len(chosen) == 1 else f"{len(chosen)} indexes"
        if not confirmed(f"Remove {what}?", "--yes"):
            return 1
    known, service, erased = catalog(), client(None, "owner") if chosen else None, 0
    for one in chosen:
        erased += known.erase_memories(one) if with_memories else 0
        if service is not None:  # it has the project open, and follows its files
            service.connection.delete(path_of("projects", f"{one.workspace:016x}"), {})
        else:
            known.remove(one)
    if json_output:
        as_json({"removed": [_payload(one) for one in chosen], "memories_erased": erased})
    else:
        kept = sum(one.memories for one in chosen) - erased
        out(
            f"{len(chosen)} removed"
            + (f", {counted(erased, 'memory or chat', 'memories or chats')} erased" if erased else "")
            + (f", {kept} kept" if kept else "")
        )
    return 0


def _payload(one: Any) -> dict[str, Any]:
    from contextd.surfaces.wire.answers import time_of

    found = {"name": one.name, "roots": list(one.roots), "bytes": one.size}
    return found | {"indexed": time_of(one.indexed), "memories": one.memories}
