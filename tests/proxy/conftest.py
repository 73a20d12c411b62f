"""The service with its proxy on a real socket, in front of an upstream that does what a test says."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from contextd.app.assemble import open_service, open_session
from contextd.app.service import Service
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import Guard, RequestLimits
from contextd.surfaces.http.server import Address, _config
from contextd.surfaces.proxy.endpoint import ProxyEndpoint
from tests.conftest import SAMPLE, new_home, written
from tests.proxy.upstream import CHAT, Upstream, answered

HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@dataclass
class Proxied:
    """A running service, its upstream, and clients of it."""

    service: Service
    endpoint: ProxyEndpoint
    upstream: Upstream
    home: Path
    project: Path
    port: int
    server: Any
    thread: threading.Thread
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=30, trust_env=False))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configure(self, **more: Any) -> None:
        """Write the settings of the proxy."""
        upstreams = more.pop("upstreams", {"fake": {"url": self.upstream.url}})
        aliases = more.pop("aliases", {})
        lines = ["[context.proxy]", *(f"{key} = {_toml(value)}" for key, value in {"open": True, **more}.items())]
        for name, table in upstreams.items():
            lines += [f"[context.proxy.upstreams.{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
        lines += ["[context.proxy.aliases]", *(f'"{key}" = {_toml(value)}' for key, value in aliases.items())]
        before = (self.home / "config.toml").stat().st_mtime_ns if (self.home / "config.toml").exists() else 0
        while True:  # the service notices a file by its time
            (self.home / "config.toml").write_text("\n".join(lines) + "\n")
            if (self.home / "config.toml").stat().st_mtime_ns != before:
                return
            time.sleep(0.001)

    def post(self, path: str = "/v1/chat/completions", body: Any = None, **more: Any) -> httpx2.Response:
        """The answer to a JSON request."""
        return self.http.post(f"{self.url}{path}", json=HELLO if body is None else body, **more)

    def raw(self, data: bytes, wait: float = 20.0) -> bytes:
        """What the proxy answers to bytes, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            connection.sendall(data)
            found = b""
            while part := connection.recv(65536):
                found += part
            return found

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def serving(home: Path, project: Path, upstream: Upstream, limits: RequestLimits | None = None) -> Proxied:
    """Start a service in a thread."""
    service = open_service({"CONTEXTD_HOME": str(home)}, follow=False)
    endpoint = ProxyEndpoint(service, local_only=True)
    api = Api(service, at_end=endpoint.close)
    guard = Guard(api.app(), service.tokens, limits=limits or RequestLimits(), proxy=endpoint)
    bound = socket.create_server(("127.0.0.1", 0), backlog=512)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)  # so that a slow client is noticed
    server = uvicorn.Server(_config(guard, Address()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    made = Proxied(service, endpoint, upstream, home, project, bound.getsockname()[1], server, thread)
    made.configure()
    return made


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Proxied]:
    """One service for the tests of a module."""
    folder = tmp_path_factory.mktemp("proxy")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTEXTD_HOME", str(home))
        open_session(project, home=home, environment={}).index()
        made = serving(home, project, Upstream())
        yield made
        made.stop()
        made.upstream.close()


@pytest.fixture
def proxied(running: Proxied) -> Proxied:
    """The service with its first settings, and an upstream that says hello."""
    running.configure()
    running.upstream.answer = lambda got: [answered(CHAT)]
    running.upstream.got.clear()
    running.upstream.closed.clear()
    running.upstream.sent = 0
    return running
