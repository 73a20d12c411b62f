"""One writer for each project: an operating system's lock is the truth, a file beside it shows who holds it and since when.

The lock ends with its process, however that ends, so nothing has to be cleaned up after a crash. While it is held, the
modification time of the file beside it moves, so that whoever waits can tell a running process from a stopped one.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from contextd.errors import Busy, StorageError
from contextd.settings.permissions import open_file

_SIGN = 1.0  # seconds between two signs of life
_SILENCE = 5.0  # seconds without one after which nobody is said to hold the lease
_UNNAMED = "another process"


class HeldLease:
    """The lease of a project while this process holds it."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file

    def check(self) -> None:
        """Raise `Busy` if the lock file was replaced or removed: another process may hold the lease of the new one."""
        try:
            held = os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            held = False
        if not held:
            raise Busy(*_holder(self._path))


@contextmanager
def lease(folder: Path, who: str, wait: float = 0.0) -> Iterator[HeldLease]:
    """Hold the project's write lease. Raises `Busy` at once, or after `wait` seconds, if another process has it."""
    path = folder / "writer.lock"
    try:
        file = open_file(path, "a+b")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageError(f"{path}: disk full. Free some space and try again", code="storage_full") from None
        code = "read_only" if error.errno in (errno.EACCES, errno.EROFS) else "io"
        raise StorageError(f"{path}: {error.strerror}; check the permissions of the directory", code=code) from None
    with file:
        end = time.monotonic() + wait
        while not _lock(file):
            if time.monotonic() >= end:
                raise Busy(*_holder(path))
            time.sleep(0.05)
        _write_holder(path, f"{who}, process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        over = threading.Event()
        threading.Thread(target=_give_signs, args=(path, over), daemon=True).start()
        try:
            yield HeldLease(path, file)
        finally:
            over.set()
            _write_holder(path, "")
            _unlock(file)


def holder(folder: Path) -> str:
    """Who holds the lease now, by its signs of life; empty for nobody."""
    shown, at = _holder(folder / "writer.lock")
    return shown if at and time.time_ns() - at < _SILENCE * 1e9 and shown != _UNNAMED else ""


def _holder(path: Path) -> tuple[str, int]:
    """Who holds the lease, and its last sign of life."""
    shown = path.with_suffix(".holder")
    try:
        return shown.read_text("utf-8") or _UNNAMED, shown.stat().st_mtime_ns
    except OSError:
        return _UNNAMED, 0


def _give_signs(path: Path, over: threading.Event) -> None:
    while not over.wait(_SIGN):
        with suppress(OSError):
            os.utime(path.with_suffix(".holder"))


def _write_holder(path: Path, text: str) -> None:
    try:
        with open_file(path.with_suffix(".holder"), "w") as file:
            file.write(text)
    except OSError:
        return  # only shown to people


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
