"""Create files and folders that only their owner may open, and fix permissions that an older version left open.

Modes are given at creation, never by the umask, which belongs to the whole process. SQLite gives its log and its shared memory
the mode of the database. Windows has no modes: there all of this has no effect.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_OTHERS = 0o077


def make_folder(path: Path) -> None:
    """Create a folder and missing parents for their owner alone. Existing folders are unchanged."""
    if path.is_dir():
        return
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file for its owner alone, if it is missing and its folder is writable.

    An existing file is not opened: closing it again would drop the locks that SQLite holds on it.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def open_file(path: Path, mode: str) -> IO[Any]:
    """Open a file. If this creates it, it is for its owner alone."""
    encoding = None if "b" in mode else "utf-8"
    return open(path, mode, encoding=encoding, opener=lambda name, flags: os.open(name, flags, 0o600))


def replace_file(path: Path, text: str, mode: int = 0o600, check: Callable[[Path], object] = lambda path: None) -> None:
    """Write a file as a new one that then takes its name: a link that waits under either name is not followed.

    `check` may raise; then the file stays as it is.
    """
    import secrets  # loads hashlib, which few commands need

    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    number = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.chmod(mode)
        check(fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def mend(home: Path) -> None:
    """Remove permissions of others from the data directory and the record; from all projects, too, if the directory was open.

    The directory itself comes last, so that an interrupted run is repeated.
    """
    home = home.resolve()
    projects = home / "projects"
    inside = projects.rglob("*") if _is_open(home) else ()
    _close((*inside, projects, *(path.resolve() for path in home.glob("record.db*")), home))


def mend_folder(folder: Path) -> None:
    """Remove permissions of others from a folder and the files in it."""
    _close((*folder.glob("*"), folder))


def _close(paths: Iterable[Path]) -> None:
    """Remove permissions of others. Permissions are never added, so read-only files stay so. Errors are ignored."""
    for path in paths:
        with suppress(OSError):
            if _is_open(path):
                path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)


def _is_open(path: Path) -> bool:
    """Return whether others have permissions. Links, sticky folders such as /tmp, and the root do not count."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    not_ours = stat.S_ISLNK(mode) or mode & stat.S_ISVTX or path.parent == path
    return bool(mode & _OTHERS) and not not_ours
