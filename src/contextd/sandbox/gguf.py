"""A language model from a GGUF file, in a process of its own that is probed first, niced, and killed when it is late."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contextd.errors import Unavailable
from contextd.models.openai_server import message_of
from contextd.ports.engines import ChatTurn, Schema
from contextd.sandbox import wire

_COMMAND = (sys.executable, "-P", "-m", "contextd.sandbox.complete")  # -P: import no module of the current folder
_PROBE_SECONDS = 120.0
_START_SECONDS = 60.0
_MOST_TOKENS = 512  # of an answer


@dataclass(slots=True)
class GgufChat:
    """One model file. The process is started by the first question, in the background. Any thread may call its methods."""

    path: Path
    _process: subprocess.Popen[bytes] | None = None
    _fault: str = ""  # why it cannot run on this machine
    _starting: threading.Thread | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)  # one question at a time
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """The engine and the model."""
        return f"local/{self.path.name}"

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine: never."""
        return False

    def chat(self, turns: Sequence[ChatTurn], schema: Schema | None, deadline: float) -> str:
        """Return the answer; JSON if there is a schema. Raises `Unavailable`, also while the model is loaded."""
        process = self._ready(deadline)
        body: dict[str, Any] = {
            "messages": [turn._asdict() for turn in turns],
            "max_tokens": _MOST_TOKENS,
            "temperature": 0,
        }
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        if not self._turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise Unavailable(f"{self.name} is busy with another question")
        try:
            head = self._asked(process, body, deadline)
        finally:
            self._turn.release()
        if "error" in head:
            raise Unavailable(f"{self.name}: {head['error']}")
        return message_of(head.get("answer"))

    def fault(self) -> str:
        """Return why the model cannot run here; empty if it can. Takes as long as loading the model."""
        if not self._fault and self._process is None:
            self._fault = probed(self.path)
        return self._fault

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _ready(self, deadline: float) -> subprocess.Popen[bytes]:
        """Return the running process; start it if there is none, and wait for it until the deadline."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._process = None
            if self._process is None and not self._fault and self._starting is None:
                self._starting = threading.Thread(target=self._start, daemon=True)
                self._starting.start()
            starting = self._starting
        if starting is not None:
            starting.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            if self._process is not None:
                return self._process
        raise Unavailable(self._fault or f"{self.name} is being loaded")

    def _start(self) -> None:
        """Probe the model, then start its process."""
        fault, process = probed(self.path), None
        if not fault:
            process = subprocess.Popen(  # noqa: S603 - our own module, and a file of the settings
                [*_COMMAND, str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
            if _received(process, time.monotonic() + _START_SECONDS) is None:
                _end(process)
                fault, process = f"{self.name} did not start", None
        with self._lock:
            self._fault, self._process, self._starting = fault, process, None

    def _asked(self, process: subprocess.Popen[bytes], body: Any, deadline: float) -> dict[str, Any]:
        """Return the answer of the process. A process that is late or dies is ended, and started again by the next question."""
        head = None
        if process.stdin is not None:
            with suppress(OSError, ValueError):
                wire.send(process.stdin, body)
                head = _received(process, deadline)
        if head is None:
            late = process.poll() is None
            self.close()
            raise Unavailable(f"{self.name} {'did not answer in time' if late else 'ended without an answer'}")
        return head


def probed(path: Path) -> str:
    """Return why a model cannot run here; empty if it wrote a token in a process of its own."""
    if find_spec("xllamacpp") is None:
        return "local models need the extra `llm`; run `pip install 'contextd[llm]'`"
    if not path.is_file():
        return f"no such file: {path}; set llm.model to a GGUF file, or run `contextd models fetch smollm2-135m`"
    try:
        done = subprocess.run(  # noqa: S603
            [*_COMMAND, str(path), "--probe"], capture_output=True, timeout=_PROBE_SECONDS, env=_environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return f"{path.name} did not load within {_PROBE_SECONDS:.0f} s"
    if done.returncode < 0:
        return f"llama.cpp ended with signal {-done.returncode} on this machine"
    return f"{path.name} cannot be loaded; is it a GGUF model?" if done.returncode else ""


def _received(process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any] | None:
    """Return the next frame; None if it does not come in time. Reading is done in a thread, since a pipe has no timeout."""
    found: list[Any] = []

    def read() -> None:
        with suppress(OSError, ValueError):
            if process.stdout is not None and (frame := wire.receive(process.stdout)) is not None:
                found.append(frame[0])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(max(0.0, deadline - time.monotonic()))
    return found[0] if found else None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _environment() -> dict[str, str]:
    """Return the environment of the worker. Threads of OpenMP that spin cost a busy machine a factor of ten."""
    return {**os.environ, "OMP_WAIT_POLICY": "passive"}
