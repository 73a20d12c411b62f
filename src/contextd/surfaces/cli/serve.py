"""The command `mcp`, which serves a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from contextd.app.session import Session


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

    Server(open_session, watch=not no_watch).run()
    return 0
