"""Commands that maintain an index: watch, rebuild, refresh, and jobs."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from contextd.errors import ContextdError
from contextd.surfaces.cli.show import (
    as_json,
    as_list,
    asked,
    confirmed,
    counted,
    here,
    limited,
    note,
    opened,
    out,
    progress_of,
    project_options,
    table,
    warn,
)

_BYTES_PER_CHUNK = 900


@click.command()
@project_options
def watch(project: str, reader: str, json_output: bool) -> int:
    """Update the index until stopped. A saved file is searchable within 2 seconds.

    Vectors of the larger model follow in idle time.

    \b
    Example:
      contextd watch
    """
    from contextd.settings import config

    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    def say(message: str) -> None:
        at = time.strftime("%H:%M:%S")
        as_json({"at": at, "message": message}) if json_output else note(f"{at} {message}")
        sys.stdout.flush()

    signal.signal(signal.SIGTERM, stop)
    session = opened(project, reader)
    root = session.root()
    settings = config.stamp(root)
    say(f"watching {root}")
    while not stopped:
        session.watch(lambda settings=settings: stopped or config.stamp(root) != settings, say)
        if not stopped:
            session.close()
            settings = config.stamp(root)  # before the settings are read, so that later changes are seen
            session = _with_new_settings(session, root, reader, say)
    say("stopped")
    return 0


def _with_new_settings(session: Any, root: Path, reader: str, say: Callable[[str], None]) -> Any:
    """Return a session with the current settings; the previous session while they are invalid."""
    try:
        session = opened(str(root), reader)
        say("the settings have changed and were reloaded")
    except ContextdError as error:
        say(f"the changed settings are invalid, the previous settings stay in use: {error}")
    return session


@click.command()
@click.argument("paths", nargs=-1)
@project_options
@click.option("--dry-run", is_flag=True, help="Show the plan without changing the index.")
@click.option("--force", is_flag=True, help="Do not ask for confirmation.")
@click.option("--no-vacuum", is_flag=True, help="Do not compact the database.")
@click.option("--keep-errors", is_flag=True, help="Keep the list of failed files.")
def rebuild(
    paths: tuple[str, ...], project: str, reader: str, json_output: bool, dry_run: bool, force: bool, no_vacuum: bool,
    keep_errors: bool,
) -> int:  # fmt: skip
    """Rebuild the index of PATHS (default: all files). Queries use the old index until the rebuild is complete.

    \b
    Examples:
      contextd rebuild --dry-run
      contextd rebuild src/api --force
    """
    session = opened(project, reader)
    paths = tuple(here(path, project) for path in paths)
    estimate = _estimate(session.estimate(paths))
    if dry_run:
        _show_estimate(estimate, json_output)
        return 0
    files = counted(estimate["files"], "file", "files")
    if not force and not confirmed(f"Read {files} again (about {estimate['seconds']} s)?", "--force"):
        return 1
    with progress_of(session.settings, json_output) as (files, _):
        report = session.rebuild(paths, vacuum=not no_vacuum, keep_errors=keep_errors, progress=files)
    _show_report(report, json_output)
    return 0


def _estimate(found: dict[str, tuple[int, int]]) -> dict[str, Any]:
    from contextd.app.index_service import estimated_seconds

    size = sum(bytes_ for _, bytes_ in found.values())
    languages = {
        name or "(other)": {"files": files, "bytes": bytes_, "chunks": -(-bytes_ // _BYTES_PER_CHUNK)}
        for name, (files, bytes_) in sorted(found.items(), key=lambda item: -item[1][1])
    }
    return {
        "files": sum(files for files, _ in found.values()),
        "bytes": size,
        "seconds": estimated_seconds(size),
        "languages": languages,
    }


def _show_estimate(estimate: dict[str, Any], json_output: bool) -> None:
    if json_output:
        as_json(estimate)
        return
    rows = [(name, one["files"], f"{one['bytes'] / 1e6:.2f}", one["chunks"]) for name, one in estimate["languages"].items()]
    table(("language", "files", "MB", "chunks"), rows)
    files = counted(estimate["files"], "file", "files")
    out(f"would read {files}, about {estimate['seconds']} s; nothing was changed")


def _show_report(report: Any, json_output: bool) -> None:
    if json_output:
        from contextd.surfaces.wire.answers import ReportAnswer

        as_json(ReportAnswer.of(report))
        return
    files = counted(report.written, "file", "files")
    out(f"{files} indexed, {report.unchanged} unchanged, {report.removed} removed, in {report.seconds:.1f} s")
    warn(report.warnings[:10])
    for uri, error in sorted(report.failed.items()):
        out(f"failed: {uri}: {error}")


@click.command()
@click.argument("paths", nargs=-1, required=True)
@project_options
@click.option("--force", is_flag=True, help="Index the files again even if their content is unchanged.")
def refresh(paths: tuple[str, ...], project: str, reader: str, json_output: bool, force: bool) -> int:
    """Read PATHS again and update the index, even if their timestamps are unchanged.

    \b
    Example:
      contextd refresh src/api docs/guide.md
    """
    session = opened(project, reader)
    _show_report(session.refresh([here(path, project) for path in paths], force=force), json_output)
    return 0


@click.command()
@project_options
def retry(project: str, reader: str, json_output: bool) -> int:
    """Index the failed files again.

    \b
    Example:
      contextd retry
    """
    report = opened(project, reader).retry()
    _show_report(report, json_output)
    return 1 if report.failed else 0


@click.command()
@project_options
def errors(project: str, reader: str, json_output: bool) -> int:
    """List the files that could not be indexed, with the reason.

    \b
    Example:
      contextd errors
    """
    failures = asked(project, reader).failures()
    if json_output:
        as_list([{"path": uri, "error": error, "retries": retries} for uri, error, retries in failures])
    else:
        table(("path", "error", "retries"), failures)
        note(
            f"{counted(len(failures), 'file', 'files')} failed"
            + ("; run `contextd retry` to index them again" if failures else "")
        )
    return 0


@click.group(invoke_without_command=True)
@project_options
@limited("jobs", 20)
@click.pass_context
def jobs(ctx: click.Context, project: str, reader: str, json_output: bool, limit: int) -> None:
    """List the latest index jobs with their state and progress.

    \b
    Examples:
      contextd jobs
      contextd jobs show 3f2a
      contextd jobs cancel 3f2a
    """
    if ctx.invoked_subcommand is not None:
        return
    every = asked(project, reader).jobs.recent(-1)
    found = every[:limit]
    if json_output:
        as_list([_payload(job) for job in found], len(every))
    else:
        table(
            ("job", "kind", "state", "done", "left", "who", "message"),
            [(j.id[:8], j.kind, j.state, _share(j), _left(j), j.who, j.reason or j.message) for j in found],
        )


@jobs.command("show")
@click.argument("job")
@project_options
def show_job(job: str, project: str, reader: str, json_output: bool) -> int:
    """Show JOB and its log."""
    known = asked(project, reader).jobs
    found = known.get(job)
    lines = known.lines(found.id)
    if json_output:
        from contextd.surfaces.wire.answers import time_of

        as_json(_payload(found) | {"log": [{"at": time_of(at), "line": line} for at, line in lines]})
        return 0
    out(f"{found.id} {found.kind} {found.state} {_share(found)} asked for by {found.who}: {found.reason or found.message}")
    for at, line in lines:
        out(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at / 1e6))} {line}")
    return 0


@jobs.command("cancel")
@click.argument("job")
@project_options
def cancel_job(job: str, project: str, reader: str, json_output: bool) -> int:
    """Cancel JOB. A waiting job ends at once. A running job ends after the current file."""
    found = asked(project, reader).jobs.cancel(job)
    as_json(_payload(found)) if json_output else out(f"{found.id[:8]} is {found.state}")
    return 0


def _payload(job: Any) -> dict[str, Any]:
    from contextd.surfaces.wire.answers import time_of

    times = {name: time_of(getattr(job, name)) for name in ("created", "started", "ended")}
    return {name: getattr(job, name) for name in job.__slots__} | times


def _share(job: Any) -> str:
    return f"{job.done}/{job.total}" if job.total else ""


def _left(job: Any) -> str:
    """Return the estimated time left."""
    if job.state != "in_progress" or not job.done or not job.started:
        return ""
    elapsed = time.time() - job.started / 1e6
    return f"{elapsed / job.done * (job.total - job.done):.0f} s"
