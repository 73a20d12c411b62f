"""The running service of a data directory: one process holds its lock and says where it listens."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextd.errors import Busy, Unavailable
from contextd.settings.permissions import make_folder, open_file
from contextd.stores.lease import is_held, lease

if TYPE_CHECKING:
    from contextd.settings.defaults import Settings

_FILE = "service.json"
_WAIT = 2.0  # seconds for the lock: a client that looks whether a service runs holds it for a moment


@dataclass(frozen=True, slots=True)
class Running:
    """A running service: its process, the address for clients on this machine, and how its user wants them to ask.

    Clients take the last three from here, since reading the settings costs a command more than asking does.
    """

    pid: int
    url: str
    version: str
    started: float
    mode: str = "hybrid"
    timeout_ms: int = 10_000
    retry_attempts: int = 3


def folder_of(home: Path) -> Path:
    """Return the folder of the service in a data directory: lock, address, token of the owner, log."""
    return home / "service"


def running(home: Path) -> Running | None:
    """Return the service of a data directory; None if no process holds its lock.

    The lock is checked, not only the file: the port of a dead service may belong to another program by now.
    """
    folder = folder_of(home)
    try:
        found = Running(**json.loads((folder / _FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if is_held(folder) else None


@contextmanager
def announced(home: Path, url: str, version: str, settings: Settings | None = None) -> Iterator[None]:
    """Hold the lock of the service and publish its address. Raises `Unavailable` if another service runs."""
    asking = {} if settings is None else _asking(settings)
    folder = folder_of(home)
    make_folder(folder)
    try:
        with lease(folder, "contextd serve", _WAIT):
            _write(folder / _FILE, Running(os.getpid(), url, version, time.time(), **asking))
            try:
                yield
            finally:
                with suppress(OSError):
                    (folder / _FILE).unlink()
    except Busy:
        raise Unavailable(already_running(running(home))) from None


def already_running(other: Running | None) -> str:
    """Return the message for a second service."""
    where = f"process {other.pid} at {other.url}" if other else "another process"
    return f"the service is running already: {where}; stop it with `contextd stop`"


def _asking(settings: Settings) -> dict[str, Any]:
    engine = settings.engine
    return {"mode": settings.mode, "timeout_ms": engine.timeout_ms, "retry_attempts": engine.retry_attempts}


def _write(path: Path, value: Running) -> None:
    fresh = path.with_suffix(".new")
    with open_file(fresh, "w") as file:
        json.dump(asdict(value), file)
    fresh.replace(path)
