"""What passes through: the same bytes in both directions, headers, tokens, paths, encodings."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

import pytest

from tests.proxy.conftest import HELLO, Proxied
from tests.proxy.upstream import CHAT, answered, chunked, events


def test_an_answer_arrives_as_the_upstream_sent_it(proxied: Proxied) -> None:
    body = json.dumps(CHAT, indent=1, ensure_ascii=False).encode()
    proxied.upstream.answer = lambda got: [
        answered(
            body, x_ratelimit_remaining="7", x_request_id="r1", openai_version="v", connection="keep-alive, x-hop", x_hop="1"
        )
    ]
    answer = proxied.post()
    assert answer.content == body
    headers = answer.headers
    assert (headers["x-ratelimit-remaining"], headers["x-request-id"], headers["openai-version"]) == ("7", "r1", "v")
    assert "x-hop" not in headers and headers["x-contextd-status"] == "bypassed" and headers["x-contextd-trace-id"]


def test_the_upstream_receives_the_body_and_the_headers_of_the_client(proxied: Proxied) -> None:
    body = b'{ "model":"m",  "messages": [{"content":"caf\\u00e9 \xc3\xa9","role":"user"}],"n":2, "x_new": 1e400 }'
    sent = {
        "content-type": "application/json",
        "authorization": "Bearer sk-upstream",
        "http-referer": "app",
        "x-title": "t",
        "cookie": "a=b",
    }
    proxied.http.post(f"{proxied.url}/v1/chat/completions?a=1%2F2&b", content=body, headers=sent)
    (got,) = proxied.upstream.got
    assert got.body == body
    assert got.line == "POST /v1/chat/completions?a=1%2F2&b HTTP/1.1"
    assert (got.headers["authorization"], got.headers["http-referer"], got.headers["x-title"]) == (
        "Bearer sk-upstream",
        "app",
        "t",
    )
    assert got.headers["host"] == f"127.0.0.1:{proxied.upstream.port}" and got.headers["accept-encoding"] == "identity"
    assert "cookie" not in got.headers and "x-contextd-token" not in got.headers


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"), ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("/chat/completions", "/v1/chat/completions"), ("/embeddings", "/v1/embeddings"), ("/v1/audio/speech", "/v1/audio/speech"),
        ("/v1/completions", "/v1/completions"), ("/v1/new/thing", "/v1/new/thing"), ("/responses", "/v1/responses"),
    ],
)  # fmt: skip
def test_a_missing_or_doubled_version_in_the_base_url_works(proxied: Proxied, path: str, there: str) -> None:
    assert proxied.post(path).status_code == 200
    assert proxied.upstream.got[0].path == there


def test_other_methods_and_models_are_passed_on(proxied: Proxied) -> None:
    proxied.upstream.answer = lambda got: [answered({"object": "list", "data": [{"id": "m"}]})]
    for path in ("/v1/models", "/models", "/v1/models/org%2Fmodel", "/v1/files/f1"):
        assert proxied.http.get(f"{proxied.url}{path}").json()["data"]
    assert proxied.http.delete(f"{proxied.url}/v1/files/f1").status_code == 200
    assert [got.path for got in proxied.upstream.got][2] == "/v1/models/org%2Fmodel"


def test_a_stream_is_relayed_part_by_part(proxied: Proxied) -> None:
    parts = events()
    proxied.upstream.answer = lambda got: chunked(parts)
    with proxied.http.stream("POST", f"{proxied.url}/v1/chat/completions", json=HELLO) as answer:
        assert answer.headers["content-type"] == "text/event-stream" and answer.headers["x-accel-buffering"] == "no"
        assert b"".join(answer.iter_raw()) == b"".join(parts)


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "gzip, zstd"])
def test_a_compressed_body_is_decompressed(proxied: Proxied, encoding: str) -> None:
    plain = body = json.dumps(HELLO).encode()
    for one in encoding.split(", "):
        body = gzip.compress(body) if one == "gzip" else _zstd(body)
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    assert proxied.http.post(f"{proxied.url}/v1/responses", content=body, headers=headers).status_code == 200
    assert proxied.upstream.got[0].body == plain and "content-encoding" not in proxied.upstream.got[0].headers


def _zstd(data: bytes) -> bytes:
    from backports import zstd

    return zstd.compress(data)


def test_P13_a_token_is_needed_and_stays_here(proxied: Proxied) -> None:
    token = proxied.service.tokens.create(f"app{os.urandom(3).hex()}")
    proxied.configure(open=False)
    assert proxied.post().status_code == 401
    assert proxied.post().json()["error"]["code"] == "unauthorized"
    assert proxied.post(headers={"authorization": f"Bearer {token}"}).status_code == 401  # belongs to the upstream
    assert proxied.post(headers={"x-contextd-token": token + "x"}).status_code == 401
    assert not proxied.upstream.got
    assert proxied.post(headers={"x-contextd-token": token}).status_code == 200
    assert proxied.post(f"/t/{token}/v1/chat/completions").status_code == 200
    assert proxied.post(f"/t/{token}/chat/completions", headers={"authorization": f"Bearer {token}"}).status_code == 200
    assert [got.path for got in proxied.upstream.got] == ["/v1/chat/completions"] * 3
    assert not any(token in f"{got.line} {got.headers}" for got in proxied.upstream.got)


def test_an_open_proxy_still_refuses_a_wrong_token(proxied: Proxied) -> None:
    assert proxied.post(headers={"x-contextd-token": "ctd_wrong"}).status_code == 401


def test_open_holds_on_this_machine_only(proxied: Proxied) -> None:
    proxied.endpoint.local_only = False
    try:
        assert proxied.post().status_code == 401
    finally:
        proxied.endpoint.local_only = True


def test_a_key_of_the_environment_replaces_that_of_the_client(proxied: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-of-the-user")
    proxied.configure(upstreams={"fake": {"url": proxied.upstream.url, "key_env": "FAKE_KEY"}})
    answer = proxied.post(headers={"authorization": "Bearer sk-client"})
    assert proxied.upstream.got[0].headers["authorization"] == "Bearer sk-of-the-user"
    assert "sk-of-the-user" not in str(answer.headers) + answer.text


def test_an_alias_chooses_the_upstream_and_the_model(proxied: Proxied) -> None:
    proxied.configure(
        upstreams={"gone": {"url": "http://127.0.0.1:9/v1"}, "fake": {"url": proxied.upstream.url}},
        aliases={"fast": "fake/qwen3:8b", "same": "fake"},
    )
    assert proxied.post(body={**HELLO, "model": "fast"}).status_code == 200
    assert proxied.post(body={**HELLO, "model": "same"}).status_code == 200
    assert [got.json["model"] for got in proxied.upstream.got] == ["qwen3:8b", "same"]
    assert proxied.post().status_code == 502  # the first upstream
    proxied.configure(upstreams={})
    assert (proxied.post().status_code, proxied.post().json()["error"]["code"]) == (404, "not_found")


def test_P14_no_url_of_a_request_is_used(proxied: Proxied) -> None:
    for headers in ({"x-upstream": "http://127.0.0.1:9"}, {"x-contextd-upstream": "other"}, {"x-forwarded-host": "evil"}):
        assert (
            proxied.post(
                body={**HELLO, "model": "http://127.0.0.1:9/v1", "base_url": "http://127.0.0.1:9"}, headers=headers
            ).status_code
            == 200
        )
    assert len(proxied.upstream.got) == 3
    for path in ("/v1/../admin", "/v1/%2e%2e/admin", "/v1/./models"):
        answer = proxied.raw(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400")


def test_a_web_socket_is_refused_in_a_way_that_clients_survive(proxied: Proxied) -> None:
    answer = proxied.raw(
        b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-key: dGVzdGluZ3Rlc3Rpbmc=\r\nsec-websocket-version: 13\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 426 ") and b'"upgrade_refused"' in answer


def test_P18_a_request_that_comes_back_is_recognized(proxied: Proxied) -> None:
    proxied.configure(upstreams={"itself": {"url": f"{proxied.url}/v1"}})
    answer = proxied.post()
    assert (answer.status_code, answer.json()["error"]["code"]) == (508, "loop")


def test_pages_of_other_origins_and_hosts_are_refused(proxied: Proxied) -> None:
    assert proxied.post(headers={"origin": "https://evil.example"}).status_code == 403
    assert proxied.post(headers={"host": "evil.example"}).status_code == 421
    assert not proxied.upstream.got


@pytest.mark.parametrize("spare", [{"messages": 5}, {}])
def test_other_routes_are_not_touched_by_the_proxy(proxied: Proxied, spare: dict[str, Any]) -> None:
    assert proxied.http.post(f"{proxied.url}/api/v1/search", json=spare).status_code == 401
    assert proxied.http.get(f"{proxied.url}/v2/models").status_code == 401
    assert proxied.http.get(f"{proxied.url}/healthz").json() == {"status": "ok"}
