"""The gate: Host, Origin, tokens, media types, limits. Every route is tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.http.guard import OPEN, RequestLimits
from contextd.surfaces.wire.routes import ROUTES
from contextd.values.access_token import RIGHTS
from tests.http.conftest import Asked, serving

EVERY = [
    *((route.method, route.path.replace("{", "").replace("}", "")) for route in ROUTES),
    ("GET", "/api/v1/jobs/x/events"), ("GET", "/api/v1/openapi.json"), ("POST", "/rpc"), ("POST", "/mcp"), ("GET", "/metrics"), ("GET", "/healthz"), ("GET", "/readyz"),
    ("OPTIONS", "/api/v1/search"), ("OPTIONS", "/mcp"), ("GET", "/nowhere"), ("GET", "/"),
]  # fmt: skip
BAD_HOSTS = [
    "evil.example", "127.evil.com", "localhost.evil.com", "[::ffff:127.0.0.1]", "", "127.0.0.1:9999", "127.0.0.1.evil.example:8710",
    "127.0.0.1@evil.example", "localhost:8710/x", "0x7f.1", "2130706433", "127.1", "[::1", "localhost,evil.example",
]  # fmt: skip


@pytest.mark.parametrize("method, path", EVERY)
def test_M1_another_host_name_reaches_no_route(asked: Asked, method: str, path: str) -> None:
    for host in BAD_HOSTS:
        answer = asked.call(method, path, headers={"Host": host})
        assert answer.status_code == 421, (host, answer.text)
        assert answer.json()["code"] == "wrong_host"


@pytest.mark.parametrize("host", ["127.0.0.1:8710", "localhost:8710", "[::1]:8710", "127.0.0.1", "LOCALHOST:8710"])
def test_M1_names_of_this_machine_are_answered(asked: Asked, host: str) -> None:
    assert asked.call("GET", "/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("method, path", EVERY)
def test_M2_a_page_of_another_origin_reaches_no_route(asked: Asked, method: str, path: str) -> None:
    for headers in (
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:3000"}, {"Origin": "http://localhost"},
        {"Origin": "chrome-extension://abcdefgh"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ):  # fmt: skip
        answer = asked.call(method, path, headers=headers)
        assert answer.status_code == 403, (headers, answer.text)
        assert "access-control-allow-origin" not in answer.headers


def test_M2_the_own_origin_is_answered(asked: Asked) -> None:
    own = {"Origin": "http://127.0.0.1:8710", "Sec-Fetch-Site": "same-origin"}
    assert asked.call("GET", "/api/v1/projects", headers=own).status_code == 200


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_M2_a_form_cannot_write(asked: Asked, media_type: str) -> None:
    token = asked.token("owner", may="admin", private=True)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": media_type}
    for route in (route for route in ROUTES if route.has_body):
        answer = asked.client.request(route.method, route.path, content=b'{"text": "x"}', headers=headers)
        assert answer.status_code == 415, answer.text


@pytest.mark.parametrize("method, path", [one for one in EVERY if one[1] not in OPEN])
def test_M3_every_route_needs_a_token(asked: Asked, method: str, path: str) -> None:
    good = asked.token("reader")
    for token in (
        None,
        "nonsense",
        good[:-1] + ("A" if good[-1] != "A" else "B"),
        good.upper(),
        "ctd_0123456789abcdef_" + "x" * 43,
    ):
        answer = asked.call(method, path, token=token)
        assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer"), answer.text


def test_a_token_may_come_as_an_api_key(asked: Asked) -> None:
    key = {"X-API-Key": asked.token("reader")}
    assert asked.call("GET", "/api/v1/projects", token=None, headers=key).status_code == 200


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_route_needs_its_right_and_a_lower_one_is_refused(asked: Asked, route: object) -> None:
    path = route.path.replace("{", "").replace("}", "")  # type: ignore[attr-defined]
    for may in RIGHTS:
        answer = asked.call(route.method, path, {} if route.has_body else None, token=asked.token(may, may=may))  # type: ignore[attr-defined]
        enough = RIGHTS.index(may) >= RIGHTS.index(route.may)  # type: ignore[attr-defined]
        assert (answer.status_code != 403) == enough, (may, answer.text)


def test_a_rebuild_needs_the_right_admin_although_other_jobs_do_not(asked: Asked) -> None:
    job = {"kind": "rebuild", "confirm": True, "project": str(asked.project)}
    assert asked.call("POST", "/api/v1/jobs", job, token=asked.token("write", may="write")).status_code == 403


def test_an_expired_or_revoked_token_is_refused_at_once(fresh: Asked) -> None:
    short = fresh.token("short", expires="1h")
    assert fresh.call("GET", "/api/v1/projects", token=short).status_code == 200
    now = fresh.service.tokens.clock()
    object.__setattr__(fresh.service.tokens, "clock", lambda: now + 3_600_000_001)
    assert fresh.call("GET", "/api/v1/projects", token=short).status_code == 401
    long = fresh.token("long")
    assert fresh.call("GET", "/api/v1/projects", token=long).status_code == 200
    fresh.service.tokens.revoke("long")
    assert fresh.call("GET", "/api/v1/projects", token=long).status_code == 401


def test_only_an_administrator_may_act_as_another_reader(asked: Asked) -> None:
    as_ana = {"X-Contextd-Reader": "ana"}
    assert asked.call("GET", "/api/v1/projects", token=asked.token("write", may="write"), headers=as_ana).status_code == 403
    assert asked.call("GET", "/api/v1/projects", headers=as_ana).status_code == 200
    assert asked.call("GET", "/api/v1/projects", headers={"X-Contextd-Reader": "everyone"}).status_code == 400


def test_P7_a_body_that_is_too_long_is_refused_with_or_without_a_length(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    open_session(None, home=home, environment={})
    service, client = serving(home, RequestLimits(body_bytes=1000))
    headers = {"Authorization": f"Bearer {service.tokens.create('x', may='admin')}", "Content-Type": "application/json"}
    long = json.dumps({"query": "x" * 2000}).encode()
    with client:
        assert client.post("/api/v1/search", content=long, headers=headers).status_code == 413
        parts = client.post("/api/v1/search", content=iter([long[:900], long[900:]]), headers=headers)
        assert parts.status_code == 413 and parts.json()["code"] == "too_large"
        assert client.post("/api/v1/search", content=b'{"query": "x"}', headers=headers).status_code == 200


def test_a_repeated_origin_or_token_is_refused(asked: Asked) -> None:
    token = asked.token("reader")
    own = [("Host", "127.0.0.1:8710"), ("Authorization", f"Bearer {token}")]
    twice = [*own, ("Origin", "https://evil.example"), ("Origin", "http://127.0.0.1:8710")]
    assert asked.client.get("/api/v1/projects", headers=twice).status_code == 403
    assert asked.client.get("/api/v1/projects", headers=[*own, ("Authorization", "Bearer x")]).status_code == 401


def test_too_many_headers_are_refused(asked: Asked) -> None:
    answer = asked.call("GET", "/healthz", headers={f"x-{n}": "1" for n in range(200)})
    assert answer.status_code == 431


def test_every_answer_names_its_trace_and_is_not_cached(asked: Asked) -> None:
    seen = set()
    for method, path in EVERY[:20]:
        answer = asked.call(method, path)
        seen.add(answer.headers["x-contextd-trace-id"])
        assert answer.headers["cache-control"] == "no-store" and answer.headers["x-content-type-options"] == "nosniff"
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["trace_id"] == answer.headers["x-contextd-trace-id"]
    assert len(seen) == 20


def test_the_table_of_rights_in_the_documents_is_the_one_of_the_service() -> None:
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    for route in ROUTES:
        assert f"| `{route.method} {route.path}` | {route.may} |" in text, route.name
