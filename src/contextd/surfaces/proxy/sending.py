"""Send requests to upstreams. Redirects are not followed, and no request is repeated."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import anyio
import httpcore2
import httpx2

from contextd.app.upstreams import ChosenUpstream
from contextd.settings.defaults import Proxy
from contextd.surfaces.http.problems import RequestRefused
from contextd.surfaces.proxy.plain_http import PlainConnection, PlainTransport

_WRITE_SECONDS = 60.0  # for an upstream to take a part of a request
_POOL = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=15.0)
_WITHOUT_BODY = (204, 304)
_CHUNK = re.compile(rb"\r\n([0-9a-fA-F]{1,8})\r\n")  # end of a chunk and head of the next
_END = b"\r\n"  # of a chunk
_MOST = 1 << 16  # bytes of one read
_INNER = ("_connection", "_httpcore_stream", "_stream")  # what the streams of httpx2 and httpcore2 are put around


class _AnswerStream(httpx2.AsyncByteStream):
    """The body of an answer. Its connection is used again only if nothing but the answer was sent.

    Bytes after the end of an answer (of a body that is longer than its length, or that must not be there) would be taken for
    the answer to the next request on that connection, which may be of another reader.
    """

    def __init__(self, response: httpx2.Response, *, may_have_body: bool, idle_seconds: float) -> None:
        self._stream, self._may_have_body, self._idle = response.stream, may_have_body, idle_seconds
        self._is_chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Chunks that were received together are one part: a proxy that is behind catches up.

        On a connection of `plain_http.py`, whole chunks are read without h11, which takes half of the processor time of a
        stream. It reads everything else: the first and the last chunk, and parts of one.
        """
        connection = self._connection() if self._is_chunked else None
        async for part in self._stream:  # type: ignore[union-attr]
            yield b"".join([part, *_received_chunks(connection._h11_state)]) if connection is not None else part
            while connection is not None and (more := await self._next_chunks(connection)):
                yield more

    async def _next_chunks(self, connection: Any) -> bytes:
        """Wait for more, and return the data of whole chunks; none if h11 has to read on. Raises `httpx2.HTTPError`."""
        state, network = connection._h11_state, connection._network_stream
        if not isinstance(network, PlainConnection) or state._reader._bytes_in_chunk or len(state._receive_buffer) > len(_END):
            return b""
        try:
            received = await network.read(_MOST, self._idle)
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error)) from None
        except httpcore2.NetworkError as error:
            raise httpx2.ReadError(str(error)) from None
        state.receive_data(received)
        return b"".join(_received_chunks(state))

    async def aclose(self) -> None:
        """Close the answer, and its connection if that is not used again."""
        connection = self._connection()
        state = connection._h11_state if connection is not None else None
        if state is not None and (not self._may_have_body or state.trailing_data[0]):
            state.send_failed()  # a connection with an error is closed by the pool
        await self._stream.aclose()  # type: ignore[union-attr]

    def _connection(self) -> Any:
        """Return the connection of httpcore2. httpx2 offers no other way to it than through the streams it has put together."""
        inner: Any = self._stream
        while inner is not None and not hasattr(inner, "_h11_state"):
            inner = next((getattr(inner, name) for name in _INNER if hasattr(inner, name)), None)
        return inner


@dataclass(slots=True)
class UpstreamClients:
    """Connections to upstreams, kept open between requests. For one event loop."""

    _made: dict[tuple[bool, bool], httpx2.AsyncClient] = field(default_factory=dict)

    @asynccontextmanager
    async def sent(
        self, upstream: ChosenUpstream, request: tuple[str, str, list[tuple[bytes, bytes]], bytes], settings: Proxy
    ) -> AsyncIterator[httpx2.Response]:
        """Send (method, path below the base URL, headers, body), and yield the answer. Raises `RequestRefused`."""
        method, path, headers, body = request
        times = httpx2.Timeout(
            settings.idle_seconds, connect=settings.connect_seconds, write=_WRITE_SECONDS, pool=settings.connect_seconds
        )
        client = self._client(upstream)
        try:
            made = client.build_request(method, f"{upstream.url}/{path}", headers=headers, content=body, timeout=times)
            with anyio.fail_after(settings.connect_seconds + _WRITE_SECONDS + settings.idle_seconds):
                response = await client.send(made, stream=True)  # an upstream may send interim answers (1xx) without end
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failure(upstream.name, error) from None
        may_have_body = method != "HEAD" and response.status_code not in _WITHOUT_BODY
        response.stream = _AnswerStream(response, may_have_body=may_have_body, idle_seconds=settings.idle_seconds)
        try:
            yield response
        finally:
            await response.aclose()

    def _client(self, upstream: ChosenUpstream) -> httpx2.AsyncClient:
        """Return the client for an upstream. Only for other machines, HTTP proxies of the environment are used."""
        is_plain = upstream.url.startswith("http://") and not upstream.remote
        key = (is_plain, upstream.remote)
        if key not in self._made:
            transport = PlainTransport(_POOL) if is_plain else None
            none = CookieJar(
                DefaultCookiePolicy(allowed_domains=[])
            )  # cookies of one reader would go out with others' requests
            options: dict[str, Any] = {"transport": transport, "trust_env": upstream.remote, "cookies": none}
            self._made[key] = httpx2.AsyncClient(limits=_POOL, follow_redirects=False, **options)
        return self._made[key]

    async def close(self) -> None:
        """Close all connections."""
        for client in self._made.values():
            await client.aclose()


def _received_chunks(state: Any) -> list[bytes]:
    """Take the data of whole chunks out of what is received. An incomplete chunk, or the last, is left.

    What is left begins as before, with the end of a chunk, so that the state of h11 still fits it.
    """
    buffer, found, at = state._receive_buffer, list[bytes](), 0
    received = buffer._data  # the only way to it without a copy
    while head := _CHUNK.match(received, at):
        end = head.end() + int(head[1], 16)
        if end == head.end() or end > len(received):
            break
        found.append(bytes(received[head.end() : end]))
        at = end
    if at:
        buffer._extract(at)
    return found


def _failure(name: str, error: Exception) -> RequestRefused:
    """Return the answer for an upstream that sent none."""
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.InvalidURL | ssl.SSLError):
        return RequestRefused(
            502, "upstream_unreachable", f"the upstream {name!r} cannot be reached; run `contextd proxy test`"
        )
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return RequestRefused(504, "upstream_timeout", f"the upstream {name!r} did not answer in time")
    return RequestRefused(502, "upstream_disconnected", f"the upstream {name!r} closed the connection without an answer")
