"""The gate in front of all routes: Host and Origin, tokens, media types, limits on size, time and number of requests.

A refused request reaches no handler, and its body is not read. Of requests to the proxy only Host, Origin and headers are
checked here; the proxy has tokens and limits of its own.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread

from contextd.app.asking import reader_of
from contextd.app.tokens import TokenService
from contextd.errors import ContextdError, InvalidInput
from contextd.surfaces.http.problems import MEDIA_TYPE, UNAUTHORIZED, RequestRefused, problem
from contextd.surfaces.proxy.failures import refusal
from contextd.surfaces.proxy.paths import target_of
from contextd.values.access_token import ADMIN, AccessToken

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/healthz", "/readyz"})  # routes without a token
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]{1,253})(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(?P<host>[^/\s]+)")
_SAME_SITE = frozenset({"", "same-origin", "none"})
_BEARER = re.compile(r"Bearer +(\S+)", re.IGNORECASE)
_ONCE = frozenset({"host", "origin", "sec-fetch-site", "authorization", "x-api-key"})  # headers that may not be repeated
_WRITES = frozenset({"POST", "PUT", "PATCH"})
_RETRY_AFTER = b"1"
_LOG = logging.getLogger("contextd.http")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """RequestLimits on requests."""

    body_bytes: int = 16 << 20
    body_seconds: float = 30.0  # to receive the body
    at_once: int = 64  # requests in progress; more get 429
    headers: int = 100


@dataclass(slots=True)
class Guard:
    """Wraps an application. `hosts` are the names under which the service may be addressed."""

    app: App
    tokens: TokenService
    hosts: frozenset[str] = LOOPBACK
    port: int = 0  # 0: any
    limits: RequestLimits = field(default_factory=RequestLimits)
    proxy: App | None = None
    _active: int = 0
    _threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on, or answer it with a problem document."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        trace_id = secrets.token_hex(8)
        scope.setdefault("state", {})["trace_id"] = trace_id
        if self.proxy is not None and target_of(scope["path"]) is not None:
            await self._proxied(self.proxy, scope, receive, _ProxyReply(send, trace_id))
            return
        reply = _Reply(send, trace_id)
        try:
            await self._checked(scope)
            await self._limited(scope, receive, reply)
        except RequestRefused as refused:
            await reply.refuse(refused)

    async def _proxied(self, proxy: App, scope: Scope, receive: Receive, reply: _ProxyReply) -> None:
        """Pass a request of an OpenAI client on. Errors have the shape that such clients expect."""
        try:
            self._check_headers(scope)
            await proxy(scope, _Body(receive, self.limits).receive, reply.send)
        except RequestRefused as refused:
            await reply.refuse(refused)
        except Exception as error:  # a bug: only this request fails
            _LOG.error("request %s failed", reply.trace_id, exc_info=error)
            detail = f"an error in contextd ({type(error).__name__}); the log has it as {reply.trace_id}"
            await reply.refuse(RequestRefused(500, "internal", detail))

    def _check_headers(self, scope: Scope) -> dict[str, str]:
        """Check what every request must have, and return its headers by name."""
        headers = _headers(scope)
        if len(scope["headers"]) > self.limits.headers:
            raise RequestRefused(431, "too_many_headers", f"a request has at most {self.limits.headers} headers")
        if "content-length" in headers and "transfer-encoding" in headers:
            raise RequestRefused(400, "invalid_input", "a body has a length or comes in chunks, not both")
        self._check_host(headers.get("host", ""))
        self._check_origin(headers)
        return headers

    async def _checked(self, scope: Scope) -> None:
        headers = self._check_headers(scope)
        if scope["path"] in OPEN:
            return
        scope["state"]["token"] = await self._token(headers)
        if scope["method"] in _WRITES and not _is_json(headers.get("content-type", "")):
            raise RequestRefused(415, "unsupported_media_type", "the body must be JSON; send `Content-Type: application/json`")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.limits.body_bytes:
            raise _too_large(self.limits)

    def _check_host(self, given: str) -> None:
        """Refuse names that are not ours: a page of another site may have its name resolve to this machine."""
        match = _HOST.fullmatch(given)
        name = match["name"].strip("[]").lower() if match else ""
        if not match or _plain(name) not in self.hosts or (match["port"] and self.port and int(match["port"]) != self.port):
            raise RequestRefused(421, "wrong_host", "the Host header does not name this service")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse requests from pages of other origins."""
        origin = headers.get("origin")
        if origin is not None:
            match = _ORIGIN.fullmatch(origin)
            if not match or match["host"].lower() != headers.get("host", "").lower():
                raise RequestRefused(403, "wrong_origin", "requests from pages of other origins are not answered")
        if headers.get("sec-fetch-site", "") not in _SAME_SITE:
            raise RequestRefused(403, "wrong_origin", "requests from pages of other sites are not answered")

    async def _token(self, headers: Mapping[str, str]) -> AccessToken:
        match = _BEARER.fullmatch(headers.get("authorization", ""))
        given = match[1] if match else headers.get("x-api-key", "")
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(2)  # of its own, so that slow queries do not delay the check
        token = await anyio.to_thread.run_sync(self.tokens.check, given, limiter=self._threads)
        if token is None:
            challenge = [(b"www-authenticate", b'Bearer realm="contextd"')]
            raise RequestRefused(*UNAUTHORIZED, challenge)
        if headers.get("x-contextd-private") == "0":
            token = replace(token, private=False)
        return as_reader(token, headers.get("x-contextd-reader"))

    async def _limited(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        if self._active >= self.limits.at_once:
            raise RequestRefused(
                429, "too_many_requests", "too many requests at once; try again", [(b"retry-after", _RETRY_AFTER)]
            )
        self._active += 1
        try:
            await self.app(scope, _Body(receive, self.limits).receive, reply.send)
        finally:
            self._active -= 1


@dataclass(slots=True)
class _Body:
    """Receives a body within its limits."""

    inner: Receive
    limits: RequestLimits
    received: int = 0
    complete: bool = False
    deadline: float = 0.0  # for all parts together; set when the first is waited for

    async def receive(self) -> Message:
        """Return the next part. Raises `RequestRefused` if the body is too long or too slow."""
        if self.complete:
            return await self.inner()  # waits for the client to disconnect
        try:
            self.deadline = self.deadline or asyncio.get_running_loop().time() + self.limits.body_seconds
            async with asyncio.timeout_at(self.deadline):
                message = await self.inner()
        except TimeoutError:
            raise RequestRefused(408, "timed_out", "the body of the request did not arrive in time") from None
        self.received += len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self.received > self.limits.body_bytes:
            raise _too_large(self.limits)
        return message


@dataclass(slots=True)
class _Reply:
    """Sends an answer, with the headers that every answer has."""

    inner: Send
    trace_id: str
    begun: bool = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.begun = True
            message["headers"] = [
                *message.get("headers", []),
                (b"x-contextd-trace-id", self.trace_id.encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"cache-control", b"no-store"),
            ]
        await self.inner(message)

    async def refuse(self, refused: RequestRefused) -> None:
        """Answer with a problem document, unless an answer has begun. The connection ends, since a body may follow."""
        if self.begun:
            return
        body = problem(refused.status, refused.code, str(refused), self.trace_id)
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"connection", b"close"), *refused.headers]
        await self.send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


@dataclass(slots=True)
class _ProxyReply:
    """Sends an answer of the proxy."""

    inner: Send
    trace_id: str
    begun: bool = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self.begun = True
        await self.inner(message)

    async def refuse(self, refused: RequestRefused) -> None:
        """Answer with an error of OpenAI's API, unless an answer has begun."""
        if self.begun:
            return
        headers, body = refusal(refused)
        headers.append((b"x-contextd-trace-id", self.trace_id.encode()))
        await self.send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; of a repeated one the last, except that a repeated Host or Origin is an invalid one."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = "," if key in _ONCE and key in found else value.decode("latin-1")
    return found


def _plain(name: str) -> str:
    """Return a host name, or the canonical form of an address."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _is_json(media_type: str) -> bool:
    return media_type.split(";")[0].strip().lower() == "application/json"


def _too_large(limits: RequestLimits) -> RequestRefused:
    return RequestRefused(413, "too_large", f"the body of a request has at most {limits.body_bytes:,} bytes")


def as_reader(token: AccessToken, name: str | None) -> AccessToken:
    """Return the token acting as another reader, which only an administrator may ask for."""
    if name is None:
        return token
    if not token.allows(ADMIN) or token.workspaces:
        raise RequestRefused(403, "forbidden", "only a token with the right admin for all projects may act as another reader")
    try:
        return replace(token, reader=reader_of(name))
    except (InvalidInput, ContextdError) as error:
        raise RequestRefused(400, "invalid_input", str(error)) from None
