"""Holes of the proxy that attackers found: each was open before."""

from __future__ import annotations

import gzip
from base64 import b64encode
from dataclasses import replace

import pytest

from contextd.app.assemble import open_session
from contextd.errors import Forbidden
from contextd.surfaces.http.problems import RequestRefused
from contextd.surfaces.proxy.bodies import decompressed
from tests.proxy.conftest import Proxied
from tests.proxy.upstream import CHAT, answered, slowly


def test_cookies_of_an_upstream_went_out_with_the_requests_of_others(proxied: Proxied) -> None:
    proxied.upstream.answer = lambda got: [answered(CHAT, set_cookie="sess=ANA; Path=/")]
    for _ in range(2):
        assert proxied.post().status_code == 200
    assert all("cookie" not in one.headers for one in proxied.upstream.got)


@pytest.mark.parametrize("path", ["/t/{0}/t/{0}/v1/models", "/t/{0}/v1/models?api_key={0}", "/v1/t/{0}/v1/models"])
def test_a_token_in_the_path_or_the_query_reached_the_upstream(proxied: Proxied, path: str) -> None:
    token = proxied.service.tokens.create(f"chat {len(proxied.service.tokens.all())}")
    assert proxied.http.get(f"{proxied.url}{path.format(token)}").status_code == 400
    assert not proxied.upstream.got


@pytest.mark.parametrize("path", [b"/v1/..#", b"/v1/..%2fapi/delete", b"/v1/..%5capi", b"/v1/x\\..\\y"])
def test_a_path_left_that_of_the_upstream(proxied: Proxied, path: bytes) -> None:
    found = proxied.raw(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 4") and not proxied.upstream.got


def test_trace_sent_the_key_of_the_upstream(proxied: Proxied) -> None:
    assert proxied.http.request("TRACE", f"{proxied.url}/v1/models").status_code == 405 and not proxied.upstream.got


def test_a_missing_key_let_the_key_of_another_service_through(proxied: Proxied) -> None:
    proxied.configure(upstreams={"fake": {"url": proxied.upstream.url, "key_env": "NO_SUCH_KEY_IS_SET"}})
    proxied.post(headers={"authorization": "Bearer sk-of-another"})
    assert "authorization" not in proxied.upstream.got[0].headers


def test_a_follow_up_of_a_private_question_was_enriched(proxied: Proxied) -> None:
    open_session(proxied.project, home=proxied.home, environment={}).remember("I take sertraline for my depression")
    question = {"role": "user", "content": "Which antidepressant do I take for my depression?"}
    more = [{"role": "assistant", "content": "Tell me more."}, {"role": "user", "content": "Which one do I take?"}]
    assert proxied.post(body={"model": "m", "messages": [question, *more]}).status_code == 200
    assert b"sertraline" not in proxied.upstream.got[0].body


@pytest.mark.parametrize("budget", ["9" * 5000, "-1", "1e3"])
def test_a_budget_that_is_no_number_was_an_internal_error(proxied: Proxied, budget: str) -> None:
    assert proxied.post(headers={"x-contextd-budget": budget}).status_code == 400


def test_many_empty_members_of_a_body_took_seconds() -> None:
    with pytest.raises(RequestRefused, match="more than 64 members"):
        decompressed(gzip.compress(b"") * 5000, "gzip", 1 << 24)
    assert decompressed(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", 1 << 24) == b"ab"


def test_a_hidden_topic_could_be_moved_into_the_open(proxied: Proxied) -> None:
    with (proxied.home / "config.toml").open("a") as file:
        file.write('[context.privacy]\ntopics = ["hush"]\n')
    session = open_session(proxied.project, home=proxied.home, environment={})
    session.memories.add_topic("hush")
    session.memories.add_topic("child", "hush")
    outside = replace(session, private=False)
    with pytest.raises(Forbidden):
        outside.memories.add_topic("child")


def test_a_token_as_the_password_of_basic_reached_the_upstream(proxied: Proxied) -> None:
    """A base URL such as http://user:TOKEN@127.0.0.1:8710/v1 makes clients send it so; with proxy.open the request is passed on."""
    token = proxied.service.tokens.create("basic")
    for value in (f"user:{token}", f"{token}:", token):
        packed = b64encode(value.encode()).decode()
        for sent in (packed, packed.rstrip("=")):
            assert proxied.post(headers={"authorization": f"Basic {sent}"}).status_code == 200
            assert "authorization" not in proxied.upstream.got[-1].headers
    usual = b64encode(b"user:password").decode()
    proxied.post(headers={"authorization": f"Basic {usual}"})
    assert proxied.upstream.got[-1].headers["authorization"] == f"Basic {usual}"


def test_an_upstream_that_sends_interim_answers_without_end_is_given_up(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextd.surfaces.proxy.sending._WRITE_SECONDS", 0.5)
    proxied.configure(idle_seconds=1.0, connect_seconds=0.5)
    proxied.upstream.answer = lambda got: slowly([b"HTTP/1.1 102 Processing\r\n\r\n"] * 1000, 0.02)
    answer = proxied.post()
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    proxied.upstream.answer = lambda got: [b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3, answered(CHAT)]
    assert proxied.post().json() == CHAT
