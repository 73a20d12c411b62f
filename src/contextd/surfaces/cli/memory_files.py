"""The commands `memories export` and `memories import`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from contextd.settings.permissions import open_file
from contextd.surfaces.cli.show import as_json, asked, block, counted, note, out, personal_options, terminal


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, writable=True), default="-")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["json", "jsonl", "markdown", "gems"]),
    default=None,
    help="Output format (default: from the file name, otherwise json).",
)
@click.option("--vectors", is_flag=True, help="Include the vectors. An import then skips the embedding.")
@personal_options("Also export the memories of this project.")
def export(file: str, shape: str | None, vectors: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Export your memories with their history, links and tombstones to FILE (default: standard output).

    \b
    Examples:
      contextd memories export memories.json
      contextd memories export memories.jsonl --vectors
      contextd memories export --format markdown | less
      contextd memories export --format gems backup.json
    """
    import json

    from contextd.app import portability

    payload = portability.exported(asked(project, reader), vectors=vectors)
    shape = shape or {".jsonl": "jsonl", ".md": "markdown"}.get(Path(file).suffix, "json")
    if shape in ("json", "gems"):
        whole = portability.as_gems(payload) if shape == "gems" else payload
        text = json.dumps(whole, ensure_ascii=False, indent=None if vectors else 1)
    else:
        text = portability.as_markdown(payload) if shape == "markdown" else "\n".join(portability.as_lines(payload))
    if file == "-":
        block(text) if terminal() else click.echo(text)
        return 0
    try:
        with open_file(Path(file), "wb") as target:
            target.write(f"{text}\n".encode("utf-8", "replace"))
    except OSError as error:
        raise click.UsageError(f"cannot write {file}: {error.strerror}") from None
    every = len(payload["memories"])
    current = portability.as_gems(payload)["gems"] if shape == "gems" else portability.for_people(payload)
    written = len(current) if shape in ("gems", "markdown") else every
    if json_output:
        as_json({**payload["contextd"], "memories": written})
        return 0
    out(f"{counted(written, 'memory', 'memories')} written to {file}")
    if left := every - written:
        kinds = "private, silent or ended"
        out(f"{counted(left, f'{kinds} memory is', f'{kinds} memories are')} left out; JSON has all of them")
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Show the contents of FILE without importing them.")
@personal_options("Project for the memories in FILE that belong to a project.")
def import_(file: str, dry_run: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Import memories from FILE: an export, JSON lines, a Markdown list, or a backup (a JSON file with a list `gems`).

    If a memory was changed on two devices, the later text is kept. The other text stays in the history. Deleted memories,
    links and topics stay deleted. Memories of other authors are skipped.

    \b
    Examples:
      contextd memories import memories.json --dry-run
      contextd memories import notes.md
    """
    return take_memories(file, dry_run, project, reader, json_output)


def take_memories(file: str, dry_run: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Import memories from a file or a pipe, and print the result."""
    from contextd.app import portability

    data = portability.memory_file(file)
    name = "".join(one if one.isprintable() else "?" for one in Path(file).name)[:180]
    source = "import" if file == "-" else f"import:{name}"
    session = asked(project, reader)
    done = portability.imported(session, data, source=source, dry_run=dry_run)
    if not dry_run:
        session.memories.enrich(progress=show_progress)
    for problem in done.problems[:10]:
        note(f"warning: {problem}")
    if json_output:
        as_json({"dry_run": dry_run, **done.counts, "problems": done.problems})
    else:
        out(_summary(done.counts))
    return 0


# Counts of an import, in the order of the summary.
_RESULTS = {
    "told": ("memory would be imported", "memories would be imported"),
    "memories": ("memory would be imported", "memories would be imported"),
    "added": ("memory added", "memories added"),
    "changed": ("memory changed", "memories changed"),
    "known": ("already known", "already known"),
    "buried": ("deleted, as on the other device", "deleted, as on the other device"),
    "forgotten": ("stays forgotten", "stay forgotten"),
    "conflicts": ("conflict", "conflicts"),
}


def _summary(counts: Mapping[str, int]) -> str:
    """Return the counts of an import on one line, without zeros."""
    parts = [counted(counts[name], *words) for name, words in _RESULTS.items() if counts.get(name)]
    return ", ".join(parts) or "no memories found"


def show_progress(done: int, total: int) -> None:
    """Print progress after every 500 memories."""
    if done % 500 == 0:
        note(f"{done} of {total} memories enriched")
