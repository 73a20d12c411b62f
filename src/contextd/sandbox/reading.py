"""The driver of the worker that reads exports: a process per import, with limits on memory and on time without progress.

Documents that were read before a failure are used; the failure is returned as `Unread`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from contextd.errors import InvalidInput, TooLarge, Unavailable
from contextd.sandbox import wire
from contextd.sandbox.pool import cpu_seconds
from contextd.sources.limited import is_regular
from contextd.values.conversation import Conversation, Forgotten, Message, Note, Unread

SECONDS_WITHOUT_PROGRESS = 60.0
LARGEST_MEMORIES = 200 << 20  # bytes of a file of memories
_START = 30.0  # seconds for a cold start on a busy machine
_STARVED = 60.0  # more seconds if the worker gets no processor time
_LOOK = 0.1  # seconds between two readings of the processor time of a worker
_COMMAND = (sys.executable, "-P", "-m", "contextd.sandbox.read")  # -P: import no module of the current folder

Read = Conversation | Note | Forgotten | Unread


def kind_of(path: str) -> str:
    """Return the import format of a file or folder. Raises InvalidInput if it is unknown or cannot be read."""
    with _asked({"ask": "kind", "path": path}) as frames:
        for frame in frames:
            if isinstance(frame.get("kind"), str):
                return str(frame["kind"])
            if "failed" in frame:
                raise InvalidInput(f"{path}: {frame['failed']}")
    raise InvalidInput(f"cannot read {path}")


def read_export(path: str, kind: str, *, seconds: float = SECONDS_WITHOUT_PROGRESS) -> Iterator[Read]:
    """Yield the documents of a file or folder to import, one at a time. Raises InvalidInput if reading cannot begin."""
    file, waiting, begun = Path(path).name, _Waiting(), False
    with _asked({"ask": "read", "path": path, "kind": kind}, seconds=seconds) as frames:
        try:
            for frame in frames:
                begun, file = True, str(frame.get("file", file))
                if "failed" in frame:
                    yield Unread(file, f"{frame['failed']}; what came before was read", stopped=True)
                elif (one := waiting.take(frame)) is not None:
                    yield one
        except InvalidInput as error:
            if not begun:
                raise
            yield Unread(file, f"{error}; what came before was read", stopped=True)


def memory_file(path: str) -> bytes:
    """Return the bytes of a file of memories, or of standard input for `-`. Raises InvalidInput if too large or not a file."""
    if path != "-" and not is_regular(Path(path).resolve()):
        raise InvalidInput(f"{path} is not a regular file; save its contents to a file first")
    with open(path, "rb") if path != "-" else nullcontext(sys.stdin.buffer) as stream:  # noqa: PTH123 - one of two
        return _within_limit(stream.read(LARGEST_MEMORIES + 1))


def _within_limit(data: bytes) -> bytes:
    if len(data) > LARGEST_MEMORIES:
        raise TooLarge(f"the file is larger than {LARGEST_MEMORIES >> 20} MB; split it into several files")
    return data


def read_memories(data: str | bytes) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the parts of a contextd export, or None; and the entries of a file in another format."""
    data = _within_limit(data.encode("utf-8", "replace") if isinstance(data, str) else data)
    payload: dict[str, Any] | None = None
    told: list[dict[str, Any]] = []
    with _asked({"ask": "memories"}, data) as frames:
        for frame in frames:
            if "failed" in frame:
                raise InvalidInput(f"cannot read the memories: {frame['failed']}; nothing was imported")
            part, entry = frame.get("entry", ("", None))
            if part == "contextd":
                payload = {"contextd": entry, "topics": [], "memories": [], "links": [], "tombstones": []}
            elif part == "told":
                told.append(entry)
            elif part and payload is not None:
                payload.setdefault(part, []).append(entry)
    return payload, told


class _Waiting:
    """Assembles conversations from frames. A malformed frame raises InvalidInput."""

    def __init__(self) -> None:
        self._opened, self._messages = Conversation("", "", ()), list[Message]()

    def take(self, frame: dict[str, Any]) -> Read | None:
        """Return the document that a frame completes, or None."""
        try:
            return self._taken(frame)
        except (TypeError, ValueError, OverflowError):  # an invalid frame: the worker cannot be trusted any more
            raise InvalidInput("the import process returned invalid data and was stopped") from None

    def _taken(self, frame: dict[str, Any]) -> Read | None:
        if "conversation" in frame:
            place, title, name, sitting, readers = frame["conversation"]
            name, principals = None if name is None else str(name), frozenset(map(str, readers))
            self._opened, self._messages = Conversation(str(place), str(title), (), name, int(sitting), principals), []
        elif "said" in frame:
            self._messages += [Message(str(who), str(text), int(at), str(role)) for who, text, at, role in frame["said"]]
        elif "close" in frame:
            return replace(self._opened, messages=self._messages)
        elif "note" in frame:
            place, title, text, at, readers = frame["note"]
            return Note(str(place), str(title), str(text), int(at), frozenset(map(str, readers)))
        elif "forgotten" in frame:
            key, marks = frame["forgotten"]
            return Forgotten(str(key), list(map(str, marks)))
        elif "unread" in frame:
            place, reason, stopped = frame["unread"]
            return Unread(str(place), str(reason), bool(stopped))
        return None


@contextmanager
def _asked(
    request: dict[str, Any], body: bytes = b"", *, seconds: float = SECONDS_WITHOUT_PROGRESS
) -> Iterator[Iterator[dict[str, Any]]]:
    """Start a worker and yield the frames of its answer. The last is `failed` if it crashed or made no progress."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own module
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise Unavailable(f"cannot start the import process: {error}") from None
    watched = _Watched(process)
    try:
        if watched.exchanged(request, body) is None:
            raise Unavailable(f"the import process does not start; run `{' '.join(_COMMAND)} < {os.devnull}` to see the error")
        yield _frames(watched, seconds)
    finally:
        watched.stop()


def _frames(watched: _Watched, seconds: float) -> Iterator[dict[str, Any]]:
    while (frame := watched.received(seconds)) is not None:
        if "refused" in frame:
            raise InvalidInput(str(frame["refused"]))
        if "end" in frame:
            return
        yield frame
    reason = (
        f"reading made no progress for {seconds:.0f} seconds" if watched.late else "reading needed too much memory or crashed"
    )
    yield {"failed": f"{reason} and was stopped"}


class _Watched:
    """A process, and a thread that kills it if a frame does not arrive in time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._deadline, self._used, self._allowed = process, float("inf"), 0.0, 0.0
        self._looked = float("-inf")  # when its processor time was read, which is too slow for every frame
        self.late = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def exchanged(self, request: dict[str, Any], body: bytes) -> dict[str, Any] | None:
        """Send the request and return the first frame; None if the process ends before it."""
        try:
            if self._process.stdin is not None:
                wire.send(self._process.stdin, request, [body])
        except OSError:
            return None
        return self.received(_START)

    def received(self, seconds: float) -> dict[str, Any] | None:
        """Return the next frame; None if none arrives in time."""
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._used, self._looked = cpu_seconds(self._process.pid) or 0.0, now
        self._allowed, self._deadline = seconds, now + seconds
        try:
            frame = wire.receive(self._process.stdout) if self._process.stdout is not None else None
        except (OSError, ValueError):
            return None
        finally:
            self._deadline = float("inf")
        return frame[0] if frame is not None and isinstance(frame[0], dict) else None

    def stop(self) -> None:
        """End the process."""
        self._over.set()
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            overdue = time.monotonic() - self._deadline
            if overdue > 0 and (overdue > _STARVED or not self._is_starved()):
                self.late = True
                self._process.kill()
                return

    def _is_starved(self) -> bool:
        """Whether the machine is busy, so that the worker has not had its processor time yet."""
        used = cpu_seconds(self._process.pid)
        return used is not None and used - self._used < self._allowed
