"""Check a project's boundaries: what would be indexed, what looks wrong, and the verdict on a single file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from contextd.app.assisting import faults_of
from contextd.app.project import Project
from contextd.errors import InvalidInput
from contextd.ports.world import FileState, Skip
from contextd.settings.defaults import Settings
from contextd.settings.limits import checked_path

_MANY = 100_000


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check."""

    files: int
    excluded: dict[str, int]
    warnings: list[str]


def validate(root: Path, settings: Settings, files: Iterable[FileState | Skip]) -> Result:
    """Count included and excluded files, and warn of settings that are probably mistakes."""
    reasons: Counter[str] = Counter()
    count = 0
    for state in files:
        if isinstance(state, Skip):
            reasons[state.reason.split(" (")[0]] += 1
        else:
            count += 1
    warnings = [*_overlaps(settings.watcher.watch_paths), *faults_of(settings)]
    if not settings.watcher.ignore_patterns:
        warnings.append("ignore_patterns is empty: build output and dependencies are indexed too")
    if count > _MANY:
        warnings.append(f"the project has {count:,} files; limit watch_paths or add ignore_patterns")
    if not count:
        warnings.append(f"no files to index in {root}")
    return Result(count, dict(reasons), warnings)


def _overlaps(paths: tuple[str, ...]) -> Iterable[str]:
    pure = [PurePosixPath(path) for path in paths if path != "auto"]
    for one in pure:
        for two in pure:
            if one != two and two.is_relative_to(one):
                yield f"watch path {str(two)!r} lies inside {str(one)!r}; the outer one is enough"


def _absolute(project: Project, path: str) -> Path:
    """Resolve a caller's path: relative to the current directory, or to the project's root."""
    if not path:
        raise InvalidInput("the path is empty; give a file")
    given = checked_path(path)
    absolute = (given if given.is_absolute() else Path.cwd() / given).parent.resolve() / given.name
    return absolute if absolute.is_relative_to(project.root) else (project.root / given).parent.resolve() / given.name


def indexed(project: Project, path: str) -> bool:
    """Return whether a file is in the index now."""
    absolute = _absolute(project, path)
    if not absolute.is_relative_to(project.root):
        return False
    return absolute.relative_to(project.root).as_posix() in project.store.documents(project.source.id)


def reason_left_out(project: Project, path: str) -> str:
    """Return why an existing file or folder below the root is left out; empty if it is not."""
    source = project.source
    if (project.root / path).is_dir():
        return "" if source.is_folder(path) else "ignored directory"
    state = source.judge(path) if source.present(path) else None
    read = source.read(state.uri) if isinstance(state, FileState) else state
    return read.reason if isinstance(read, Skip) else ""


def verdict(project: Project, path: str) -> tuple[bool, str]:
    """Return whether a file belongs to the project, and the reason."""
    absolute = _absolute(project, path)
    if not absolute.is_relative_to(project.root):
        return False, "outside the project"
    if not absolute.exists() and not absolute.is_symlink():
        return False, "there is no such file"
    relative = absolute.relative_to(project.root).as_posix()
    state = project.source.judge(relative)
    if isinstance(state, Skip):
        return False, state.reason
    read = project.source.read(state.uri)
    return (False, read.reason) if isinstance(read, Skip) else (True, state.language or "text")
