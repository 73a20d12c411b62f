"""The command `mcp`, which serves a project."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextd.errors import ContextdError, InvalidInput
from contextd.surfaces.cli.show import project_option, reader_option

if TYPE_CHECKING:
    from contextd.app.session import Session

_LONGEST = 3700.0  # seconds of a call to the service: a rebuild may be waited for


@click.command()
@project_option
@reader_option
@click.option("--no-watch", is_flag=True, help="Do not index or watch the project. Use the existing index.")
def mcp(project: str, reader: str, no_watch: bool) -> int:
    """Serve this project to an agent over MCP on standard input and output.

    A project without an index is indexed first. A child process watches the files and ends with the server. In the home
    directory or a system folder, it serves your facts alone.

    \b
    Examples:
      claude mcp add contextd -- contextd mcp --project /path/to/project
      codex mcp add contextd -- contextd mcp --project /path/to/project
    """
    from contextd.surfaces.mcp.protocol import FACTS_ALONE, INSTRUCTIONS
    from contextd.surfaces.mcp.server import Server

    _check(project)
    alone = project == "." and _is_refused()  # started by a program of the desktop in the home directory

    def open_session() -> Session:
        from contextd.app import assemble

        return assemble.open_session(None if alone else project, reader=reader)

    remote = None if no_watch or alone else _remote(project, reader)
    Server(open_session, not no_watch, _tools(), remote=remote, instructions=FACTS_ALONE if alone else INSTRUCTIONS).run()
    return 0


def _is_refused() -> bool:
    """Return whether the current folder must not be indexed."""
    from contextd.app.root import refusal

    try:
        return bool(refusal(Path.cwd()))
    except OSError:  # a deleted folder; told by the first call
        return False


def _tools() -> tuple[str, ...]:
    """Return the setting `mcp.tools`. It is read here, so that a mistake in it is told at once."""
    from contextd.settings import config
    from contextd.surfaces.mcp.tools import chosen

    if not (config.home() / "config.toml").exists() and not any(name.startswith("CONTEXTD_MCP__") for name in os.environ):
        return ("default",)
    try:
        names = config.load(config.home() / "config.toml", None, os.environ).settings.mcp.tools
    except InvalidInput:  # told by the first call, which tries again
        return ("default",)
    chosen(names)
    return names


def _remote(project: str, reader: str) -> Any:
    """Return a function that asks the running service; None if there is none."""
    from contextd.surfaces.cli.hybrid import client
    from contextd.surfaces.mcp.forward import Forwarder

    found = None
    with suppress(ContextdError):  # told by the first call
        found = client(project, reader)
    if found is None or not _is_indexed(found):  # a project without an index is indexed by this process
        return None
    old = found.connection
    headers = {**old.headers, "X-Contextd-Private": "0", "X-Contextd-Project": found.project or ""}
    return Forwarder(replace(old, headers=headers, timeout=_LONGEST, retries=0, _idle=[])).answer


def _is_indexed(client: Any) -> bool:
    try:
        client.summary()
    except ContextdError:
        return False
    return True


def _check(project: str) -> None:
    """Raise InvalidInput for a project that does not exist. The application is loaded only to say so: the start is fast."""
    if _is_folder(project):
        return
    from contextd.settings import config

    place = config.load(config.home() / "config.toml", None, os.environ).settings.projects.get(project, project)
    if not _is_folder(place):
        from contextd.app.assemble import project_root

        project_root(place)


def _is_folder(path: str) -> bool:
    try:
        return bool(path) and Path(path).expanduser().is_dir()
    except (OSError, RuntimeError):  # no access, or no such user
        return False
