"""The official client of OpenAI through the proxy: sync, async, streams, tools, structured output, responses, errors."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, OpenAI
from pydantic import BaseModel

from contextd.querying.compose import OPENING
from tests.proxy.conftest import Proxied
from tests.proxy.upstream import CHAT, Got, answered, chunked

ASK: list[Any] = [{"role": "user", "content": "Which database is my favorite?"}]


@pytest.fixture(autouse=True)
def person(proxied: Proxied) -> None:
    proxied.service._opened(None, ()).remember("My favorite database is SQLite")


@pytest.fixture
def openai(proxied: Proxied) -> Iterator[OpenAI]:
    with httpx2.Client(trust_env=False) as http:
        yield OpenAI(base_url=f"{proxied.url}/v1", api_key="sk-any", max_retries=0, http_client=http)


def _chunk(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return (
        b"data: "
        + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}).encode()
        + b"\n\n"
    )


def test_a_chat_with_extra_fields(proxied: Proxied, openai: OpenAI) -> None:
    answer = openai.chat.completions.create(model="m", messages=ASK, n=2, extra_body={"x_vendor": 1})
    assert answer.choices[0].message.content == "Hello 🦊" and answer.usage and answer.usage.total_tokens == 5
    assert answer.model_extra == {"x_vendor": {"a": [1.50, "ü"]}}
    got = proxied.upstream.got[0].json
    assert (got["n"], got["x_vendor"]) == (2, 1) and "SQLite" in got["messages"][0]["content"]
    raw = openai.chat.completions.with_raw_response.create(model="m", messages=ASK)
    assert raw.headers["x-contextd-status"] == "enriched" and int(raw.headers["x-contextd-tokens"]) > 0


def test_a_stream_with_usage(proxied: Proxied, openai: OpenAI) -> None:
    usage = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n'
    parts = [
        b": keep-alive\n\n",
        _chunk(role="assistant"),
        _chunk(content="Grüße "),
        _chunk(content="🦊"),
        usage,
        b"data: [DONE]\n\n",
    ]
    split = b"".join(parts)  # in pieces that end inside events and characters
    proxied.upstream.answer = lambda got: chunked(split[at : at + 7] for at in range(0, len(split), 7))
    chunks = list(openai.chat.completions.create(model="m", messages=ASK, stream=True, stream_options={"include_usage": True}))
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert text == "Grüße 🦊" and chunks[-1].usage and chunks[-1].usage.total_tokens == 3


def test_streamed_calls_of_tools(proxied: Proxied, openai: OpenAI) -> None:
    call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "look", "arguments": ""}}
    more = [{"index": 0, "function": {"arguments": part}} for part in ('{"pla', 'ce": "ü"}')]
    proxied.upstream.answer = lambda got: chunked([_chunk(tool_calls=[one]) for one in (call, *more)] + [b"data: [DONE]\n\n"])
    tools: Any = [
        {
            "type": "function",
            "function": {"name": "look", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}},
        }
    ]
    chunks = list(openai.chat.completions.create(model="m", messages=ASK, tools=tools, stream=True))
    arguments = "".join(one.choices[0].delta.tool_calls[0].function.arguments or "" for one in chunks)  # type: ignore[index,union-attr]
    assert json.loads(arguments) == {"place": "ü"} and proxied.upstream.got[0].json["tools"] == tools


class Choice(BaseModel):
    database: str


def test_structured_output(proxied: Proxied, openai: OpenAI) -> None:
    message = {"role": "assistant", "content": '{"database": "SQLite"}'}
    proxied.upstream.answer = lambda got: [
        answered({**CHAT, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    ]
    answer = openai.chat.completions.parse(model="m", messages=ASK, response_format=Choice)
    assert answer.choices[0].message.parsed == Choice(database="SQLite")
    assert proxied.upstream.got[0].json["response_format"]["json_schema"]["name"] == "Choice"


def _response(text: str) -> dict[str, Any]:
    item = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def test_responses(proxied: Proxied, openai: OpenAI) -> None:
    def answer(got: Got) -> Any:
        if not got.json.get("stream"):
            return [answered(_response("SQLite"))]
        events = ({"type": "response.output_text.delta", "delta": "SQL", "item_id": "m1", "output_index": 0, "content_index": 0, "sequence_number": 1, "logprobs": []}, {"type": "response.completed", "response": _response("SQL"), "sequence_number": 2})  # fmt: skip
        return chunked(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)

    proxied.upstream.answer = answer
    assert openai.responses.create(model="m", input="Which database is my favorite?").output_text == "SQLite"
    seen = [event.type for event in openai.responses.create(model="m", input=ASK, stream=True)]
    assert seen == ["response.output_text.delta", "response.completed"]
    assert all(OPENING in json.dumps(got.json["input"], ensure_ascii=False).replace('\\"', '"') for got in proxied.upstream.got)


def test_models_embeddings_and_completions(proxied: Proxied, openai: OpenAI) -> None:
    proxied.upstream.answer = lambda got: [
        answered({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]})
    ]
    assert [one.id for one in openai.models.list()] == ["m"]
    proxied.upstream.answer = lambda got: [answered({"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 1, "total_tokens": 1}})]  # fmt: skip
    assert openai.embeddings.create(model="m", input="x", encoding_format="float").data[0].embedding == [0.5]


def test_errors_become_exceptions(proxied: Proxied, openai: OpenAI) -> None:
    proxied.upstream.answer = lambda got: [
        answered({"error": {"message": "bad", "type": "x", "param": "p", "code": "c"}}, "400 Bad Request")
    ]
    with pytest.raises(BadRequestError) as raised:
        openai.chat.completions.create(model="m", messages=ASK)
    assert raised.value.code == "c" and raised.value.param == "p"
    proxied.configure(open=False)
    with pytest.raises(AuthenticationError, match="x-contextd-token"):
        openai.chat.completions.create(model="m", messages=ASK)


def test_the_async_client_with_a_token_in_its_base_url(proxied: Proxied) -> None:
    token = proxied.service.tokens.create(f"async{time.time_ns()}")
    proxied.configure(open=False)
    proxied.upstream.answer = lambda got: (
        chunked([_chunk(content="hi"), b"data: [DONE]\n\n"]) if got.json.get("stream") else [answered(CHAT)]
    )

    async def ask() -> tuple[Any, list[Any]]:
        async with httpx2.AsyncClient(trust_env=False) as http:
            client = AsyncOpenAI(base_url=f"{proxied.url}/t/{token}/v1", api_key="sk-any", max_retries=0, http_client=http)
            whole, stream = await asyncio.gather(client.chat.completions.create(model="m", messages=ASK), client.chat.completions.create(model="m", messages=ASK, stream=True))  # fmt: skip
            return whole, [part async for part in stream]

    whole, parts = asyncio.run(ask())
    assert whole.choices[0].message.content == "Hello 🦊" and parts[0].choices[0].delta.content == "hi"
    assert all(got.headers["authorization"] == "Bearer sk-any" for got in proxied.upstream.got)
