"""Commands for import, and for imported chats and notes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from contextd.errors import InvalidInput
from contextd.settings.permissions import open_file
from contextd.surfaces.cli.show import (
    as_json,
    as_list,
    counted,
    every_few_seconds,
    limited,
    note,
    opened,
    out,
    personal_options,
    table,
    warn,
)

_options = personal_options("Project for --in-project.")


@click.command("import")
@click.argument("path", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--from",
    "kind",
    default=None,
    metavar="KIND",
    help="Format of PATH (default: detected): chatgpt, claude, claude-code, codex, contextd, obsidian, jsonl or memories.",
)
@click.option("--dry-run", is_flag=True, help="Show the contents of PATH without importing them.")
@click.option("--in-project", is_flag=True, help="Import into the project instead of the personal chats.")
@click.option(
    "--deep", is_flag=True, help="Also compute vectors of the larger model now. `contextd chats deepen` computes them later."
)
@_options
def import_(
    path: str,
    kind: str | None,
    dry_run: bool,
    in_project: bool,
    deep: bool,
    project: str | None,
    reader: str,
    json_output: bool,
) -> int:
    """Import conversations, notes or memories from PATH, a file or a directory. A repeated import adds only new entries.

    Supported formats: exports of ChatGPT and Claude (zip or conversations.json), sessions of Claude Code and Codex, Obsidian
    vaults, JSON lines with one message per line, files of `contextd chats export`, and all formats of `contextd memories
    import`.

    \b
    Examples:
      contextd import chatgpt-export.zip --dry-run
      contextd import ~/.claude/projects
      contextd import ~/.codex/sessions
      contextd import ~/Notes --from obsidian
      contextd import talk.jsonl
    """
    from contextd.app.assemble import export_kind, read_export

    kind = kind or ("memories" if path == "-" else export_kind(path))
    if kind == "memories":
        from contextd.surfaces.cli.memory_files import take_memories

        return take_memories(path, dry_run, project, reader, json_output)
    session = opened(project or ("." if in_project else None), reader)
    chats = session.chats(in_project=in_project)
    report = chats.take(read_export(path, kind), dry_run=dry_run, progress=_progress())
    for problem in report.unread[:10]:
        note(f"warning: {problem.place}: {problem.reason}")
    if len(report.unread) > 10:
        note(f"warning: and {len(report.unread) - 10} more that could not be read")
    warn(report.warnings)
    deepened = chats.deepen(_embedded()) if deep and not dry_run else 0
    if json_output:
        as_json(_payload(report, kind) | {"dry_run": dry_run, "embedded_deeply": deepened})
    else:
        out(_summary(report, kind, dry_run))
    if report.written and not dry_run and session.settings.llm.proposals:
        note("`contextd proposals find` proposes memories from what you said in them")
    if any(problem.stopped for problem in report.unread):
        return InvalidInput.exit_code
    return 0 if report.conversations or report.notes or report.erased or kind == "contextd" else 1


@click.group(invoke_without_command=True)
@_options
@limited("conversations", 50)
@click.option("--in-project", is_flag=True, help="Use the chats of the project instead of the personal chats.")
@click.pass_context
def chats(ctx: click.Context, project: str | None, reader: str, json_output: bool, limit: int, in_project: bool) -> None:
    """List imported conversations and notes, latest first.

    \b
    Examples:
      contextd chats
      contextd chats forget chat:chatgpt/68f0c1
      contextd chats export chats.jsonl
      contextd chats deepen
    """
    if ctx.invoked_subcommand is not None:
        return
    found = opened(project or ("." if in_project else None), reader).chats(in_project=in_project).all()
    if json_output:
        rows = [{"uri": one.uri, "title": one.title, "at": _day(one.at), "pieces": one.messages} for one in found[:limit]]
        as_list(rows, len(found))
        return
    table(("chat", "day", "count", "title"), [(one.uri, _day(one.at), one.messages, one.title) for one in found[:limit]])
    note(f"{len(found)} in all" + ("" if found else "; run `contextd import` to add some"))


@chats.command("forget")
@click.argument("chat")
@click.option("--in-project", is_flag=True, help="Use the chats of the project instead of the personal chats.")
@_options
def forget(chat: str, in_project: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Delete CHAT permanently (a whole conversation, or one chat session of it). A later import does not restore CHAT."""
    count, state = opened(project or ("." if in_project else None), reader).chats(in_project=in_project).forget(chat)
    as_json({"forgotten": count, "state": state}) if json_output else out(f"{count} forgotten: {state}")
    return 0


@chats.command("export")
@click.argument("file", type=click.Path(dir_okay=False, writable=True), default="-")
@click.option("--in-project", is_flag=True, help="Use the chats of the project instead of the personal chats.")
@_options
def export(file: str, in_project: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Export your imported chats and notes to FILE (default: standard output). `contextd import` reads FILE on another device.

    FILE also lists the chats that you deleted, as keyed hashes without their content. Importing FILE on another device deletes
    those chats on that device, too.

    \b
    Examples:
      contextd chats export chats.jsonl
      contextd import chats.jsonl
    """
    lines = opened(project or ("." if in_project else None), reader).chats(in_project=in_project).exported()
    if file == "-":
        for line in lines:
            click.echo(json.dumps(line))
        return 0
    count = 0
    try:
        with open_file(Path(file), "w") as stream:
            for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += ("note" in line or "sitting" in line) and "more" not in line
    except OSError as error:
        raise click.UsageError(f"cannot write {file}: {error.strerror}") from None
    as_json({"sittings_and_notes": count}) if json_output else out(
        f"{counted(count, 'chat session or note', 'chat sessions or notes')} written to {file}"
    )
    return 0


@chats.command("deepen")
@click.option("--in-project", is_flag=True, help="Use the chats of the project instead of the personal chats.")
@_options
def deepen(in_project: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Compute vectors of the larger model for imported chats and notes.

    These vectors also find answers that use different words than the question.
    """
    done = opened(project or ("." if in_project else None), reader).chats(in_project=in_project).deepen(_embedded())
    as_json({"embedded_deeply": done}) if json_output else out(f"vectors of {counted(done, 'chunk', 'chunks')} computed")
    return 0


def _progress() -> Callable[[Any], None]:
    return every_few_seconds(lambda report: f"{_read(report)} read")


def _embedded() -> Callable[[Any], None]:
    return every_few_seconds(lambda done: f"vectors of {counted(done, 'chunk', 'chunks')} computed")


def _payload(report: Any, kind: str) -> dict[str, Any]:
    counts = ("conversations", "notes", "messages", "written", "unchanged", "forgotten", "erased", "secrets")
    problems = [{"place": one.place, "reason": one.reason, "stopped": one.stopped} for one in report.unread]
    return {"kind": kind, **{name: getattr(report, name) for name in counts}, "problems": problems, "warnings": report.warnings}


def _summary(report: Any, kind: str, dry_run: bool) -> str:
    done = "would be written" if dry_run else "written"
    parts = [
        f"{kind}: {_read(report)} read",
        f"{counted(report.written, 'chat session or note', 'chat sessions or notes')} {done}",
        f"{report.unchanged} unchanged",
    ]
    parts += [counted(report.forgotten, "stays forgotten", "stay forgotten")] if report.forgotten else []
    parts += [f"{report.erased} erased because of forgotten chats elsewhere"] if report.erased else []
    parts += [f"{counted(report.secrets, 'secret', 'secrets')} left out"] if report.secrets else []
    return ", ".join(parts)


def _read(report: Any) -> str:
    """Return the numbers of conversations, messages and notes that were read."""
    messages = counted(report.messages, "message", "messages")
    parts = (
        [f"{counted(report.conversations, 'conversation', 'conversations')} with {messages}"] if report.conversations else []
    )
    parts += [counted(report.notes, "note", "notes")] if report.notes else []
    return " and ".join(parts) or "nothing"


def _day(microseconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(microseconds / 1e6)) if microseconds else ""
