"""Holes of the proxy that attackers found: each was open before."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.errors import Forbidden
from contextd.surfaces.http.problems import RequestRefused
from contextd.surfaces.proxy.bodies import decompressed
from tests.proxy.conftest import HELLO, Proxied
from tests.proxy.test_log import entry
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
    _away(proxied)
    assert proxied.post(body={"model": "m", "messages": [question, *more]}).status_code == 200
    assert b"sertraline" not in proxied.upstream.got[0].body


def _away(proxied: Proxied, **more: Any) -> None:
    """Make the upstream one of another machine."""
    proxied.configure(upstreams={"fake": {"url": proxied.upstream.url, "remote": True}}, **more)


_DEPRESSED, _OTHER = "I was diagnosed with depression last week.", "The train to Porto leaves at nine and arrives at noon. "


@pytest.mark.parametrize("place", ["middle", "20 messages before", "long before"])
def test_a_private_sentence_in_a_long_conversation_was_overlooked(proxied: Proxied, place: str) -> None:
    _away(proxied)
    earlier = [_DEPRESSED] if place == "20 messages before" else [f"{_OTHER * 200} {_DEPRESSED} {_OTHER * 200}"]
    messages = [{"role": "user", "content": text} for text in earlier]
    if place != "middle":
        messages += [{"role": role, "content": f"{_OTHER} {n}"} for n in range(10) for role in ("assistant", "user")]
        messages += [{"role": "user", "content": "Which shoes should I buy?"}]
    answer = proxied.post(body={"model": "m", "messages": messages})
    assert (answer.headers["x-contextd-status"], answer.headers.get("x-contextd-held-back")) == ("bypassed", "private")


def test_rules_held_back_the_context_of_a_model_on_this_machine(proxied: Proxied) -> None:
    session = open_session(proxied.project, home=proxied.home, environment={})
    fact = session.remember("My dentist appointment is on 14 May at Doctor Quill").memory
    body = {"model": "m", "messages": [{"role": "user", "content": "When is my dentist appointment?"}]}
    answer = proxied.post(body=body)
    assert b"Quill" in proxied.upstream.got[-1].body and "x-contextd-held-back" not in answer.headers
    assert proxied.post(body=body, headers={"x-contextd-private": "1"}).headers["x-contextd-held-back"] == "private"
    proxied.configure(private="everywhere")
    assert proxied.post(body=body).headers["x-contextd-held-back"] == "private"
    _away(proxied)
    assert proxied.post(body=body).headers["x-contextd-held-back"] == "private"
    assert sum(b"Quill" in got.body for got in proxied.upstream.got) == 1
    session.forget(fact.id)


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


def test_a_token_in_another_shape_reached_the_upstream(proxied: Proxied) -> None:
    token = proxied.service.tokens.create("shapes")
    escaped = token.replace("_", "%5F")
    packed = b64encode(f"user:{token}".encode()).decode()
    shapes = {"plain": token, "escaped": escaped, "twice": escaped.replace("%", "%25"), "packed": packed}
    shapes |= {"url": packed.replace("+", "-").replace("/", "_").rstrip("="), "inside": f"Token key={packed}"}
    shapes |= {"both": b64encode(escaped.encode()).decode(), "packed twice": b64encode(packed.encode()).decode()}
    for name in ("via", "x-api-key", "authorization", "user-agent"):
        for shape, value in shapes.items():
            assert proxied.post(headers={name: value}).status_code == 200
            sent = proxied.upstream.got[-1].headers.get(name, "")
            assert value not in sent, (name, shape)
    assert proxied.post(headers={token: "1"}).status_code == 200
    assert token.lower() not in proxied.upstream.got[-1].headers
    for shape in ("escaped", "twice", "packed"):
        found = proxied.http.get(f"{proxied.url}/v1/models?api_key={shapes[shape].replace('=', '%3D')}")
        assert found.json()["error"]["code"] == "token_in_path", shape


def test_a_token_in_a_body_reached_the_upstream(proxied: Proxied) -> None:
    """An agent that reads its own settings puts the token of its base URL into a result of a tool."""
    token = proxied.service.tokens.create("body")
    base = f"http://127.0.0.1:8710/t/{token}/v1"
    messages = [{"role": "tool", "content": f'{{"base_url": "{base}"}}'}, {"role": "user", "content": "What is it?"}]
    body = {"model": "m", "messages": messages}
    clean = json.loads(json.dumps(body).replace(token, "[REDACTED]"))
    packed = gzip.compress(json.dumps(body).encode())
    for answer in (
        proxied.post(body=body),
        proxied.post(body=body, headers={"x-contextd-bypass": "1"}),
        proxied.post("/v1/embeddings", body),
        proxied.http.post(f"{proxied.url}/v1/chat/completions", content=packed, headers={"content-encoding": "gzip"}),
    ):
        assert answer.headers["x-contextd-held-back"] == "token"
        assert proxied.upstream.got[-1].json == clean
    assert "x-contextd-held-back" not in proxied.post(body=clean).headers


def test_headers_that_only_look_encoded_are_passed_on(proxied: Proxied) -> None:
    values = {"x-long": b64encode(bytes(range(256)) * 4).decode(), "x-escaped": "100%25 of %E4%B8%AD", "via": "1.0 fred"}
    proxied.post(headers=values)
    sent = proxied.upstream.got[-1].headers
    assert sent["x-long"] == values["x-long"] and sent["x-escaped"] == values["x-escaped"]
    assert sent["via"].startswith("1.0 fred, 1.1 contextd-")


@pytest.mark.parametrize("path", ["%252e%252e/admin", "%25252e%25252e/admin", "x%255c..%255cy", "%" + "25" * 40 + "2e"])
def test_a_path_that_was_escaped_twice_left_that_of_the_upstream(proxied: Proxied, path: str) -> None:
    found = proxied.raw(f"GET /v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 400") and not proxied.upstream.got


_PLANTED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n" + b'"planted"'


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("is_remote", [False, True])
def test_bytes_after_an_answer_were_the_answer_to_the_next_request(proxied: Proxied, name: str, is_remote: bool) -> None:
    url = proxied.upstream.url.replace("127.0.0.1", name)
    proxied.configure(upstreams={"fake": {"url": url, "remote": is_remote}})
    firsts = {
        "POST": answered(CHAT) + _PLANTED,
        "HEAD": answered(b"") + _PLANTED,
        "GET": answered(b"", "304 Not Modified") + _PLANTED,
    }
    for method, first in firsts.items():
        for together in (True,) if method == "POST" else (True, False):
            parts = [first] if together else [first.removesuffix(_PLANTED), _PLANTED]
            proxied.upstream.answer = lambda got, parts=parts: parts  # type: ignore[misc]
            proxied.http.request(method, f"{proxied.url}/v1/chat/completions", json=HELLO if method == "POST" else None)
            proxied.upstream.answer = lambda got: [answered(CHAT)]
            assert [proxied.post().json() for _ in range(2)] == [CHAT, CHAT], (method, together)


def test_bytes_after_a_chunk_are_no_answer_and_no_error(proxied: Proxied) -> None:
    """Chunks that came together are relayed together; what only looks like one, after an answer or in a broken one, is not."""
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    looks = b"\r\n5\r\nhello"
    for parts, body in (
        (stream + b"3\r\nabc\r\n2;x=1\r\nde\r\n1\r\nf\r\n0\r\n\r\n" + looks, b"abcdef"),
        (stream + b"3\r\nabc\r\n00002\r\nde\r\n0\r\nx-t: 1\r\n\r\n", b"abcde"),
        (answered(b"abc") + looks, b"abc"),
    ):
        proxied.upstream.answer = lambda got, parts=parts: [parts]  # type: ignore[misc]
        assert proxied.post(body={**HELLO, "stream": True}).content == body
        proxied.upstream.answer = lambda got: [answered(CHAT)]
        assert proxied.post().json() == CHAT
    proxied.upstream.answer = lambda got: [stream + b"3\r\nabc\r\n2\r\nde5\r\nhello\r\n0\r\n\r\n"]  # no end of a chunk
    found = proxied.post(body={**HELLO, "stream": True}).content
    assert found.startswith(b"abcde") and b"upstream_disconnected" in found and b"hello" not in found


def test_a_connection_is_used_again_after_an_ordinary_answer(proxied: Proxied) -> None:
    for _ in range(3):
        proxied.post()
    assert len({got.peer for got in proxied.upstream.got}) == 1


def test_the_name_of_a_model_was_logged_as_it_came(proxied: Proxied) -> None:
    token = proxied.service.tokens.create("model")
    escaped, key = token.replace("_", "%5F"), "AKIAIOSFODNN7QWERTYU"
    sent = {"": escaped, "m" * 200: "m" * 5000, "plain:8b": "plain:8b"}
    for logged, model in (*sent.items(), ("[REDACTED]", token), (None, f"a model with {key}")):
        answer = proxied.post(body={**HELLO, "model": model})
        one = entry(proxied, answer.headers["x-contextd-trace-id"])
        assert one.model == logged or (logged is None and key not in one.model and one.model)
        assert proxied.upstream.got[-1].json["model"] == model.replace(token, "[REDACTED]")  # else what the client sent
    data = b"".join(path.read_bytes() for path in proxied.home.glob("log.db*"))
    assert not [text for text in (token, escaped, key, "m" * 201) if text.encode() in data]
