"""Send requests to upstreams. Redirects are not followed, and no request is repeated."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from contextd.app.upstreams import ChosenUpstream
from contextd.settings.defaults import Proxy
from contextd.surfaces.http.problems import RequestRefused

_POOL = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=15.0)


@dataclass(slots=True)
class UpstreamClients:
    """Connections to upstreams, kept open between requests. For one event loop."""

    _local: httpx2.AsyncClient | None = None
    _remote: httpx2.AsyncClient | None = None
    transport: httpx2.AsyncBaseTransport | None = field(default=None)

    @asynccontextmanager
    async def sent(
        self, upstream: ChosenUpstream, request: tuple[str, str, list[tuple[bytes, bytes]], bytes], settings: Proxy
    ) -> AsyncIterator[httpx2.Response]:
        """Send (method, path below the base URL, headers, body), and yield the answer. Raises `RequestRefused`."""
        method, path, headers, body = request
        times = httpx2.Timeout(
            settings.idle_seconds, connect=settings.connect_seconds, write=60.0, pool=settings.connect_seconds
        )
        client = self._client(remote=upstream.remote)
        try:
            made = client.build_request(method, f"{upstream.url}/{path}", headers=headers, content=body, timeout=times)
            response = await client.send(made, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failure(upstream.name, error) from None
        try:
            yield response
        finally:
            await response.aclose()

    def _client(self, *, remote: bool) -> httpx2.AsyncClient:
        """Return the client for this machine, which uses no HTTP proxy of the environment, or that for others."""
        if remote:
            self._remote = self._remote or self._made(trust_env=True)
            return self._remote
        self._local = self._local or self._made(trust_env=False)
        return self._local

    def _made(self, **options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(limits=_POOL, follow_redirects=False, transport=self.transport, **options)

    async def close(self) -> None:
        """Close all connections."""
        for client in (self._local, self._remote):
            if client is not None:
                await client.aclose()


def _failure(name: str, error: Exception) -> RequestRefused:
    """Return the answer for an upstream that sent none."""
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.InvalidURL | ssl.SSLError):
        return RequestRefused(
            502, "upstream_unreachable", f"the upstream {name!r} cannot be reached; run `contextd proxy test`"
        )
    if isinstance(error, httpx2.TimeoutException):
        return RequestRefused(504, "upstream_timeout", f"the upstream {name!r} did not answer in time")
    return RequestRefused(502, "upstream_disconnected", f"the upstream {name!r} closed the connection without an answer")
