"""Relay the answer of an upstream to a client: the same bytes, as they come, never more than the client takes."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass

import anyio
import httpx2

from contextd.surfaces.http.guard import Message, Send
from contextd.surfaces.proxy.failures import error_frame
from contextd.surfaces.proxy.headers import to_client, value_of

_LOG = logging.getLogger("contextd.proxy")
_SEND_SECONDS = 60.0  # for a client to take a part
_EVENTS = "text/event-stream"
_DONE = re.compile(rb"[\r\n]data: ?\[DONE\]")
_CLOSING = re.compile(rb"[\r\n]event: ?(?:response\.(?:completed|failed|incomplete)|error)[\r\n]")  # its data follows
_TAIL = 64  # bytes; longer than any match


@dataclass(slots=True)
class EventStream:
    """Observes a stream of events as it passes: whether its last event was seen, and whether an event is incomplete."""

    _done: bool = False
    _closing: bool = False
    _tail: bytes = b"\n\n"

    def see(self, part: bytes) -> None:
        """Note a part that was sent."""
        window = self._tail + part
        if b"[DONE]" in window:  # much cheaper than the patterns, which hardly any part matches
            self._done = self._done or bool(_DONE.search(window))
        if b"event:" in window:
            self._closing = self._closing or bool(_CLOSING.search(window))
        self._tail = window[-_TAIL:]

    @property
    def ended(self) -> bool:
        """Whether the last event was seen, and is complete."""
        return self._done or (self._closing and not self.separator())

    def separator(self) -> bytes:
        """Return the bytes that end an incomplete event."""
        return b"" if self._tail.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) else b"\n\n"


@dataclass(slots=True)
class Relay:
    """One answer. `complete` tells afterwards whether the client got all of it."""

    response: httpx2.Response
    send: Send
    named_events: bool  # of the responses API
    complete: bool = False
    sent: int = 0

    async def run(self, own: Iterable[tuple[bytes, bytes]]) -> None:
        """Send the answer with headers of our own. If the upstream fails, a stream ends with an error event."""
        headers = self.response.headers.raw
        is_stream = value_of(headers, b"content-type").startswith(_EVENTS)
        extra = _of_streams(headers) if is_stream else []
        start = {"type": "http.response.start", "status": self.response.status_code}
        await self._send({**start, "headers": to_client(headers, [*extra, *own])})
        observed = EventStream()
        try:
            async for part in self.response.aiter_raw():
                observed.see(part)
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
                self.sent += len(part)
            self.complete = observed.ended or not (is_stream and self._may_be_cut())
        except TimeoutError:  # the client takes nothing; the connection is closed without the rest
            return
        except httpx2.HTTPError as error:
            _LOG.warning("the upstream failed after %d bytes: %s", self.sent, type(error).__name__)
            self.complete = observed.ended
        except asyncio.CancelledError:
            if is_stream and not observed.ended:
                with anyio.CancelScope(shield=True):
                    await self._failed(observed, "the proxy is stopping")
            raise
        if self.complete:
            await self._send({"type": "http.response.body"})
        elif is_stream:
            await self._failed(observed, "the upstream closed the connection before the end of its answer")

    def _may_be_cut(self) -> bool:
        """Whether only the end of the connection tells the end of the stream."""
        headers = self.response.headers
        return "transfer-encoding" not in headers and "content-length" not in headers

    async def _failed(self, observed: EventStream, message: str) -> None:
        frame = observed.separator() + error_frame(message, named=self.named_events)
        await self._send({"type": "http.response.body", "body": frame, "more_body": False})

    async def _send(self, message: Message) -> None:
        """Send a part. Waits until the client has taken earlier ones. Raises `TimeoutError`."""
        async with asyncio.timeout(_SEND_SECONDS):
            await self.send(message)


def _of_streams(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers that keep others from buffering a stream."""
    names = {key.lower() for key, _ in headers}
    wanted = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
    return [pair for pair in wanted if pair[0] not in names]
