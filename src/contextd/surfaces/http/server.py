"""The process of the service: socket, lock, signals, and a protocol that does not wait for slow headers."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from contextd import __version__
from contextd.app.machine import use_one_heap
from contextd.app.service import Service
from contextd.app.serving import already_running, announced, folder_of, running
from contextd.errors import InvalidInput, Unavailable
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import LOOPBACK, Guard, RequestLimits
from contextd.surfaces.proxy.endpoint import ProxyEndpoint

_DRAIN = 10  # seconds for requests in progress when the service is stopped
_HEADER_SECONDS = 10.0  # to receive the headers of a request
_SWITCH = 0.002  # seconds; with the default of .005 a question that is answered holds up 200 streams for longer
_IDLE_SECONDS = 30  # of a connection between two requests
_ANY = ("0.0.0.0", "::")  # noqa: S104 - recognized, not bound by default


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service listens, and under which names it may be addressed."""

    host: str = "127.0.0.1"
    port: int = 8710
    names: tuple[str, ...] = ()  # further host names, such as that of a proxy in front
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self) -> None:
        """Raise `InvalidInput` if others could reach the service and read what is sent."""
        if self.is_loopback or self.behind_proxy or (self.certificate and self.key):
            return
        raise InvalidInput(
            f"other machines could reach {self.host}, and tokens would be sent in clear text; "
            "give --tls-cert and --tls-key, or --behind-proxy if a proxy in front does TLS"
        )

    def allowed(self) -> frozenset[str]:
        """Return the names that a Host header may have."""
        own = {self.host} if self.host not in _ANY else set()
        return frozenset({*LOOPBACK, *own, *(name.lower() for name in self.names)})


def serve(service: Service, address: Address, *, limits: RequestLimits | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit code. Raises `Unavailable` if the port or the lock is taken."""
    address.check()
    use_one_heap()
    if (other := running(service.home.path)) is not None:
        raise Unavailable(already_running(other))
    bound = _bound(address)
    port = bound.getsockname()[1]
    scheme = "https" if address.certificate else "http"
    proxy = ProxyEndpoint(service, local_only=address.is_loopback and not address.behind_proxy)
    api = Api(service, warm=True, at_end=proxy.close)
    guard = Guard(
        api.app(),
        service.tokens,
        address.allowed(),
        0 if address.behind_proxy else port,
        limits or RequestLimits(),
        proxy,
    )
    host = "127.0.0.1" if address.host in (*_ANY, "localhost") else address.host
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    service.tokens.own(folder_of(service.home.path))
    with bound, announced(service.home.path, url, __version__, service.settings()):
        _logging()
        sys.setswitchinterval(_SWITCH)
        gc.freeze()  # modules live as long as the process; collections need not look at them
        sys.stderr.write(f"contextd is serving at {url} (process id {os.getpid()})\n")
        # The server closes its copy of the socket when it begins to stop. The port stays ours until the lock is free, so no
        # other program gets the tokens of clients that still see the lock.
        _Server(_config(guard, address), api).run(sockets=[bound.dup()])
    sys.stderr.write("stopped\n")
    return 0


def _config(guard: Guard, address: Address) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=_Protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_DRAIN,
        proxy_headers=False,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )


class _Server(uvicorn.Server):
    """A server that ends with exit code 0 when it is asked to stop, and ends its streams first."""

    def __init__(self, config: uvicorn.Config, api: Api) -> None:
        super().__init__(config)
        self._api = api

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle signals while the server runs. Unlike the original, they are not raised again afterwards."""
        before = {one: signal.signal(one, self._stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _stop(self, number: int, frame: Any) -> None:
        self._api.draining = True
        self.handle_exit(number, frame)
        self.force_exit = False  # a second signal does not cut requests in progress


class _Protocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose headers do not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. While its headers are incomplete, the timer of the first part goes on."""
        super().data_received(data)
        idle = self.cycle is None or self.cycle.response_complete
        self._wait() if idle else self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the timer."""
        self._go_on()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(_HEADER_SECONDS, self._late)

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self.transport.is_closing():
            self.transport.close()


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        made = socket.create_server((address.host, address.port), family=family, backlog=256)
        # asyncio sets this only on sockets that were made with the protocol's number. Without it, each answer waits 40 ms.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    except OSError as error:
        where = f"{address.host} port {address.port}: {error.strerror or error}"
        raise Unavailable(f"cannot listen on {where}; choose another port with --port (0: any free one)") from None


def _logging() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
