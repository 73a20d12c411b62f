"""One writer for each project: an operating system's lock is the truth, a file beside it shows who holds it and since when.

The lock ends with its process, however that ends, so nothing has to be cleaned up after a crash.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from contextd.errors import StorageError, Unavailable
from contextd.private import open_file


@contextmanager
def lease(folder: Path, who: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the project's write lease; refuse at once, or after `wait` seconds, when another process has it."""
    path = folder / "writer.lock"
    try:
        file = open_file(path, "a+b")
    except OSError as error:
        code = "read_only" if error.errno in (13, 30) else "io"
        raise StorageError(f"{path}: {error.strerror}; check the permissions of the folder", code=code) from None
    with file:
        end = time.monotonic() + wait
        while not _lock(file):
            if time.monotonic() >= end:
                raise Unavailable(f"this project is being written by {_holder(path)}; wait for it, or stop it")
            time.sleep(0.05)
        _write_holder(path, f"{who}, process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        try:
            yield
        finally:
            _write_holder(path, "")
            _unlock(file)


def _holder(path: Path) -> str:
    try:
        return path.with_suffix(".holder").read_text("utf-8") or "another process"
    except OSError:
        return "another process"


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
