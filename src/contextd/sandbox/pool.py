"""The driver of the parse workers. Each is a process that parses one document at a time, within a time limit.

If a document hangs, crashes its worker or cannot be parsed, it is tried again, cut by plain lines, and then reported as failed.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any

from contextd.chunking.cut import Limits
from contextd.errors import Unavailable
from contextd.privacy.formats import Rule
from contextd.sandbox import wire
from contextd.values.document import Outcome, Raw

SECONDS_PER_DOCUMENT = 2.0
_SLOW = {"pdf": 30.0, "docx": 15.0, "notebook": 5.0}  # seconds for formats whose text has to be extracted
_START = 30.0  # seconds for a cold start on a busy machine
_STARVED = 20.0  # more seconds if the worker gets no processor time
_EACH = 8  # documents per additional worker: starting one takes as long as parsing a few
_ALONE = 2.0  # seconds after which it is started even for fewer documents
_COMMAND = (sys.executable, "-P", "-m", "contextd.sandbox.parse")  # -P: import no module of the current folder


def cpu_seconds(process: int) -> float | None:
    """Return the processor time of a process; None if the system does not provide it."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123 - called twenty times a second
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


class Died(Exception):
    """The worker ended before it answered."""


class Worker:
    """One worker process, started on its first document and again after it has ended."""

    def __init__(self, settings: Any, seconds: float, command: Sequence[str] = _COMMAND) -> None:
        self._settings, self._seconds, self._command = settings, seconds, command
        self._process: subprocess.Popen[bytes] | None = None
        self.deadline: float | None = None
        self._used, self._allowed = 0.0, seconds

    def ask(self, raw: Raw, *, plain: bool) -> Outcome:
        """Return the outcome of one document. Raises Died if the process ended or was killed."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        seconds = _SLOW.get(raw.language, self._seconds)
        head, body = self._exchange(process, {"language": raw.language, "plain": plain, "path": raw.uri}, [raw.data], seconds)
        try:
            return Outcome(raw, None, str(head["error"])) if "error" in head else Outcome(raw, wire.unpack(head, body))
        except (KeyError, TypeError, ValueError):  # an invalid frame: the worker cannot be trusted any more
            self.stop()
            raise Died from None

    def _exchange(self, process: subprocess.Popen[bytes], head: Any, body: list[bytes], seconds: float) -> tuple[Any, bytes]:
        """Send a frame and wait for the answer, at most the given seconds. Raises Died."""
        frame = None
        self._used, self._allowed = cpu_seconds(process.pid) or 0.0, seconds
        self.deadline = time.monotonic() + seconds
        try:
            if process.stdin is not None and process.stdout is not None:
                wire.send(process.stdin, head, body)
                frame = wire.receive(process.stdout)
        except (OSError, ValueError):
            frame = None
        finally:
            self.deadline = None
        if frame is None:
            self.stop()
            raise Died
        return frame

    def check(self) -> None:
        """Kill the process if its document has taken too long; called from another thread."""
        process, deadline = self._process, self.deadline
        if process is None or deadline is None or time.monotonic() <= deadline:
            return
        used = cpu_seconds(process.pid)
        if used is not None and used - self._used < self._allowed and time.monotonic() < deadline + _STARVED:
            return  # the machine is busy; the document has not had its processor time yet
        process.kill()

    def stop(self) -> None:
        """End the process; another thread may be doing so already."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # unsent data is no longer needed
                        stream.close()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a process and wait until it is ready. Raises Unavailable."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise Unavailable(f"cannot start the parser: {error}") from None
        try:
            self._exchange(self._process, self._settings, [], _START)
        except Died:
            command = " ".join(self._command)
            raise Unavailable(f"the parser does not start; run `{command} < {os.devnull}` to see the error") from None
        return self._process


class Pool:
    """Several workers behind one `parse`."""

    def __init__(
        self,
        limits: Limits,
        rules: Sequence[Rule] = (),
        *,
        workers: int = 2,
        seconds: float = SECONDS_PER_DOCUMENT,
        command: Sequence[str] = _COMMAND,
        keep: bool = False,
    ) -> None:
        settings = {"limits": asdict(limits), "rules": [tuple(rule) for rule in rules]}
        self._workers = [Worker(settings, seconds, command) for _ in range(max(1, workers))]
        self._kept = self._workers[:1] if keep else []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        self.rest()

    def rest(self) -> None:
        """End all workers until there is work again."""
        for worker in self._workers:
            worker.stop()

    def parse(self, raws: Iterable[Raw]) -> Iterator[Outcome]:
        """Yield the outcome of every document, in any order. Few are in memory at a time."""
        return _Run(self._workers, iter(raws), self._kept).outcomes()


class _Run:
    """One pass over some documents: a thread per worker, and one that enforces the time limits."""

    def __init__(self, workers: list[Worker], raws: Iterator[Raw], kept: list[Worker]) -> None:
        self._workers, self._raws, self._kept = workers, raws, kept
        self._take = threading.Lock()
        self._done: queue.Queue[Outcome | BaseException | None] = queue.Queue(maxsize=4 * len(workers))
        self._over = threading.Event()
        self._taken = 0
        self._wanted = [threading.Event() for _ in workers]  # set for each worker when there are enough documents for it

    def outcomes(self) -> Iterator[Outcome]:
        threads = [threading.Thread(target=self._work, args=one, daemon=True) for one in enumerate(self._workers)]
        watch = threading.Thread(target=self._watch, daemon=True)
        for thread in (*threads, watch):
            thread.start()
        running = len(threads)
        try:
            while running:
                outcome = self._done.get()
                if outcome is None:
                    running -= 1
                elif isinstance(outcome, BaseException):
                    raise outcome
                else:
                    yield outcome
        finally:
            self._over.set()
            for wanted in self._wanted:
                wanted.set()
            while running and any(thread.is_alive() for thread in threads):
                self._drain()
            watch.join()

    def _drain(self) -> None:
        """Unblock threads that wait to deliver an outcome, so that they see that the run is over."""
        try:
            self._done.get(timeout=0.05)
        except queue.Empty:
            return

    def _work(self, place: int, worker: Worker) -> None:
        if place:
            self._wanted[place].wait(_ALONE)
        try:
            while not self._over.is_set() and (raw := self._next()) is not None:
                self._done.put(_settled(worker, raw))
        except BaseException as error:  # reading a document failed: the error is raised in the caller
            self._done.put(error)
        if worker not in self._kept:
            worker.stop()  # releases its memory; the next run starts it again
        self._done.put(None)

    def _next(self) -> Raw | None:
        """Return the next document. Wakes the workers that are needed by now; all of them after the last document."""
        with self._take:
            raw = next(self._raws, None)
            self._taken += 1
            for place, wanted in enumerate(self._wanted):
                if raw is None or self._taken > place * _EACH:
                    wanted.set()
            return raw

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            for worker in self._workers:
                worker.check()


def _settled(worker: Worker, raw: Raw) -> Outcome:
    """Parse a document; if that fails, cut it by plain lines."""
    try:
        outcome = worker.ask(raw, plain=False)
        if outcome.parsed is not None:
            return outcome
        reason = f"parser failed ({outcome.error})"
    except Died:
        reason = "parse_timeout or crash"
    try:
        outcome = worker.ask(raw, plain=True)
    except Died:
        return Outcome(raw, None, "parse_timeout or crash, even by plain lines")
    if outcome.parsed is None:
        return outcome
    warnings = (*outcome.parsed.warnings, f"{reason}; cut by lines")
    return Outcome(raw, replace(outcome.parsed, warnings=warnings))
