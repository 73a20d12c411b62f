"""Read-only commands: settings, boundaries, the contents of the index."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from contextd.surfaces.cli.show import as_json, as_list, asked, counted, limited, note, out, project_options, table


def _session(project: str, reader: str) -> Any:
    from contextd.app.assemble import open_session

    return open_session(project, reader=reader)


@click.command()
@project_options
def secrets(project: str, reader: str, json_output: bool) -> int:
    """List the secrets that were removed from files and commits: path, line and rule, never the value.

    \b
    Example:
      contextd secrets
    """
    finds = asked(project, reader).secrets()
    if json_output:
        as_list([{"path": path, "line": line, "rule": rule} for path, line, rule in finds])
    else:
        table(("path", "line", "rule"), finds)
        note(f"{counted(len(finds), 'secret was', 'secrets were')} removed")
    return 0


# In JSON only: contents are distinct texts, position and generation count writes of the index.
_INTERNAL = ("languages", "embedded_contents", "contents", "position", "generation")


@click.command()
@project_options
def stats(project: str, reader: str, json_output: bool) -> int:
    """Show statistics of the index: documents, chunks, vectors and languages.

    \b
    Example:
      contextd stats --json
    """
    session = asked(project, reader)
    summary = session.summary()
    if json_output:
        as_json(summary)
    else:
        shown = {name: value for name, value in summary.items() if name not in _INTERNAL}
        for space, count in summary["embedded_contents"].items():
            whole = max(1, summary["contents"])
            shown[f"vectors {space}"] = f"{count} of {whole} distinct texts ({100 * count // whole} %)"
        table(("what", "value"), list(shown.items()))
        table(("language", "files"), [(name or "(other)", count) for name, count in summary["languages"].items()])
    return 0 if summary["documents"] else 1


@click.command("validate-config")
@project_options
def validate_config(project: str, reader: str, json_output: bool) -> int:
    """Check the settings, the watch paths and the patterns, and count the files they include.

    \b
    Example:
      contextd validate-config
    """
    from contextd.app.assemble import settings_of
    from contextd.app.checks import validate

    loaded = settings_of(project)
    session = _session(project, reader)
    result = validate(session.root(), loaded.settings, session.files())
    problems = [*loaded.warnings, *result.warnings, *session.source_warnings()]
    if json_output:
        as_json({"valid": True, "files": result.files, "excluded": result.excluded, "warnings": problems})
        return 0
    out("ok: configuration valid")
    out(f"ok: {result.files:,} indexable {'file' if result.files == 1 else 'files'}")
    for reason, count in sorted(result.excluded.items(), key=lambda item: -item[1]):
        out(f"ok: {count:,} {'file' if count == 1 else 'files'} left out: {reason}")
    for problem in problems:
        out(f"warning: {problem}")
    return 0


@click.command("list-indexable")
@project_options
@limited("files (default: all)")
@click.option("--skipped", is_flag=True, help="List the excluded files, with the reason.")
def list_indexable(project: str, reader: str, json_output: bool, limit: int | None, skipped: bool) -> int:
    """List the files that contextd indexes, or the excluded files with the reason.

    \b
    Examples:
      contextd list-indexable --limit 100
      contextd list-indexable --skipped
    """
    from contextd.ports.world import Skip

    rows = []
    for state in _session(project, reader).files():
        if isinstance(state, Skip) == skipped:
            rows.append((state.uri, state.reason) if isinstance(state, Skip) else (state.uri, state.language))
        if limit and len(rows) >= limit:
            break
    if json_output:
        as_list([{"path": path, "reason" if skipped else "language": value} for path, value in rows])
    else:
        table(("path", "reason" if skipped else "language"), rows, headed=False)
    return 0 if rows else 1


@click.command("check-file")
@click.argument("path")
@project_options
def check_file(path: str, project: str, reader: str, json_output: bool) -> int:
    """Show whether PATH belongs to the project and is indexed, with the reason.

    \b
    Example:
      contextd check-file src/app.py
    """
    from contextd.app.checks import indexed, verdict

    session = _session(project, reader)
    included, reason = verdict(session.known(), path)
    if json_output:
        as_json({"path": path, "belongs": included, "reason": reason, "indexed": indexed(session.known(), path)})
    else:
        state = "" if not included else ", indexed" if indexed(session.known(), path) else ", not indexed yet"
        out(f"{path}: {'belongs to the project' if included else 'left out'} ({reason}){state}")
    return 0 if included else 1


@click.command("project-stats")
@project_options
def project_stats(project: str, reader: str, json_output: bool) -> int:
    """Count the included and excluded files of the project.

    \b
    Example:
      contextd project-stats
    """
    from contextd.ports.world import Skip

    languages: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    size = 0
    for state in _session(project, reader).files():
        if isinstance(state, Skip):
            reasons[state.reason] += 1
            continue
        languages[state.language or "(other)"] += 1
        folders[state.uri.split("/")[0] + "/" if "/" in state.uri else "./"] += 1
        size += state.stamp.size
    total = sum(languages.values())
    if json_output:
        as_json(
            {
                "files": total,
                "bytes": size,
                "languages": dict(languages),
                "folders": dict(folders),
                "excluded": dict(reasons),
            }
        )
        return 0 if total else 1
    out(f"{total:,} {'file' if total == 1 else 'files'}, {size / 1e6:.1f} MB")
    table(("folder", "files", "share"), [(f, n, f"{100 * n // total} %") for f, n in folders.most_common()])
    table(("language", "files"), languages.most_common())
    table(("left out", "files"), reasons.most_common())
    return 0 if total else 1
