"""JSON-RPC 2.0 over standard input and output, one message per line. `protocol.py` has the methods.

A malformed message is answered with an error, and the server continues. While it runs, other code can neither read from
standard input nor print to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any

PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
_MOST = 4_000_000  # bytes of a message
_DEEPEST = 100  # levels of nesting; the deepest message of the protocol has six
_AT_ONCE = 4  # requests answered in parallel threads

Id = str | int


@dataclass(frozen=True, slots=True)
class Channel:
    """What a method may do besides its answer: send notifications, and ask whether the client has cancelled the request."""

    notify: Callable[[Mapping[str, Any]], None] = lambda message: None
    is_cancelled: Callable[[], bool] = lambda: False


Answer = Callable[[str, Mapping[str, Any], Channel], Mapping[str, Any]]


class BadMessage(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": dict(data)})


def serve(answer: Answer, slow: Collection[str]) -> None:
    """Answer requests until standard input ends; `slow` methods in threads.

    Requests in progress at the end of input are answered before this returns.
    """
    with _streams() as (source, sink), ThreadPoolExecutor(_AT_ONCE, "request") as threads:
        wire = _Wire(answer, sink)
        while line := _line(source):
            for error in (errors := refusals(line)):
                wire.send(error)
            if errors or not line.strip():
                continue
            message = json.loads(line)
            if (cancelled := _cancelled(message)) is not None:
                wire.cancel(cancelled)
            elif "method" not in message or "id" not in message:
                continue  # an unexpected answer, or a notification without effect
            elif message["method"] in slow:
                wire.begin(message)
                threads.submit(wire.answer, message)
            else:
                wire.begin(message)
                wire.answer(message)


@dataclass(slots=True)
class _Wire:
    """Sends answers. Any thread may call its methods."""

    _answer: Answer
    _sink: IO[bytes]
    _wanted: set[tuple[type, Id]] = field(default_factory=set)  # requests whose answer is awaited; 1 and "1" differ
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, request: Mapping[str, Any]) -> None:
        """Record that a request is to be answered."""
        self._wanted.add(_key(request["id"]))

    def cancel(self, number: Id) -> None:
        """Record that the answer is no longer awaited."""
        self._wanted.discard(_key(number))

    def answer(self, request: Mapping[str, Any]) -> None:
        """Answer a request, unless it was cancelled meanwhile."""
        number = request["id"]
        try:
            channel = Channel(self.send, lambda: _key(number) not in self._wanted)
            body: dict[str, Any] = {"result": self._answer(request["method"], request.get("params") or {}, channel)}
        except BadMessage as refused:
            body = {"error": refused.error}
        except Exception as error:  # a bug: only this request fails
            sys.stderr.write(f"contextd: {request['method']}: {type(error).__name__}: {error}\n")
            body = {"error": {"code": INTERNAL, "message": f"an error in contextd ({type(error).__name__})"}}
        if _key(number) in self._wanted:
            self.cancel(number)
            self.send({"jsonrpc": "2.0", "id": number, **body})

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message. Errors of a closed client are ignored."""
        data = json.dumps(message).encode("ascii") + b"\n"
        with self._lock, suppress(OSError, ValueError):
            self._sink.write(data)
            self._sink.flush()


@contextmanager
def _streams() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Take over standard input and output: other code reads the null device and prints to standard error."""
    sys.stdout.flush()
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()  # output of other code, before standard output is restored
        os.dup2(source.fileno(), 0)
        os.dup2(sink.fileno(), 1)


def _line(source: IO[bytes]) -> bytes:
    """Return the next line; for a line that is too long, its beginning, which is refused."""
    line = rest = source.readline(_MOST + 1)
    while rest and not rest.endswith(b"\n"):
        rest = source.readline(1 << 16)
    return line


def refusals(line: bytes) -> list[dict[str, Any]]:
    """Return the errors that answer a line; none for a valid JSON-RPC 2.0 message or an empty line."""
    if not line.strip():
        return []
    if len(line) > _MOST:
        return [_error(None, INVALID, f"a message has at most {_MOST:,} bytes")]
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        return [_error(None, INVALID, "the message is nested too deeply")]
    except ValueError as error:
        return [_error(None, PARSE, f"not JSON: {error}")]
    if isinstance(message, list):
        numbers: list[Id | None] = [number for one in message if (number := _number(one)) is not None]
        return [_error(number, INVALID, "batches are not supported; send one message a line") for number in numbers or [None]]
    return [] if (wrong := _wrong(message)) is None else [_error(_number(message), INVALID, wrong)]


def _wrong(message: Any) -> str | None:
    """Return why a message is not valid JSON-RPC 2.0; None if it is."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'a message is an object with "jsonrpc": "2.0"'
    if "id" in message and _number(message) is None and "error" not in message:
        return "an id is a text or a whole number"
    if ("result" in message or "error" in message) and "method" not in message:
        return None if _depth(message) <= _DEEPEST else "the message is nested too deeply"
    if not isinstance(message.get("method"), str):
        return "a request has a method, which is a text"
    if not isinstance(message.get("params"), dict | None):
        return "params are an object"
    if _depth(message) > _DEEPEST:
        return "the message is nested too deeply"
    try:
        json.dumps(message, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return "the message holds half a character (a surrogate)"
    return None


def _depth(message: Any) -> int:
    depth, level = 0, [message]
    while level and depth <= _DEEPEST:
        depth += 1
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [each for values in inner for each in values]
    return depth


def _cancelled(message: Mapping[str, Any]) -> Id | None:
    """Return the id of the request that a notification cancels."""
    if "id" in message or message.get("method") != "notifications/cancelled":
        return None
    return _number({"id": (message.get("params") or {}).get("requestId")})


def _key(number: Id) -> tuple[type, Id]:
    return type(number), number


def _number(message: Any) -> Id | None:
    """Return the id of a message, if it has a valid one."""
    number = message.get("id") if isinstance(message, dict) else None
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _error(number: Id | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
