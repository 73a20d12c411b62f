"""The root of a project, and folders that are never one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from contextd.errors import InvalidInput, NotFound

_MARKERS = (
    "package.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Cargo.toml",
    "pyproject.toml",
    "setup.py",
    "go.mod",
)
_READABLE = ("", ".md", ".rst", ".txt", ".adoc", ".org")  # endings of a README
_SYSTEM = ("/", "/etc", "/proc", "/sys", "/usr", "/var", "/dev", "/bin", "/sbin", "/lib", "/boot", "/root", "/home",
           "/System", "/Library", "C:\\", "C:\\Windows")  # fmt: skip


_ELSEWHERE = "run this inside a project, or use --project PATH"


def find_root(start: Path) -> Path:
    """Return the project root of a path: by git, by a package file, by typical folders, or the path itself.

    The folder for temporary files of all users (anybody may write to it, its sticky bit is set) is no root of what is below.
    """
    here = start.resolve()
    here = here if here.is_dir() else here.parent
    lineage = (here, *(folder for folder in here.parents if not _is_for_everybody(folder)))
    for is_root in (_has_git, _has_marker, _looks_like_a_project):
        for folder in lineage:
            if is_root(folder) and not refusal(folder):
                return folder
    return here


def _has_git(folder: Path) -> bool:
    return (folder / ".git").exists()


def _has_marker(folder: Path) -> bool:
    return any((folder / marker).is_file() for marker in _MARKERS)


def _looks_like_a_project(folder: Path) -> bool:
    return ((folder / "src").is_dir() and (folder / "tests").is_dir()) or any(
        (folder / f"README{ending}").is_file() for ending in _READABLE
    )


def _is_for_everybody(folder: Path) -> bool:
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IWOTH and mode & stat.S_ISVTX)


def refusal(folder: Path) -> str:
    """Return why a folder must not be indexed; empty if it may."""
    resolved, own = folder.resolve(), Path.home().resolve()
    if resolved == own:
        return f"{resolved} is your home directory; {_ELSEWHERE}"
    if str(resolved) in _SYSTEM or any(resolved.is_relative_to(path) for path in ("/etc", "/proc", "/sys", "/dev")):
        return f"{resolved} is a system folder; {_ELSEWHERE}"
    if own.is_relative_to(resolved):
        return f"{resolved} contains your home directory; {_ELSEWHERE}"
    return ""


def checked_root(path: Path) -> Path:
    """Return the real path of a folder that may be indexed. Raises InvalidInput otherwise."""
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise NotFound(f"no such project or directory: {path}; run `contextd projects` for a list") from None
    if not resolved.is_dir():
        raise InvalidInput(f"{path} is not a directory; give the directory that contains it")
    if reason := refusal(resolved):
        raise InvalidInput(reason)
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise InvalidInput(f"cannot read {path}; check its permissions")
    return resolved
