"""Which files belong to a project, by its settings."""

from __future__ import annotations

from pathlib import Path

from contextd.errors import InvalidInput
from contextd.settings.defaults import Settings
from contextd.settings.limits import checked_path
from contextd.sources.files import Boundaries


def boundaries(root: Path, settings: Settings) -> Boundaries:
    """Return the boundaries of a project from its settings."""
    watcher, indexing = settings.watcher, settings.indexing
    return Boundaries(
        watch_paths(root, watcher.watch_paths),
        watcher.ignore_patterns,
        watcher.use_gitignore,
        watcher.use_contextignore,
        watcher.use_dockerignore,
        indexing.allowed_extensions,
        indexing.blocked_extensions,
        int(indexing.max_file_size_mb * (1 << 20)),
        indexing.size_exceptions,
        indexing.follow_symlinks,
        indexing.binary_threshold,
    )


def watch_paths(root: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths below the root; empty for all of it. Raises InvalidInput for a path outside or missing."""
    if not paths or paths == ("auto",):
        return ()
    found = []
    for path in paths:
        target = (root / checked_path(path)).resolve()
        if not target.is_relative_to(root):
            raise InvalidInput(f"watch path {path!r} is outside the project {root}; index it as a separate project")
        if not target.exists():
            raise InvalidInput(f"watch path {path!r} does not exist below {root}")
        found.append(target.relative_to(root).as_posix())
    return () if "." in found else tuple(found)
