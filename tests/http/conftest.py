"""A service over the indexed sample project, asked in process: real application, real stores, no socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from contextd.app.assemble import open_service, open_session
from contextd.app.service import Service
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import Guard, RequestLimits
from tests.conftest import SAMPLE, new_home, written

HOST = "http://127.0.0.1:8710"


@dataclass
class Asked:
    """A service and a client of it."""

    service: Service
    client: TestClient
    project: Path
    tokens: dict[str, str]

    def token(self, name: str, **options: Any) -> str:
        """A token of that name, made once."""
        if name not in self.tokens:
            self.tokens[name] = self.service.tokens.create(name, **options)
        return self.tokens[name]

    def call(
        self,
        method: str,
        route: str,
        /,
        body: Any = None,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Any:
        """The answer; `token` is the owner's unless another is given, None for none."""
        chosen = self.token("owner", may="admin", private=True) if token == "" else token
        own = {} if chosen is None else {"Authorization": f"Bearer {chosen}"}
        return self.client.request(method, route, json=body, params=query, headers={**own, **(headers or {})})

    def api(self, method: str, route: str, /, body: Any = None, **more: Any) -> Any:
        """The JSON of a route of the API, which must succeed."""
        answer = self.call(method, f"/api/v1{route}", body, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()


def serving(home: Path, limits: RequestLimits | None = None) -> tuple[Service, TestClient]:
    service = open_service({"CONTEXTD_HOME": str(home)}, follow=False)
    guard = Guard(Api(service).app(), service.tokens, port=8710, limits=limits or RequestLimits())
    return service, TestClient(guard, base_url=HOST, raise_server_exceptions=False)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Asked]:
    """One service for the tests of a module."""
    folder = tmp_path_factory.mktemp("service")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTEXTD_HOME", str(home))
        session = open_session(project, home=home, environment={})
        session.index()
        service, client = serving(home)
        with client:
            yield Asked(service, client, project, {})


@pytest.fixture
def fresh(home: Path, make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """A service for one test, which may change it."""
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    project = make_project()
    open_session(project, home=home, environment={}).index()
    service, client = serving(home)
    with client:
        yield Asked(service, client, project, {})
