"""The command `mcp`, which serves a project."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from contextd.app.session import Session

_LONGEST = 3700.0  # seconds of a call to the service: a rebuild may be waited for


@click.command()
@click.option("-p", "--project", default=".", metavar="PATH", help="Project directory (default: the current project).")
@click.option("--as", "reader", default="owner", metavar="NAME", help="Run the server as this reader (default: owner).")
@click.option("--no-watch", is_flag=True, help="Do not index or watch the project. Use the existing index.")
def mcp(project: str, reader: str, no_watch: bool) -> int:
    """Serve this project to an agent over MCP on standard input and output.

    A project without an index is indexed first. A child process watches the files and ends with the server.

    \b
    Examples:
      claude mcp add contextd -- contextd mcp --project /path/to/project
      codex mcp add contextd -- contextd mcp --project /path/to/project
    """
    from contextd.surfaces.mcp.server import Server

    def open_session() -> Session:
        from contextd.app import assemble

        return assemble.open_session(project, reader=reader)

    Server(open_session, not no_watch, _tools(), remote=None if no_watch else _remote(project, reader)).run()
    return 0


def _tools() -> tuple[str, ...]:
    """Return the setting `mcp.tools`. It is read here, so that a mistake in it is told at once."""
    from contextd.settings import config
    from contextd.surfaces.mcp.tools import chosen

    if not (config.home() / "config.toml").exists() and not any(name.startswith("CONTEXTD_MCP__") for name in os.environ):
        return ("default",)
    names = config.load(config.home() / "config.toml", None, os.environ).settings.mcp.tools
    chosen(names)
    return names


def _remote(project: str, reader: str) -> Any:
    """Return a function that asks the running service; None if there is none."""
    from contextd.surfaces.cli.hybrid import client
    from contextd.surfaces.mcp.forward import Forwarder

    found = client(project, reader)
    if found is None:
        return None
    old = found.connection
    headers = {**old.headers, "X-Contextd-Private": "0", "X-Contextd-Project": found.project or ""}
    return Forwarder(replace(old, headers=headers, timeout=_LONGEST, retries=0, _idle=[])).answer
