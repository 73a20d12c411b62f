"""The small HTTP client: answers of every form that HTTP/1.1 allows, from real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from contextd.errors import ContextdError, InvalidInput
from contextd.surfaces.client.connection import Connection
from contextd.surfaces.client.http_connection import HttpConnection

Serve = Callable[..., tuple[HttpConnection, list[bytes]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve the given answers on a socket, several on one connection; then close it."""
    open_: list[socket.socket] = []

    def start(*answers: bytes) -> tuple[HttpConnection, list[bytes]]:
        listening = socket.create_server(("127.0.0.1", 0))
        open_.append(listening)
        asked: list[bytes] = []

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                for one in answers:
                    asked.append(connection.recv(65536))
                    connection.sendall(one)

        threading.Thread(target=answer, daemon=True).start()
        return HttpConnection("127.0.0.1", listening.getsockname()[1], 5), asked

    yield start
    for one in open_:
        one.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello",
        b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_an_answer_is_read_in_every_form(serve: Serve, answer: bytes) -> None:
    connection, _ = serve(answer)
    assert connection.ask("GET", "/x", b"", {}) == (200, b"hello")
    connection.close()


def test_a_connection_is_used_again(serve: Serve) -> None:
    one = b"HTTP/1.1 204 No Content\r\n\r\n"
    connection, asked = serve(one, b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
    assert connection.ask("DELETE", "/x", b"", {}) == (204, b"")
    assert connection.ask("POST", "/y", b"{}", {"Authorization": "Bearer t"}) == (404, b"no")
    assert asked[1].startswith(b"POST /y HTTP/1.1\r\nHost: 127.0.0.1:") and asked[1].endswith(b"Bearer t\r\n\r\n{}")
    connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
    ],
)
def test_an_answer_that_is_no_http_is_a_connection_error(serve: Serve, answer: bytes) -> None:
    connection, _ = serve(answer)
    with pytest.raises(ConnectionError):
        connection.ask("GET", "/x", b"", {})
    connection.close()


@pytest.mark.parametrize("name", ["ana\r\nX-Contextd-Private: 1", "ana\n", "日本"])
def test_a_header_cannot_add_another_one(serve: Serve, name: str) -> None:
    connection, asked = serve(b"HTTP/1.1 204 No Content\r\n\r\n")
    with pytest.raises(InvalidInput, match="X-Contextd-Reader"):
        connection.ask("GET", "/x", b"", {"X-Contextd-Reader": name})
    assert not asked


@pytest.mark.parametrize(("field", "open_after"), [("", True), ("Connection: close\r\n", False)])
def test_a_connection_knows_whether_it_is_open(serve: Serve, field: str, open_after: bool) -> None:
    connection, _ = serve(f"HTTP/1.1 200 OK\r\n{field}Content-Length: 2\r\n\r\nok".encode())
    assert not connection.is_open
    connection.ask("GET", "/x", b"", {})
    assert connection.is_open is open_after
    connection.close()


def test_a_refusal_that_closes_is_followed_by_a_look_at_the_lock() -> None:
    """A kept object that is closed would connect to whoever has the port by then, and send the token there."""
    answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    looked, asked = [], []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_once() -> None:
            accepted, _ = listening.accept()
            with accepted:
                asked.append(accepted.recv(65536))
                accepted.sendall(answer)

        threading.Thread(target=serve_once, daemon=True).start()
        ours = iter((True, False, False, False))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        connection = Connection(url, "secret", 5, 0, {}, lambda: not looked.append(1) and next(ours))
        for _ in range(2):
            with pytest.raises(ContextdError):
                connection.get("/stats", {})
    assert len(looked) == 2 and len(asked) == 1


def test_a_connection_does_not_show_its_token() -> None:
    assert "ctd_secret" not in repr(Connection("http://127.0.0.1:8710", "ctd_secret"))
