"""Files and folders that only their owner may open: created so, and mended where an older version left them open.

Modes are given at creation, never by the umask, which belongs to the whole process. SQLite gives its log and its shared memory
the mode of the database. Windows has no modes: there all of this has no effect.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_OTHERS = 0o077


def make_folder(path: Path) -> None:
    """Create a folder, and the missing ones above it, for its owner alone; what exists stays as it is."""
    if path.is_dir():
        return
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file for its owner alone, if it is missing and its folder may be written.

    A file that exists is not opened: to close it again would drop the locks that SQLite holds on it.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def open_file(path: Path, mode: str) -> IO[Any]:
    """Open a file; when this creates it, for its owner alone."""
    encoding = None if "b" in mode else "utf-8"
    return open(path, mode, encoding=encoding, opener=lambda name, flags: os.open(name, flags, 0o600))


def mend(home: Path) -> None:
    """Take the rights of others off the data directory, the record, and all projects if the directory was open.

    The directory itself comes last: if this is killed half-way, the next one begins anew.
    """
    home = home.resolve()
    projects = home / "projects"
    inside = projects.rglob("*") if _is_open(home) else ()
    _close((*inside, projects, *(path.resolve() for path in home.glob("record.db*")), home))


def mend_folder(folder: Path) -> None:
    """Take the rights of others off a folder and what is in it."""
    _close((*folder.glob("*"), folder))


def _close(paths: Iterable[Path]) -> None:
    """Rights are taken and never given, so that what is read-only stays so; what may not be changed is left as it is."""
    for path in paths:
        with suppress(OSError):
            if _is_open(path):
                path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)


def _is_open(path: Path) -> bool:
    """Whether others may do something here; a link says nothing, and a folder for everybody, such as /tmp, is not ours."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    not_ours = stat.S_ISLNK(mode) or mode & stat.S_ISVTX or path.parent == path
    return bool(mode & _OTHERS) and not not_ours
