"""The command `log`: requests that passed through the proxy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from contextd.surfaces.cli.show import as_json, as_list, block, counted, json_option, note, opened, out, reader_option, table


@click.group(invoke_without_command=True)
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Maximum number of entries.")
@reader_option
@json_option
@click.pass_context
def log(ctx: click.Context, limit: int, reader: str, json_output: bool) -> int:
    """List your requests that passed through the proxy, newest first. The exit code is 1 if there are none.

    \b
    Examples:
      contextd log
      contextd log show 3f2a
      contextd log clear
    """
    if ctx.invoked_subcommand is not None:
        return 0
    entries = opened(None, reader).home.interactions.recent(reader, limit)
    if json_output:
        as_list(entries)
        return 0
    headings = ("id", "time", "status", "model", "upstream", "pieces", "tokens", "cache", "enriching", "in all")
    rows = [
        (
            one.id[:8], _time(one.at), one.status, one.model, one.upstream, len(one.pieces), one.tokens, one.cache,
            f"{one.enrich_ms:.0f} ms", f"{one.total_ms:.0f} ms" if one.complete else "incomplete",
        )
        for one in entries
    ]  # fmt: skip
    table(headings, rows)
    if not rows:
        note("No requests yet. Programs send them through the proxy; `contextd proxy list` shows where they go.")
    return 0 if rows else 1


@log.command("show")
@click.argument("interaction", metavar="ID")
@reader_option
@json_option
def show_interaction(interaction: str, reader: str, json_output: bool) -> int:
    """Show the request ID: the pieces that were added, and the block if all of them are unchanged.

    \b
    Example:
      contextd log show 3f2a
    """
    from contextd.app.interactions import found, shown

    one = found(opened(None, reader).home.interactions, reader, interaction)
    again = shown(opened(one.project or None, reader), one)
    if json_output:
        as_json({"interaction": one, "states": again.states, "block": again.block})
        return 0
    out(f"{one.id}  {_time(one.at)}  {one.status}  {one.model}  {one.upstream}{' (remote)' if one.remote else ''}")
    if one.missing:
        out(f"missing: {', '.join(one.missing)}")
    rows = [
        (piece.uri, f"{piece.start_line}-{piece.end_line}", piece.label, piece.score, piece.digest[:12], state)
        for piece, state in zip(one.pieces, again.states, strict=True)
    ]
    table(("document", "lines", "label", "score", "digest", "state"), rows)
    if one.question:
        out()
        out(f"question: {one.question}")
    if again.block:
        out()
        block(again.block)
    elif one.tokens:
        note("the block cannot be shown: a piece of it or the profile has changed, or was shortened to fit")
    return 0


@log.command("clear")
@reader_option
@json_option
def clear_log(reader: str, json_output: bool) -> int:
    """Delete all your entries.

    \b
    Example:
      contextd log clear
    """
    count = opened(None, reader).home.interactions.clear(reader)
    as_json({"deleted": count}) if json_output else out(f"deleted {counted(count, 'entry', 'entries')}")
    return 0


def _time(microseconds: int) -> Any:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
