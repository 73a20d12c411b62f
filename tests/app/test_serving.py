"""The lock of the service, looked at by many clients at once."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contextd.app.serving import announced, folder_of, running


@contextmanager
def looking(home: Path, clients: int) -> Iterator[list[bool]]:
    """Clients that ask all the time whether a service runs; yields what they saw."""
    seen, over = list[bool](), threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.append(running(home) is not None)

    threads = [threading.Thread(target=look) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _died(home: Path) -> None:
    """Leave the files of a service that was killed."""
    with announced(home, "http://127.0.0.1:9", "0"):
        text = (folder_of(home) / "service.json").read_text()
    (folder_of(home) / "service.json").write_text(text)


def test_clients_that_look_at_the_same_time_do_not_take_a_dead_service_for_a_running_one(home: Path) -> None:
    """Each tried the lock as a writer would, so one saw the other; the token went to whatever had the port."""
    _died(home)
    with looking(home, 4) as seen:
        while len(seen) < 2000:
            assert running(home) is None
    assert not any(seen)


def test_a_service_starts_while_a_client_looks(home: Path) -> None:
    """It found the lock taken by a client for a moment, and gave up."""
    _died(home)
    with (folder_of(home) / "writer.lock").open("r+b") as looked_at:
        fcntl.flock(looked_at.fileno(), fcntl.LOCK_SH)
        threading.Timer(0.2, fcntl.flock, (looked_at.fileno(), fcntl.LOCK_UN)).start()
        with announced(home, "http://127.0.0.1:9", "0"):
            assert running(home) is not None
