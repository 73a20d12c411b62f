"""Commands that connect programs and look after the installation: install, uninstall, doctor, purge."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextd.errors import ContextdError, InvalidInput
from contextd.surfaces.cli.show import as_json, as_list, block, json_option, note, out, table

if TYPE_CHECKING:
    from contextd.app.agents import Agent, Command, FileChange

# What contextd writes into its data directory. Nothing else in it is removed.
_OWN = ("record.db*", "log.db*", "projects", "models", "service", "usage", "config.toml", "config.toml.*", "bench")
_SCOPES = click.Choice(["user", "project"])
_Wanted = tuple[str, "Callable[[], FileChange]"]  # a program, and the change of its file


def _targets(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        json_option,
        click.option("--dry-run", is_flag=True, help="Show the changes without writing them."),
        click.option(
            "--scope", type=_SCOPES, default="user", show_default=True, help="Change your own file, or this project's."
        ),
        click.option("--hook", is_flag=True, help="Also the hook of Claude Code, which adds context to every prompt."),
        click.option("--all", "everything", is_flag=True, help="All programs that are found on this machine."),
        click.argument("names", nargs=-1, metavar="[PROGRAM]..."),
    ):
        command = option(command)
    return command


@click.command()
@_targets
@click.option("--print", "only_print", is_flag=True, help="Print the entry instead of writing it.")
def install(
    names: tuple[str, ...], everything: bool, hook: bool, scope: str, dry_run: bool, json_output: bool, only_print: bool
) -> int:
    """Connect PROGRAM to contextd: claude, codex, cursor, vscode, gemini, opencode or zed.

    The entry is merged into the program's configuration file. The file as it was before is kept beside it.

    \b
    Examples:
      contextd install claude
      contextd install claude --hook
      contextd install --all --dry-run
      contextd install cursor --scope project
    """
    from contextd.app import agents

    chosen = _chosen(names, everything)
    root = _root(scope)
    command = _command(scope, root)
    if only_print:
        entries = [
            (agent.title, agent.path(scope, Path.home(), root), agents.connection_text(agent, command)) for agent in chosen
        ]
        if hook:
            entries.append(("Claude Code hook", agents.hook_path(scope, Path.home(), root), agents.hook_text()))
        for title, path, text in entries:
            out(f"{title}: {path}")
            block(text)
        return 0
    wanted: list[_Wanted] = [
        (agent.title, lambda agent=agent: agents.connection(agent, agent.path(scope, Path.home(), root), command))  # type: ignore[misc]
        for agent in chosen
    ]
    if hook:
        wanted.append(("Claude Code hook", lambda: agents.hook_change(agents.hook_path(scope, Path.home(), root), add=True)))
    changes, code = _changes_and_exit_code(wanted)
    _apply(changes, dry_run, json_output, "connected", "connected already")
    if not dry_run and not json_output and any(change.is_needed for _, change in changes):
        note("Restart the program to use it. `contextd doctor` checks the connection.")
    return code


@click.command()
@_targets
def uninstall(names: tuple[str, ...], everything: bool, hook: bool, scope: str, dry_run: bool, json_output: bool) -> int:
    """Remove contextd from the configuration of PROGRAM.

    \b
    Examples:
      contextd uninstall claude --hook
      contextd uninstall --all
    """
    from contextd.app import agents

    root = _root(scope)
    wanted: list[_Wanted] = [
        (agent.title, lambda agent=agent: agents.disconnection(agent, agent.path(scope, Path.home(), root)))  # type: ignore[misc]
        for agent in _chosen(names, everything)
    ]
    if hook or any(title == "Claude Code" for title, _ in wanted):
        wanted.append(("Claude Code hook", lambda: agents.hook_change(agents.hook_path(scope, Path.home(), root), add=False)))
    changes, code = _changes_and_exit_code(wanted)
    _apply(changes, dry_run, json_output, "removed", "not connected")
    return code


def _changes_and_exit_code(wanted: list[_Wanted]) -> tuple[list[tuple[str, FileChange]], int]:
    """Return the changes that can be made, and the exit code. A file that cannot be changed does not stop the others."""
    changes, code = list[tuple[str, "FileChange"]](), 0
    for title, make in wanted:
        try:
            changes.append((title, make()))
        except ContextdError as error:
            if len(wanted) == 1:
                raise
            note(f"error: {title}: {error}")
            code = error.exit_code
    return changes, code


def _command(scope: str, root: Path) -> Command:
    """Return the command that the program runs: for the project it is started in, or for this one."""
    from contextd.app.agents import own_command

    return own_command().with_arguments("mcp", *(() if scope == "user" else ("--project", str(root))))


def _chosen(names: tuple[str, ...], everything: bool) -> list[Agent]:
    from contextd.app.agents import AGENTS, present

    if unknown := [name for name in names if name not in AGENTS]:
        raise InvalidInput(f"no such program: {unknown[0]!r}; the programs are {', '.join(AGENTS)}")
    found = present(Path.home()) if everything else []
    chosen = list(dict.fromkeys([*(AGENTS[name] for name in names), *found]))
    if everything and not chosen:
        raise InvalidInput(f"none of these programs was found on this machine: {', '.join(AGENTS)}; name the one to connect")
    if not chosen:
        raise InvalidInput(f"name a program ({', '.join(AGENTS)}), or use --all for those on this machine")
    return chosen


def _root(scope: str) -> Path:
    from contextd.app.root import checked_root, find_root

    return checked_root(find_root(Path())) if scope == "project" else Path()


def _apply(changes: list[tuple[str, FileChange]], dry_run: bool, json_output: bool, done: str, same: str) -> None:
    """Write changes of configuration files, or show them."""
    for _, change in changes:
        if change.is_needed and not dry_run:
            change.write()
    if json_output:
        rows = [{"program": title, "file": str(change.path), "changed": change.is_needed} for title, change in changes]
        as_list(rows)
        return
    for title, change in changes:
        state = same if not change.is_needed else f"would be {done}" if dry_run else done
        out(f"{title}: {state} ({change.path})")
        if dry_run:
            before, after = change.before.splitlines(), change.after.splitlines()
            for line in difflib.unified_diff(before, after, lineterm="", n=2):
                out(f"  {line}")


@click.command()
def hook() -> int:
    """Print the context of a prompt, for a hook of Claude Code. The event is read from standard input.

    It prints nothing if the service does not run. `contextd install claude --hook` sets up a faster way to run it.

    \b
    Example:
      contextd hook < event.json
    """
    from contextd.surfaces.client.hook import main

    main()
    return 0


@click.command()
@json_option
def doctor(json_output: bool) -> int:
    """Check the installation: data, models, service, connected programs, this project. Names the command that helps.

    \b
    Example:
      contextd doctor
    """
    from contextd.app.diagnosis import checks

    found = list(checks(Path.cwd(), Path.home(), os.environ))
    if json_output:
        as_list([{"check": one.name, "state": one.state, "detail": one.detail, "remedy": one.remedy} for one in found])
    else:
        table(("check", "state", "detail", "remedy"), [(one.name, one.state, one.detail, one.remedy) for one in found])
    return 1 if any(one.state == "problem" for one in found) else 0


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@json_option
def purge(yes: bool, dry_run: bool, json_output: bool) -> int:
    """Remove everything that contextd has written: data, memories, models, connections, the unit of the service.

    Entries of contextd in `.mcp.json` and other files of projects stay; `contextd uninstall --scope project` removes them.

    \b
    Example:
      contextd purge --dry-run
    """
    from contextd.app.serving import running
    from contextd.settings.data_directory import home

    files, entries = list(_written()), list(_entries())
    if json_output and dry_run:
        as_json({"remove": [str(one) for one in files], "entries": [str(change.path) for change in entries]})
        return 0
    for path in files:
        out(f"remove {path}")
    for change in entries:
        out(f"remove the entry of contextd from {change.path}")
    if dry_run or not (files or entries):
        return 0
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("purge deletes your memories; use --yes to confirm, or --dry-run to see what would be removed")
        click.confirm("Delete all of this, memories included?", abort=True)
    if running(home()) is not None:
        from contextd.surfaces.cli.service import stopped

        stopped()
    for change in entries:
        change.write()
    for path in [*files, *_written()]:  # writing the entries made copies
        _removed(path)
    with suppress(OSError):
        home().rmdir()  # stays if there is anything else in it
    as_json({"removed": [str(one) for one in files]}) if json_output else out("removed")
    return 0


def _written() -> Iterator[Path]:
    """Yield the files and folders of contextd outside of projects."""
    from contextd.app.agents import AGENTS, BACKUP
    from contextd.app.login_item import login_item
    from contextd.settings.data_directory import home

    copies = [path.with_name(path.name + BACKUP) for path in (Path.home() / one.user for one in AGENTS.values())]
    settings = Path.home() / ".claude" / f"settings.json{BACKUP}"
    own = [path for name in _OWN for path in home().glob(name)] if (home() / "record.db").exists() else []
    yield from (path for path in (*own, login_item().path, settings, *copies) if path.exists())


def _entries() -> Iterator[FileChange]:
    """Yield the changes that remove contextd from configuration files of the user."""
    from contextd.app import agents

    for agent in agents.AGENTS.values():
        path = Path.home() / agent.user
        if path.exists() and (change := agents.disconnection(agent, path)).is_needed:
            yield change
    path = agents.hook_path("user", Path.home(), Path())
    if path.exists() and (change := agents.hook_change(path, add=False)).is_needed:
        yield change


def _removed(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    except OSError as error:
        raise ContextdError(f"cannot remove {path}: {error.strerror}") from None
