"""Which files are new, changed or gone, and in which order they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contextd.ports.world import FileState, Skip
from contextd.text.languages import CODE, PROSE
from contextd.values.document import DocumentRow, Stamp

_SMALL = 64 << 10
FAILED = "failed before"


@dataclass(slots=True)
class Changes:
    """The difference between a source and the store."""

    to_read: list[FileState] = field(default_factory=list)
    unchanged: int = 0
    gone: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    empty: bool = True
    large: list[str] = field(default_factory=list)


def changes(
    seen: Iterable[FileState | Skip],
    known: Mapping[str, DocumentRow],
    failed: Mapping[str, Stamp],
    *,
    look_again: bool,
    priority: Sequence[str],
    warn_bytes: float,
    paths: Sequence[str] = (),
) -> Changes:
    """Compare by stamps alone; `look_again` reads every file. With `paths`, only files at or below them are compared.

    A file that failed is not read again until its stamp changes.
    """
    found, present, skipped = Changes(), set(), set()
    for state in seen:
        found.empty = False
        if isinstance(state, Skip):
            found.unseen += [state.uri] if state.unseen else []
            skipped.add(state.uri)
            kind = state.reason.split(" (")[0].split(":")[0]
            found.skipped[kind] = found.skipped.get(kind, 0) + 1
            continue
        present.add(state.uri)
        if state.stamp.size > warn_bytes:
            found.large.append(state.uri)
        row = known.get(state.uri)
        if row is not None and row.stamp == state.stamp and not look_again:
            found.unchanged += 1
        elif failed.get(state.uri) == state.stamp and not look_again:
            found.skipped[FAILED] = found.skipped.get(FAILED, 0) + 1
        else:
            found.to_read.append(state)
    asked = known if not paths else [uri for uri in known if uri in skipped or _below(uri, paths)]
    found.gone = [uri for uri in asked if uri not in present and not _below(uri, found.unseen)]
    found.to_read.sort(key=lambda state: _order(state, priority))
    return found


def _below(uri: str, folders: Sequence[str]) -> bool:
    return any(not folder or uri == folder or uri.startswith(folder + "/") for folder in folders)


def _order(state: FileState, priority: Sequence[str]) -> tuple[bool, bool, int, str]:
    """Named extensions first, then small files, then code, documents and the rest."""
    first = not state.uri.lower().endswith(tuple(priority)) if priority else False
    rank = 0 if state.language in CODE else 1 if state.language in PROSE else 2
    return first, state.stamp.size > _SMALL, rank, state.uri
