"""Connections to upstreams without TLS, such as a model server on this machine.

The usual connections of httpx2 set up a cancel scope and a task switch for every read. With 200 streams of 50 events a second
that is a third of the processor time of the proxy. These read from a buffer that the event loop fills.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2
from httpcore2._utils import is_socket_readable

_BUFFER = 1 << 16  # bytes; nothing more is received until they are read


class PlainTransport(httpx2.AsyncHTTPTransport):
    """The transport of httpx2 over connections of our own."""

    def __init__(self, limits: httpx2.Limits) -> None:
        super().__init__(limits=limits, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Network(),
        )


class _Network(httpcore2.AsyncNetworkBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect, without options for the socket."""
        try:
            async with asyncio.timeout(timeout):
                _, stream = await asyncio.get_running_loop().create_connection(PlainConnection, host, port)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from None
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from None
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts to connect."""
        await asyncio.sleep(seconds)


class PlainConnection(asyncio.BufferedProtocol, httpcore2.AsyncNetworkStream):
    """A connection with a buffer of received bytes. For one event loop, and one reader at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(_BUFFER))
        self._taken = self._filled = 0  # the bytes between them are received and not read yet
        self._ended = False
        self._failure: Exception | None = None
        self._held = False  # whether reading is paused
        self._reader: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # Called by the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Keep the transport."""
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the free part of the buffer."""
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Note what was received; nothing more is received while the buffer is full."""
        self._filled += nbytes
        if self._filled == _BUFFER:
            self._held = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing more will come."""
        self._ended, self._failure = True, exc
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        """Let writers wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._writable.set()

    # Called by httpcore2

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return received bytes; none at the end of the connection."""
        if self._taken == self._filled and not self._ended:
            await self._more(timeout)
        if self._taken == self._filled and self._failure is not None:
            raise httpcore2.ReadError(str(self._failure))
        data = bytes(self._buffer[self._taken : min(self._filled, self._taken + max_bytes)])
        self._taken += len(data)
        if self._taken == self._filled:
            self._taken = self._filled = 0
            if self._held and not self._ended:
                self._held = False
                self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes. Waits until the other side has taken earlier ones."""
        if self._ended:
            raise httpcore2.WriteError("the connection is closed")
        self._transport.write(buffer)
        try:
            async with asyncio.timeout(timeout):
                await self._writable.wait()
        except TimeoutError:
            raise httpcore2.WriteTimeout("the upstream takes nothing") from None

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Tell the pool whether an idle connection has been closed by the other side."""
        if info == "is_readable":
            return self._ended or self._taken < self._filled or is_socket_readable(self._transport.get_extra_info("socket"))
        return self._transport.get_extra_info("socket") if info == "socket" else None

    async def _more(self, timeout: float | None) -> None:
        self._reader = self._loop.create_future()
        timer = self._loop.call_later(timeout, self._late) if timeout is not None else None
        try:
            await self._reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _late(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_exception(httpcore2.ReadTimeout("the upstream sends nothing"))
