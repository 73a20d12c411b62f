"""The write lease of a project: an operating system lock, and a file that shows who holds it and since when.

The lock ends with its process, so nothing has to be cleaned up after a crash. While a process holds the lock, it updates the
modification time of the file. A waiting process can thus tell a running holder from a stopped one.
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

from contextd.errors import Busy, LeaseLost, StorageError
from contextd.settings.permissions import open_file

_HEARTBEAT = 1.0  # seconds between two updates of the modification time
_SILENCE = 5.0  # seconds without a heartbeat after which the lease counts as free
_UNNAMED = "another process"


class HeldLease:
    """The lease of a project while this process holds it."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file

    def check(self) -> None:
        """Raise `LeaseLost` if the lock file was replaced or removed: another process may hold the lock of the new file."""
        try:
            held = os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except (OSError, ValueError):  # the file is gone, or the lease was given back
            held = False
        if not held:
            raise LeaseLost(f"{self._path} was removed or replaced while this process wrote the index; start contextd again")


@contextmanager
def lease(folder: Path, who: str, wait: float = 0.0) -> Iterator[HeldLease]:
    """Hold the project's write lease. Raises `Busy` at once, or after `wait` seconds, if another process holds it."""
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
        released = threading.Event()
        threading.Thread(target=_send_heartbeats, args=(path, released), daemon=True).start()
        try:
            yield HeldLease(path, file)
        finally:
            released.set()
            _write_holder(path, "")
            _unlock(file)


def is_held(folder: Path) -> bool:
    """Return whether a process holds the lease now. Nothing is created.

    The look is a shared lock: processes that look at the same time do not take each other for a holder.
    """
    try:
        file = (folder / "writer.lock").open("r+b")
    except OSError:
        return False
    with file:
        if not _lock(file, shared=True):
            return True
        _unlock(file)
        return False


def holder(folder: Path) -> str:
    """Return who holds the lease now, judged by the last heartbeat; empty if nobody does."""
    shown, at = _holder(folder / "writer.lock")
    return shown if at and time.time_ns() - at < _SILENCE * 1e9 and shown != _UNNAMED else ""


def _holder(path: Path) -> tuple[str, int]:
    """Return who holds the lease, and the time of the last heartbeat in nanoseconds; 0 if unknown."""
    shown = path.with_suffix(".holder")
    try:
        return shown.read_text("utf-8") or _UNNAMED, shown.stat().st_mtime_ns
    except OSError:
        return _UNNAMED, 0


def _send_heartbeats(path: Path, released: threading.Event) -> None:
    while not released.wait(_HEARTBEAT):
        with suppress(OSError):
            os.utime(path.with_suffix(".holder"))


def _write_holder(path: Path, text: str) -> None:
    try:
        with open_file(path.with_suffix(".holder"), "w") as file:
            file.write(text)
    except OSError:
        return  # the file is only for display


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], *, shared: bool = False) -> bool:
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

    def _lock(file: IO[bytes], *, shared: bool = False) -> bool:
        try:
            fcntl.flock(file.fileno(), (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
