"""The command that exports an index as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from contextd.errors import InvalidInput
from contextd.settings.permissions import make_folder, open_file
from contextd.surfaces.cli.show import as_json, asked, counted, out, project_options


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--vectors", is_flag=True, help="Also export the vectors.")
@project_options
def export(folder: str, vectors: bool, project: str, reader: str, json_output: bool) -> int:
    """Export the index of this project to FOLDER: manifest.json, bm25.jsonl and, with --vectors, vectors.jsonl.

    Each line of bm25.jsonl is a chunk with its text, its normalized terms and its location. The index contains no secrets.
    Use `contextd memories export` for memories and `contextd chats export` for chats.

    \b
    Example:
      contextd export ~/index-of-app --vectors
    """
    from contextd.app import index_export as exporting

    if not folder.strip():
        raise InvalidInput("the path is empty; give the directory to write to")
    session, target = asked(project, reader), Path(folder)
    manifest = exporting.manifest(session)
    try:
        make_folder(target)
        counts = {"chunks": _write(target / "bm25.jsonl", exporting.corpus(session))}
        (target / "vectors.jsonl").unlink(missing_ok=True)  # of an earlier export
        if vectors:
            counts["vectors"] = _write(target / "vectors.jsonl", exporting.vectors(session))
        _write(target / "manifest.json", [manifest | counts])
    except OSError as error:
        raise InvalidInput(f"cannot write to {target}: {error.strerror or error}") from None
    summary = ", ".join(counted(count, name.removesuffix("s"), name) for name, count in counts.items())
    as_json({"folder": str(target), **counts, "manifest": manifest}) if json_output else out(f"{summary} in {target}")
    return 0


def _write(path: Path, entries: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON lines. Returns their number."""
    count = 0
    with open_file(path, "w") as file:
        for entry in entries:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            count += 1
    return count
