"""One kept connection of HTTP/1.1 without TLS: `http.client` takes longer to load than most answers of the service."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import IO, Any

from contextd.errors import InvalidInput

_LONGEST = 1 << 16  # bytes of a line, as in `http.client`
_MOST = 100  # lines of a head
_EMPTY = (204, 304)  # answers without a body
_CUT = "the answer was cut off"


def connected(host: str, port: int, timeout: float) -> socket.socket:
    """Return a socket that is connected to a host, a name or an address. Raises `OSError`."""
    address: Any = (host.encode("ascii" if host.isascii() else "idna"), port)  # for a string, Python loads the codec of names
    opened = socket.create_connection(address, timeout)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


class HttpConnection:
    """A connection for one request at a time. It connects when it is first asked."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self._host, self._port, self._timeout = host, port, timeout
        self._socket: socket.socket | None = None
        self._answers: IO[bytes] | None = None

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body of the answer. Raises `OSError`, also for an answer that is no HTTP."""
        head = _head(method, path, {"Host": self._name(), "Content-Length": str(len(body)), **headers})
        if self._socket is None or self._answers is None:
            self._socket = connected(self._host, self._port, self._timeout)
            self._answers = self._socket.makefile("rb")
        self._socket.sendall(head + body)
        return self._read(self._answers)

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._socket is not None

    def close(self) -> None:
        """Close the connection. It may be asked again and connects anew."""
        for one in (self._answers, self._socket):
            if one is not None:
                one.close()
        self._socket = self._answers = None

    def _name(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    def _read(self, answers: IO[bytes]) -> tuple[int, bytes]:
        status = 100
        while status < 200:  # provisional answers
            status = _status(_line(answers))
            fields = _fields(answers)
        body = b"" if status in _EMPTY else _body(answers, fields)
        if "close" in fields.get("connection", "").lower() or body is None:
            body = answers.read() if body is None else body
            self.close()
        return status, body


def _head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request. Raises `InvalidInput` for a value that would end its line."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    for line in lines:
        if not line.isprintable() or any(sign > "\xff" for sign in line):
            raise InvalidInput(f"cannot be sent to the service: {line.partition(': ')[0]} has signs that are not of Latin-1")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _line(answers: IO[bytes]) -> bytes:
    line = answers.readline(_LONGEST)
    if not line.endswith(b"\n"):
        raise ConnectionError(_CUT if line else "the connection was closed")
    return line.rstrip(b"\r\n")


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise ConnectionError("the answer is no HTTP")
    return int(rest[:3])


def _fields(answers: IO[bytes]) -> dict[str, str]:
    """Return the fields of a head, by their names in lower case."""
    fields: dict[str, str] = {}
    for _ in range(_MOST):
        line = _line(answers)
        if not line:
            return fields
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.lower()] = value.strip()
    raise ConnectionError("the answer has too many header lines")


def _body(answers: IO[bytes], fields: Mapping[str, str]) -> bytes | None:
    """Return the body of an answer; None if it ends with the connection."""
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _chunks(answers)
    length = fields.get("content-length")
    return None if length is None else _exactly(answers, length, 10)


def _chunks(answers: IO[bytes]) -> bytes:
    parts = []
    while part := _exactly(answers, _line(answers).partition(b";")[0].decode("latin-1"), 16):
        parts.append(part)
        _line(answers)
    _fields(answers)
    return b"".join(parts)


def _exactly(answers: IO[bytes], length: str, base: int) -> bytes:
    try:
        wanted = int(length, base)
    except ValueError:
        wanted = -1
    if wanted < 0:
        raise ConnectionError("the answer is no HTTP")
    data = answers.read(wanted)
    if len(data) < wanted:
        raise ConnectionError(_CUT)
    return data
