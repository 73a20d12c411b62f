"""An upstream that does what a test says: it records what it receives and answers with the bytes it is given."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

RESET = b"\0reset"  # a part that closes the connection with a TCP reset
CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m", "x_vendor": {"a": [1.50, "ü"]},
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello 🦊", "reasoning_content": "hm"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}  # fmt: skip


@dataclass
class Got:
    """A request that the upstream received."""

    line: str
    headers: dict[str, str]
    body: bytes
    peer: object = None  # the other end of the connection

    @property
    def path(self) -> str:
        return self.line.split()[1]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Got], Iterable[bytes]]


def answered(body: bytes | Any, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer with its length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    own = {
        "content-type": "application/json",
        "content-length": str(len(data)),
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    lines = [f"HTTP/1.1 {status}", *(f"{key}: {value}" for key, value in own.items()), "", ""]
    return "\r\n".join(lines).encode() + data


def chunked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Parts of a stream as HTTP chunks."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for part in parts:
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def events(text: str = "Hello wörld 🦊", *, done: bool = True) -> list[bytes]:
    """The events of a chat completion, word by word."""
    found = []
    for word in text.split(" "):
        delta = {"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]}
        found.append(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")
    return [*found, *([b"data: [DONE]\n\n"] if done else [])]


@dataclass
class Upstream:
    """A server on a port of its own, with a thread for each connection."""

    answer: Answer = lambda got: [answered(CHAT)]
    got: list[Got] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)  # set when a client has gone
    sent: int = 0

    def __post_init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        data = b""
        with connection, suppress(OSError):
            while True:
                while b"\r\n\r\n" not in data:
                    if not (more := connection.recv(1 << 16)):
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                line, *rest = head.decode("latin-1").split("\r\n")
                headers = {key.lower(): value.strip() for key, _, value in (one.partition(":") for one in rest)}
                length = int(headers.get("content-length", "0"))
                while len(data) < length:
                    data += connection.recv(1 << 16)
                got = Got(line, headers, data[:length], connection.getpeername())
                data = data[length:]
                self.got.append(got)
                if not self._play(connection, got):
                    return

    def _play(self, connection: socket.socket, got: Got) -> bool:
        """Send the answer; False if the connection is to be closed."""
        whole = False
        try:
            for part in self.answer(got):
                if part == RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
                connection.sendall(part)
                self.sent += len(part)
                whole = part.endswith(b"0\r\n\r\n") or (b"content-length" in part.lower() and b"\r\n\r\n" in part)
        except OSError:
            self.closed.set()
            raise
        return whole

    def close(self) -> None:
        self.server.close()


def slowly(parts: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    """Parts with a pause before each."""
    for part in parts:
        time.sleep(seconds)
        yield part
