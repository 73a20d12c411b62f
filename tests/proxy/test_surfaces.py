"""P-10: every surface of the API passes through untouched, and is enriched only where it is understood. Property: answers are the upstream's bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxy.conftest import Proxied
from tests.proxy.upstream import answered, chunked

QUESTION = "How is a user loaded by name?"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}, "strict": True}}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}
USER = {"role": "user", "content": QUESTION}
# Requests of each surface, by path, with whether they are enriched.
SURFACES: list[tuple[str, dict[str, Any], bool]] = [
    ("chat/completions", {"messages": [USER], "n": 3, "logprobs": True, "top_logprobs": 2, "seed": 1, "stop": ["a"]}, True),
    ("chat/completions", {"messages": [USER], "tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False}, True),
    ("chat/completions", {"messages": [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": "none"}], "tools": [TOOL]}, True),
    ("chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}, IMAGE, AUDIO]}], "modalities": ["text", "audio"]}, True),
    ("chat/completions", {"messages": [{"role": "developer", "content": "Be brief."}, USER, {"role": "assistant", "content": "It is", "prefix": True}]}, True),
    ("chat/completions", {"messages": [{"role": "user", "content": [IMAGE]}]}, False),
    ("chat/completions", {"messages": [USER], "reasoning_effort": "high", "x_new_2027": {"deep": [1.0, None]}, "service_tier": "flex"}, True),
    ("chat/completions", {"messages": [USER], "functions": [{"name": "look"}], "function_call": "auto"}, True),
    ("responses", {"input": QUESTION, "store": False, "reasoning": {"summary": "auto"}, "include": ["a"], "x_new": 1}, True),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}, {"type": "input_image", "image_url": "data:,"}]}]}, True),
    ("responses", {"input": [{"type": "function_call_output", "call_id": "1", "output": "x"}], "previous_response_id": "r1"}, False),
    ("responses", {"prompt": {"id": "p1", "version": "2"}}, False),
    ("completions", {"prompt": [QUESTION, "x"], "suffix": "y", "echo": True}, False),
    ("embeddings", {"input": [[1, 2, 3]], "encoding_format": "base64", "dimensions": 5}, False),
    ("moderations", {"input": QUESTION}, False),
    ("images/generations", {"prompt": QUESTION, "size": "auto"}, False),
    ("audio/speech", {"input": QUESTION, "voice": "a"}, False),
    ("threads/t1/runs", {"assistant_id": "a", "additional_messages": [USER]}, False),
    ("messages", {"messages": [USER]}, False),
    ("rerank", {"query": QUESTION, "documents": ["a"]}, False),
]  # fmt: skip


@pytest.mark.parametrize("path, body, enriched", SURFACES, ids=lambda one: one if isinstance(one, str) else None)
def test_P10_unknown_parts_survive_and_only_what_is_understood_is_enriched(
    proxied: Proxied, path: str, body: dict[str, Any], enriched: bool
) -> None:
    reply = b'{"id":"x","choices":[{"index":0},{"index":1}],"x_vendor":{"a":[1.50,"\xc3\xbc"]},"usage":null}'
    proxied.configure(deadline_ms=20_000)
    proxied.upstream.answer = lambda got: [answered(reply)]
    data = json.dumps({"model": "m", **body}).encode()
    headers = {"x-contextd-project": str(proxied.project), "content-type": "application/json"}
    answer = proxied.http.post(f"{proxied.url}/v1/{path}", content=data, headers=headers)
    got = proxied.upstream.got[-1]
    assert answer.content == reply and got.path == f"/v1/{path}"
    assert (b"<user_context note=" in got.body) == enriched
    if not enriched:
        assert got.body == data
    else:
        assert answer.headers["x-contextd-status"] == "enriched"
        assert {name: value for name, value in got.json.items() if name not in ("messages", "input")} == {
            name: value for name, value in {"model": "m", **body}.items() if name not in ("messages", "input")
        }
        inserted = len(got.body) - len(data)
        at = next(place for place, (one, other) in enumerate(zip(data, got.body, strict=False)) if one != other)
        assert got.body[:at] + got.body[at + inserted :] == data  # one insertion, and every other byte as it was


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=3000),
    status=st.sampled_from([200, 201, 400, 401, 404, 409, 418, 422, 429, 500, 503, 529]),
    kind=st.sampled_from(["application/json", "text/event-stream", "text/html", "application/octet-stream", "audio/mpeg"]),
    ask=st.sampled_from(["Hello", QUESTION]),
)
def test_an_answer_is_the_bytes_of_the_upstream(proxied: Proxied, body: bytes, status: int, kind: str, ask: str) -> None:
    wire = answered(body, f"{status} X", content_type=kind)
    proxied.upstream.answer = lambda got: [wire]
    with proxied.http.stream(
        "POST", f"{proxied.url}/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": ask}]}
    ) as answer:
        got = b"".join(answer.iter_raw())
    complete = kind != "text/event-stream" or b"[DONE]" in body
    assert answer.status_code == status and answer.headers["content-type"] == kind
    assert got == body if complete else got.startswith(body)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(min_size=1, max_size=400), max_size=12))
def test_a_stream_is_the_bytes_of_the_upstream_however_it_is_cut(proxied: Proxied, parts: list[bytes]) -> None:
    whole = [*parts, b"\n\ndata: [DONE]\n\n"]
    proxied.upstream.answer = lambda got: chunked(whole)
    with proxied.http.stream(
        "POST",
        f"{proxied.url}/v1/chat/completions",
        json={"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True},
    ) as answer:
        assert b"".join(answer.iter_raw()) == b"".join(whole)
