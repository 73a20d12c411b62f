"""The proxy as an ASGI application: who asks, which upstream answers, what is sent there, and its answer as it comes."""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from contextd.app.interactions import InteractionLog
from contextd.app.proposals import MessageReader
from contextd.app.service import Service
from contextd.app.tokens import contains_token
from contextd.surfaces.http.guard import Receive, Scope, Send, as_reader
from contextd.surfaces.http.problems import RequestRefused
from contextd.surfaces.proxy.headers import passed_through, to_upstream, value_of
from contextd.surfaces.proxy.journal import ProxyOutcome, log
from contextd.surfaces.proxy.paths import RESPONSES, target_of
from contextd.surfaces.proxy.preparing import Prepared, ProxyRequest, prepared, with_block
from contextd.surfaces.proxy.relay import Relay
from contextd.surfaces.proxy.sending import UpstreamClients
from contextd.values.access_token import READ, AccessToken
from contextd.values.query import THE_OWNER

T = TypeVar("T")

_METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())
_NUMBER = re.compile(r"[0-9]{1,15}")
_MOST = 1000  # requests at once; more get 429
_THREADS, _ENRICHING = 4, 4  # threads that read requests, and that enrich them
_UNAUTHORIZED = (
    "a valid access token is needed: send it as the header x-contextd-token, or use the base URL /t/TOKEN/v1 "
    "(`contextd token create NAME`; `contextd config set proxy.open true` waives it on this machine)"
)
_ANYONE = AccessToken("", "proxy.open", b"", THE_OWNER, READ, 0)


@dataclass(slots=True)
class ProxyEndpoint:
    """The proxy of one service. `local_only`: other machines cannot reach the service."""

    service: Service
    local_only: bool = False
    body_bytes: int = 16 << 20
    clients: UpstreamClients = field(default_factory=UpstreamClients)
    via: str = field(default_factory=lambda: f"contextd-{secrets.token_hex(4)}")
    _threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))
    _enriching: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_ENRICHING))
    _active: int = 0
    messages: MessageReader = field(default_factory=MessageReader)
    journal: InteractionLog = field(init=False)

    def __post_init__(self) -> None:
        self.journal = InteractionLog(self.service.home.interactions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises `RequestRefused` before an answer has begun."""
        if self._active >= _MOST:
            raise RequestRefused(429, "too_many_requests", "too many requests at once; try again", [(b"retry-after", b"1")])
        self._active += 1
        try:
            await self._answer(_request(scope), receive, send)
        finally:
            self._active -= 1

    async def close(self) -> None:
        """Close the connections to upstreams."""
        await self.clients.close()

    async def _answer(self, request: ProxyRequest, receive: Receive, send: Send) -> None:
        self._check(request)
        token = await self._in_thread(lambda: self._token(request))
        body = await _received(receive, self.body_bytes)
        began = time.perf_counter()
        ready = await self._in_thread(lambda: prepared(self.service, request, token, body, self.body_bytes))
        ready = await self._enriched(ready)
        outcome = ProxyOutcome(time.perf_counter() - began)
        outgoing = (request.method, request.path, to_upstream(request.headers, ready.upstream, self.via), ready.body)

        async def relayed() -> None:
            async with self.clients.sent(ready.upstream, outgoing, ready.settings) as response:
                outcome.relay = Relay(response, send, request.target.endpoint.startswith(RESPONSES))
                await outcome.relay.run(_told(request, ready, outcome.enriching))

        try:
            await _while_connected(receive, relayed)
        finally:
            outcome.total = time.perf_counter() - began
            if request.is_understood:
                with anyio.CancelScope(shield=True):
                    await self._in_thread(lambda: log(self.service, self.journal, request, token, ready, outcome))
                self._read_message(token, ready)

    async def _enriched(self, ready: Prepared) -> Prepared:
        """Add a block, if one is made before the deadline. A thread that is late goes on, but its block is not used."""
        if (work := ready.enrichment) is None:
            return ready
        with anyio.move_on_after(ready.settings.deadline_ms / 1000):
            await anyio.to_thread.run_sync(work.run, limiter=self._enriching, abandon_on_cancel=True)
        return await self._in_thread(lambda: with_block(ready))

    def _read_message(self, token: AccessToken, ready: Prepared) -> None:
        """Look for facts in the last message of the user, if the settings say so and it is not private."""
        if ready.proposes and ready.enrichment is not None and not ready.held_back:
            self.messages.add(lambda: self.service.session(token), ready.enrichment.question)

    def _check(self, request: ProxyRequest) -> None:
        """Refuse requests that cannot be passed on, before their bodies are read."""
        if value_of(request.headers, b"upgrade"):  # clients then use plain HTTP; other answers make some of them give up
            raise RequestRefused(426, "upgrade_refused", "there are no web sockets here; use HTTP with server-sent events")
        if passed_through(request.headers, self.via):
            raise RequestRefused(508, "loop", "the request has come back to this proxy; check the URLs of the upstreams")
        if request.method not in _METHODS:
            raise RequestRefused(405, "method_not_allowed", f"{request.method} is not passed on")
        if not request.target.is_safe:
            raise RequestRefused(400, "invalid_path", "the path leaves that of the upstream")
        if contains_token(request.path):
            raise RequestRefused(
                400, "token_in_path", "the path below /v1 has an access token of contextd; correct the base URL"
            )
        length = value_of(request.headers, b"content-length") or "0"
        if not _NUMBER.fullmatch(length) or int(length) > self.body_bytes:
            raise RequestRefused(413, "too_large", f"the body of a request has at most {self.body_bytes:,} bytes")

    def _token(self, request: ProxyRequest) -> AccessToken:
        """Return the token of a request; runs in a thread. Raises `RequestRefused`."""
        given = value_of(request.headers, b"x-contextd-token") or request.target.token
        if not given and self.local_only and _is_loopback(request.peer) and self.service.settings().proxy.open:
            return as_reader(_ANYONE, request.asked("reader"))
        token = self.service.tokens.check(given)
        if token is None:
            raise RequestRefused(401, "unauthorized", _UNAUTHORIZED)
        return as_reader(token, request.asked("reader"))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)


def _request(scope: Scope) -> ProxyRequest:
    target = target_of(scope.get("raw_path", scope["path"].encode()).decode("latin-1"))
    if target is None:
        raise RequestRefused(404, "not_found", "no such route")
    peer = (scope.get("client") or ("",))[0]
    query = scope.get("query_string", b"").decode("latin-1")
    return ProxyRequest(scope["method"], target, query, scope["headers"], peer, scope["state"]["trace_id"])


def _told(request: ProxyRequest, ready: Prepared, seconds: float) -> list[tuple[bytes, bytes]]:
    """Return the headers that say what was done."""
    values = {"trace-id": request.trace_id, "status": ready.status, "ms": f"{1000 * seconds:.0f}"}
    if ready.tokens:
        values["tokens"] = str(ready.tokens)
    if kept := ["private"] * ready.held_back + ["token"] * ready.redacted:
        values["held-back"] = ", ".join(kept)
    return [(f"x-contextd-{name}".encode(), value.encode()) for name, value in values.items()]


async def _received(receive: Receive, most: int) -> bytes:
    """Return the body of a request. Raises `RequestRefused` if it is too long, or the client is gone."""
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestRefused(400, "disconnected", "the client closed the connection")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise RequestRefused(413, "too_large", f"the body of a request has at most {most:,} bytes")
        if not message.get("more_body", False):
            return b"".join(parts)


async def _while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do something, but end it when the client closes its connection. Raises `RequestRefused`."""
    refused: RequestRefused | None = None

    async def watch(scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, tasks.cancel_scope)
        try:
            await work()
        except RequestRefused as error:  # raised outside, since the group would wrap it
            refused = error
        tasks.cancel_scope.cancel()
    if refused is not None:
        raise refused


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
