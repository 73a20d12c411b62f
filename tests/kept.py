"""What costs much to start and is the same for every test is started once a run: loaded weights and idle parser processes.

Weights are files that do not change; a loaded model is recognized by the file it came from, so a test that damages or replaces
one loads its own. A parser is a real process of the real command that knows nothing but its settings; in the product, too, one
parses many documents. Tests about the processes themselves take the fixture `own_parsers`.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

import pytest

from contextd.errors import InvalidInput, Unavailable
from contextd.models import deep, fact_layers, rerank, static
from contextd.models.wordpiece import read_vocabulary
from contextd.sandbox import read, reading, wire
from contextd.sandbox.pool import Worker
from contextd.values.document import Outcome, Raw

_MOST_IDLE = 4  # parsers that wait for a test with their settings

T = TypeVar("T")


def linked(source: str, target: str) -> None:
    """A further name for a file; a copy where the system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def prepared_weights(weights: Path, folder: Path) -> Path:
    """The weights as a data directory has them after their first use: the table made, the library tried."""
    shutil.copytree(weights, folder, copy_function=linked)
    with suppress(Unavailable, OSError):  # absent: the tests that need it say so
        static.Static(folder / "potion-base-8M")
        deep.session_of(folder / "snowflake-arctic-embed-s")
        for name in ("fact-layers", "fact-tagger"):
            fact_layers._session(name, folder / "snowflake-arctic-embed-s")
        deep.session_of(folder / "ms-marco-MiniLM-L12")
    return folder


def keep_models(patch: pytest.MonkeyPatch) -> None:
    """Load each file of weights once for all data directories that hold it."""
    loaded: dict[object, object] = {}

    def once(load: Callable[[Path], T], name: str = "") -> Callable[[Path], T]:
        def load_once(path: Path) -> T:
            try:
                found = (path / name).stat()
            except OSError:
                return load(path)
            key = load.__name__, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
            if key not in loaded:
                loaded[key] = load(path)
            return loaded[key]  # type: ignore[return-value]

        return load_once

    session_of, vocabulary = once(deep.session_of, "model.onnx"), once(read_vocabulary)
    for module in (deep, rerank):
        patch.setattr(module, "session_of", session_of)
    for module in (deep, rerank, static):
        patch.setattr(module, "read_vocabulary", vocabulary)


def read_here(patch: pytest.MonkeyPatch) -> None:
    """Imports are read in this process, frame by frame as from another one."""

    @contextmanager
    def asked(request: dict[str, Any], body: bytes = b"", *, seconds: float = 0.0) -> Iterator[Iterator[dict[str, Any]]]:
        yield frames(request, body)

    def frames(request: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
        try:
            yield from map(_sent, read._answer(request, body, read._Sink(io.BytesIO())))
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(f"{request.get('path', 'the file')}: {read._reason(error)}") from None

    patch.setattr(reading, "_asked", asked)


def _sent(frame: dict[str, Any]) -> dict[str, Any]:
    pipe = io.BytesIO()
    wire.send(pipe, frame)
    pipe.seek(0)
    received = wire.receive(pipe)
    assert received is not None
    head: dict[str, Any] = received[0]
    return head


class KeptParsers:
    """Parsers that have nothing to do are handed on instead of ended; one that failed is ended as ever."""

    def __init__(self) -> None:
        self.off = False
        self._idle: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._lock = threading.Lock()
        self._ask, self._start, self._stop = Worker.ask, Worker._start, Worker.stop

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        """Stand between workers and their processes."""
        kept, busy = self, WeakSet[Worker]()

        def ask(worker: Worker, raw: Raw, *, plain: bool) -> Outcome:
            busy.add(worker)  # and it stays busy when this raises: its process is not to be trusted then
            outcome = kept._ask(worker, raw, plain=plain)
            busy.discard(worker)
            return outcome

        def start(worker: Worker) -> subprocess.Popen[bytes]:
            return kept._taken(worker) or kept._start(worker)

        def stop(worker: Worker) -> None:
            if worker in busy or kept.off or not kept._handed_on(worker):
                kept._stop(worker)
                busy.discard(worker)

        patch.setattr(Worker, "ask", ask)
        patch.setattr(Worker, "_start", start)
        patch.setattr(Worker, "stop", stop)

    def close(self, most: int = 0) -> None:
        """End all but so many."""
        with self._lock:
            ended = self._idle[: max(0, len(self._idle) - most)]
            self._idle = self._idle[len(ended) :]
        for _, process in ended:
            worker = Worker(None, 0)
            worker._process = process
            self._stop(worker)

    def _handed_on(self, worker: Worker) -> bool:
        with self._lock:
            process = worker._process
            if process is None or process.poll() is not None:
                return False
            worker._process = None
            self._idle.append((_settings(worker), process))
        self.close(_MOST_IDLE)
        return True

    def _taken(self, worker: Worker) -> subprocess.Popen[bytes] | None:
        with self._lock:
            for one in [] if self.off else self._idle[::-1]:
                if one[0] == _settings(worker):
                    self._idle.remove(one)
                    if one[1].poll() is None:
                        worker._process = one[1]
                        return one[1]
        return None


def _settings(worker: Worker) -> str:
    return json.dumps([worker._settings, worker._command])
