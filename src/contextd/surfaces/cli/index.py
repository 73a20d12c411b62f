"""Commands that set up and index a project."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from shutil import which
from typing import Any

import click

from contextd.surfaces.cli.show import as_json, counted, out, progress_of, project_options, table, warn

_TEMPLATE = """\
# Settings of this project for contextd. Everything here is optional; `contextd config` shows all settings.

[context.watcher]
watch_paths = ["auto"]        # the whole project, minus what is ignored
# ignore_patterns = ["*.log"]  # gitignore syntax; replaces the built-in list

[context.indexing]
max_file_size_mb = 5

[context.budget]
default_max_tokens = 1500
"""


@click.command()
@click.argument("folder", required=False)
@project_options
@click.option(
    "--deep",
    is_flag=True,
    help="Also compute vectors of the larger model now (slower, better for questions in natural language).",
)
@click.option("--no-service", is_flag=True, help="Do not start the service in the background.")
def up(folder: str | None, project: str, reader: str, json_output: bool, deep: bool, no_service: bool) -> int:
    """Set up and index FOLDER (default: the current project), start the service, then print example commands.

    \b
    Examples:
      contextd up
      contextd up ~/code/app
    """
    code = _index(folder or project, reader, json_output, verify=False, deep=deep)
    if not no_service and not code:
        _start_service(folder or project, json_output)
    if not json_output and not code:
        there = "" if folder is None and project == "." else f" --project {quote(folder or project)}"
        _next_steps(folder or project, reader, there)
    return code


def _start_service(project: str, json_output: bool) -> None:
    """Start the service and let it follow the project. Not if the settings say that commands answer by themselves.

    A failure is a warning.
    """
    import os

    from contextd.app.assemble import project_root
    from contextd.errors import ContextdError
    from contextd.settings import config
    from contextd.surfaces.cli.service import started
    from contextd.surfaces.client.client import Client

    if config.load(config.home() / "config.toml", None, os.environ).settings.mode == "embedded":
        return
    try:
        known = started()
        Client(project=project_root(project), timeout=20).search("what is this project about", k=1)
    except ContextdError as error:
        warn([f"commands answer by themselves: {error}"])
        return
    if not json_output:
        out(f"The service runs at {known.url}; `contextd stop` stops it.")


def _next_steps(project: str, reader: str, there: str) -> None:
    """Print example commands with the project's own names and headings."""
    from contextd.surfaces.cli.show import asked

    session, program = asked(project, reader), _program()
    names, headings = session.structure.worth_asking()
    topic = headings[0] if headings else f"how does {names[0]} work" if names else "what is this project about"
    out()
    out("Ask it:")
    for name in names[:1]:
        out(f"  {program} search {quote(name)}{there}")
        if session.structure.callers(name)[1]:
            out(f"  {program} callers {quote(name)}{there}")
    out(f"  {program} context {quote(topic)} --budget 800{there}")
    out("Connect an agent:")
    out(f"  {program} install claude")


def _program() -> str:
    """Return the command to type: its name if the shell finds it, else its path."""
    called = Path(sys.argv[0]).absolute()
    return "contextd" if which("contextd") or called.stem != "contextd" else quote(str(called))


@click.command()
@click.argument("folder", required=False)
@project_options
@click.option("--force", is_flag=True, help="Overwrite an existing context.toml.")
def init(folder: str | None, project: str, reader: str, json_output: bool, force: bool) -> int:
    """Write a context.toml with the default settings into FOLDER (default: the current project).

    \b
    Example:
      contextd init
    """
    from contextd.app.assemble import project_root
    from contextd.errors import Conflict, InvalidInput
    from contextd.settings.permissions import replace_file

    path = project_root(folder or project) / "context.toml"
    if path.is_symlink():
        raise InvalidInput(f"{path} is a symbolic link; contextd does not write through links of a project")
    if path.exists() and not force:
        raise Conflict(f"{path} already exists; edit it, or use --force to overwrite it")
    replace_file(path, _TEMPLATE, 0o644)
    as_json({"written": str(path)}) if json_output else out(f"wrote {path}")
    return 0


@click.command()
@click.argument("folder", required=False)
@project_options
@click.option("--verify", is_flag=True, help="Read every file again, even if its timestamp is unchanged.")
@click.option("--deep", is_flag=True, help="Also compute vectors of the larger model.")
def index(folder: str | None, project: str, reader: str, json_output: bool, verify: bool, deep: bool) -> int:
    """Update the index of FOLDER (default: the current project).

    \b
    Examples:
      contextd index
      contextd index --verify
      contextd index ~/code/app --deep
    """
    return _index(folder or project, reader, json_output, verify=verify, deep=deep)


def _index(project: str, reader: str, json_output: bool, *, verify: bool, deep: bool) -> int:
    from contextd.app.assemble import open_session
    from contextd.surfaces.wire.answers import ReportAnswer

    session = open_session(project, reader=reader)
    warn(session.warnings)
    with progress_of(session.settings, json_output) as (files, chunks):
        report = session.index(verify=verify, deep=deep, progress=files, on_deep=chunks)
    if json_output:
        as_json(ReportAnswer.of(report))
    else:
        _summary(report, session)
    return 0 if report.written or report.unchanged else 1


def _summary(report: Any, session: Any) -> None:
    commits = f", {counted(report.others, 'commit', 'commits')} indexed" if report.others else ""
    out(
        f"{session.root().name}: {counted(report.written, 'file', 'files')} indexed "
        f"({counted(report.chunks, 'chunk', 'chunks')}, {counted(report.lines, 'line', 'lines')}), "
        f"{report.unchanged} unchanged, {report.removed} removed{commits}, in {report.seconds:.1f} s"
    )
    if not report.written and not report.unchanged:
        out("no files to index; run `contextd list-indexable --skipped` to see the reasons")
    if report.finds:
        removed = counted(report.finds, "secret was", "secrets were")
        out(f"{removed} removed; run `contextd secrets` to list them")
    if report.failed:
        table(("failed", "why"), sorted(report.failed.items()))
    warn(report.warnings[:10])
