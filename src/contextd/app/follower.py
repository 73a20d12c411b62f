"""Keep the index up to date while a server runs: a child process watches the files and ends with the server.

The child holds the project's lease. No child runs while another process holds the lease, such as `contextd watch` or the child
of another server; when that process ends, a child is started. The child's standard input is a pipe from the server. When the
server ends, for any reason, the pipe closes and the child ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from contextd.errors import Busy, ContextdError

if TYPE_CHECKING:
    from contextd.app.session import Session

_COMMAND = (sys.executable, "-P", "-m", "contextd.app.follower")  # -P: do not import modules from the current folder
_LOOK = 1.0  # seconds between checks of a lease that another process holds
_BEGUN = "watching\n"  # first line of a child
_LONGEST = 30.0  # maximum seconds until a failed child is started again
_GRACE = 2.0  # seconds for a child to end its run; an interrupted run is repeated by the next child


@dataclass(slots=True)
class Follower:
    """Runs a child process while no other process watches the project. Starts at once; any thread may call its methods."""

    _session: Session
    _server: str  # the name of the server, shown to other writers
    _child: subprocess.Popen[str] | None = None
    _problem: str = ""
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    def notes(self) -> Sequence[str]:
        """Return notes for answers: whether changes of files are not followed, and why."""
        return (f"changed files are not indexed at the moment: {self._problem}",) if self._problem else ()

    def close(self) -> None:
        """End the child."""
        self._over.set()
        child = self._child
        if child is not None and child.stdin is not None:
            child.stdin.close()
        self._thread.join(_GRACE + 1)
        if child is not None and child.poll() is None:
            child.kill()

    def _supervise(self) -> None:
        pause = _LOOK
        while not self._over.is_set():
            self._problem = self._follow()
            pause = min(2 * pause, _LONGEST) if self._problem else _LOOK
            self._over.wait(pause)

    def _follow(self) -> str:
        """Run a child until it ends, if no other process watches the project. Returns the error, if any."""
        try:
            if not self._session.index_service.unattended():
                return ""
            return self._run()
        except (ContextdError, OSError) as error:
            return str(error)

    def _run(self) -> str:
        command = [*_COMMAND, str(self._session.root()), self._session.reader.name, self._server]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        with subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=pipe, stdout=pipe, stderr=nothing, encoding="utf-8", errors="replace"
        ) as child:
            self._child = child
            if self._over.is_set() and child.stdin is not None:  # closed before the child was started
                child.stdin.close()
            message = self._output(child)
            code = child.wait()
        return (message or f"the process that follows them ended with code {code}") if code and not self._over.is_set() else ""

    def _output(self, child: subprocess.Popen[str]) -> str:
        """Return the output of a child until it ends, without the start message."""
        if child.stdout is None:
            return ""
        first = child.stdout.readline()
        if first == _BEGUN:
            self._problem, first = "", ""
        return (first + child.stdout.read()).strip()


def main(project: str, reader: str, server: str) -> int:
    """Watch a project until standard input ends, its settings change, or another process holds the lease."""
    from contextd.app.assemble import open_session
    from contextd.settings import config

    over = threading.Event()
    threading.Thread(target=_end_with_input, args=(over,), daemon=True).start()
    try:
        settings = config.stamp(Path(project))  # before the settings are read, so that later changes are seen
        session = open_session(project, reader=reader)
        sys.stdout.write(_BEGUN)
        sys.stdout.flush()
        session.watch(lambda: over.is_set() or config.stamp(Path(project)) != settings, lambda _: None, server)
        session.close()
    except Busy:
        return 0
    except ContextdError as error:
        sys.stdout.write(str(error))
        return error.exit_code
    return 0


def _end_with_input(over: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    over.set()
    time.sleep(_GRACE)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
