"""The command `status`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import click

from contextd.app.project import NOT_INDEXED
from contextd.surfaces.cli.show import as_json, asked, counted, out, project_options


@click.command()
@project_options
def status(project: str, reader: str, json_output: bool) -> int:
    """Show the state of the index, the watcher, the models and your memories.

    \b
    Example:
      contextd status
    """
    from contextd.app.serving import running
    from contextd.models import weights
    from contextd.settings.config import home

    session = asked(project, reader)
    found = session.status()
    models = {one.name: weights.present(home(), one) for one in weights.MODELS.values()}
    facts, service = len(session.memories.personal_facts()), running(home())
    if json_output:
        from contextd.surfaces.wire.answers import time_of

        index = None if found is None else asdict(found) | {
            "indexed": time_of(found.indexed), "stale": bool(found.changed or found.gone)
        }  # fmt: skip
        serving = None if service is None else asdict(service) | {"started": time_of(int(service.started * 1_000_000))}
        as_json({"index": index, "models": models, "personal_facts": facts, "service": serving, "data": str(home())})
        return 0
    rows = [("project", NOT_INDEXED)] if found is None else _index_rows(found)
    rows.append(("models", ", ".join(f"{name} ({'installed' if here else 'missing'})" for name, here in models.items())))
    where = f"{service.url}, process {service.pid}" if service else "not running; start it with `contextd serve --background`"
    rows += [("memories", f"{facts} personal"), ("service", where), ("data", str(home()))]
    for name, value in rows:
        out(f"{name:<9} {value}")
    return 0


def _index_rows(found: Any) -> list[tuple[str, str]]:
    behind = [f"{found.changed} new or changed"] if found.changed else []
    behind += [f"{found.gone} gone"] if found.gone else []
    state = f"{', '.join(behind)}. Run `contextd index`." if behind else "up to date"
    failed = f", {found.failed} failed (`contextd errors`)" if found.failed else ""
    files, commits = counted(found.files, "file", "files"), counted(found.commits, "commit", "commits")
    return [
        ("project", f"{found.name}, {found.root}"),
        ("indexed", ago(found.indexed)),
        ("size", f"{files}, {commits}, {counted(found.chunks, 'chunk', 'chunks')} in all{failed}"),
        ("files", state),
        ("job", found.job or "none"),
        ("writer", found.writer or "none; run `contextd watch` to keep the index up to date"),
        ("deep", _deep(found)),
    ]


def _deep(found: Any) -> str:
    """Return how many chunks have vectors of the larger model."""
    share = f"{found.deep} of {found.chunks} chunks have deep vectors"
    if not found.deep:
        return f"{share}; run `contextd index --deep`"
    return f"{share} ({100 * found.deep // found.chunks} %)"


def ago(microseconds: int | None) -> str:
    """Format a time, with how long ago it was."""
    if microseconds is None:
        return "not known"
    seconds = max(0.0, time.time() - microseconds / 1e6)
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{day(microseconds)} ({seconds // unit:.0f} {name} ago)"
    return f"{day(microseconds)} ({counted(int(seconds), 'second', 'seconds')} ago)"


def day(microseconds: int) -> str:
    """Format a time for people."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds / 1e6))
