"""Commands that serve."""

from __future__ import annotations

import click


@click.command()
@click.option("-p", "--project", default=".", metavar="PATH", help="The project (default: the one around this folder).")
@click.option("--as", "reader", default="owner", metavar="NAME", help="Serve what this reader may see (default: owner).")
def mcp(project: str, reader: str) -> int:
    """Serve this project to an agent over MCP, on standard input and output.

    \b
    Examples:
      claude mcp add contextd -- contextd mcp -p /path/to/project
      codex mcp add contextd -- contextd mcp -p /path/to/project
    """
    from contextd.assemble import open_engine
    from contextd.mcp.server import build
    from contextd.mcp.wire import serve

    serve(build(open_engine(project, reader=reader)))
    return 0
