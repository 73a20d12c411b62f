"""The command `mcp`, which serves a project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextd.surfaces.cli.show import project_option, reader_option

if TYPE_CHECKING:
    from contextd.app.session import Session


@click.command()
@project_option
@reader_option
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

    _check(project)

    def open_session() -> Session:
        from contextd.app import assemble

        return assemble.open_session(project, reader=reader)

    Server(open_session, watch=not no_watch).run()
    return 0


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
