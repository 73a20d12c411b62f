"""JSON-RPC over standard input and output: what is no request is answered with an error, and the server goes on.

The SDK leaves out malformed messages without a word, so that a client waits for ever; here they are answered before it sees
them. While the server runs, whatever else reads standard input or prints meets neither.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import contextmanager
from typing import IO, Any

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp_types import jsonrpc_message_adapter

_MOST = 4_000_000  # bytes of a message
_PARSE, _INVALID = -32700, -32600


def serve(server: MCPServer[Any]) -> None:
    """Serve until standard input ends."""
    anyio.run(_serve, server)


async def _serve(server: MCPServer[Any]) -> None:
    with _streams() as (source, sink):
        out = _Output(sink)
        async with stdio_server(_requests(source, out), out) as (read, write):  # type: ignore[arg-type]
            low = server._lowlevel_server  # `run_stdio_async` does the same, with streams of its own
            await low.run(read, write, low.create_initialization_options())


@contextmanager
def _streams() -> Any:
    """Standard input and output to ourselves: others find the null device, and print to standard error."""
    sys.stdout.flush()
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        os.dup2(source.fileno(), 0)
        os.dup2(sink.fileno(), 1)


class _Output:
    """Lines to the client, one after another."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink, self._lock = sink, anyio.Lock()

    async def write(self, text: str) -> None:
        """Send a line."""
        async with self._lock:
            await anyio.to_thread.run_sync(self._send, text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        """Every line is sent at once."""

    def _send(self, data: bytes) -> None:
        self._sink.write(data)
        self._sink.flush()


async def _requests(source: IO[bytes], out: _Output) -> AsyncIterator[str]:
    """Messages that are ones; the others are answered here."""
    while line := await anyio.to_thread.run_sync(_line, source, abandon_on_cancel=True):
        answers = refusals(line)
        for answer in answers:
            await out.write(json.dumps(answer) + "\n")
        if line.strip() and not answers:
            yield line.decode("utf-8")


def _line(source: IO[bytes]) -> bytes:
    """The next line; of one that is too long the beginning, which is refused."""
    line = rest = source.readline(_MOST + 1)
    while rest and not rest.endswith(b"\n"):
        rest = source.readline(1 << 16)
    return line


def refusals(line: bytes) -> list[dict[str, Any]]:
    """The errors that answer a line; none for a message the server can look at, or an empty line."""
    if not line.strip():
        return []
    if len(line) > _MOST:
        return [_error(None, _INVALID, f"a message has at most {_MOST:,} bytes")]
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        return [_error(None, _INVALID, "the message is nested too deeply")]
    except ValueError as error:
        return [_error(None, _PARSE, f"not JSON: {error}")]
    if isinstance(message, list):
        numbers: list[str | int | None] = [number for one in message if (number := _number(one)) is not None]
        return [_error(number, _INVALID, "batches are not supported; send one message a line") for number in numbers or [None]]
    return [] if (wrong := _wrong(line, message)) is None else [_error(_number(message), _INVALID, wrong)]


def _wrong(line: bytes, message: Any) -> str | None:
    """What keeps a message from being one of JSON-RPC 2.0."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'a message is an object with "jsonrpc": "2.0"'
    if "id" in message and _number(message) is None and "error" not in message:
        return "an id is a text or a whole number"
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        return f"not a request: {str(error).splitlines()[0]}"
    return None


def _number(message: Any) -> str | int | None:
    """The id of a message, if it has one that can be answered."""
    number = message.get("id") if isinstance(message, dict) else None
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _error(number: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
