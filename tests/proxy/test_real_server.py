"""A real llama.cpp server with a real small model as upstream. Protocol, streams, schemas and errors are checked; never what the model says."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIError, APIStatusError, OpenAI

from contextd.errors import Unavailable
from contextd.ports.engines import ChatTurn
from contextd.sandbox.gguf import GgufChat
from tests.llama import Llama, started
from tests.proxy.conftest import Proxied

ASK: list[Any] = [{"role": "user", "content": "Which database is my favorite?"}]


@pytest.fixture
def openai(proxied: Proxied, llama: Llama) -> Iterator[OpenAI]:
    proxied.configure(upstreams={"llama": {"url": llama.url}}, deadline_ms=20_000)
    proxied.service._opened(None, ()).remember("My favorite database is SQLite")
    with httpx2.Client(trust_env=False, timeout=300) as http:
        yield OpenAI(base_url=f"{proxied.url}/v1", api_key="sk-any", max_retries=0, http_client=http)


def test_a_chat_is_enriched_and_answered(openai: OpenAI) -> None:
    raw = openai.chat.completions.with_raw_response.create(model="m", messages=ASK, max_tokens=8)
    answer = raw.parse()
    assert raw.headers["x-contextd-status"] == "enriched" and answer.choices[0].message.content
    assert answer.usage and answer.usage.prompt_tokens > int(raw.headers["x-contextd-tokens"]) // 2


def test_a_stream_has_a_usage_and_an_end(openai: OpenAI) -> None:
    chunks = list(
        openai.chat.completions.create(
            model="m", messages=ASK, max_tokens=8, stream=True, stream_options={"include_usage": True}
        )
    )
    assert any(one.choices and one.choices[0].delta.content for one in chunks) and chunks[-1].usage


def test_structured_output_follows_its_schema(openai: OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}},
        "required": ["name"],
        "additionalProperties": False,
    }
    form: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    answer = openai.chat.completions.create(model="m", messages=ASK, max_tokens=64, response_format=form)
    assert set(json.loads(answer.choices[0].message.content or "")) == {"name"}


def test_models_and_responses(openai: OpenAI) -> None:
    assert list(openai.models.list())
    assert openai.responses.create(model="m", input="Which database is my favorite?", max_output_tokens=8).output_text


def test_an_error_of_the_server_is_an_error_of_the_client(openai: OpenAI) -> None:
    with pytest.raises(APIStatusError) as raised:
        openai.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x " * 20_000}], extra_headers={"x-contextd-bypass": "1"}
        )
    assert raised.value.status_code in (400, 413, 500)


def test_seed_4_a_server_that_is_killed_in_its_answer(openai: OpenAI, proxied: Proxied, gguf: Path) -> None:
    own = started(gguf)
    proxied.configure(upstreams={"llama": {"url": own.url}}, deadline_ms=20_000)
    stream = openai.chat.completions.create(model="m", messages=ASK, max_tokens=2000, stream=True)
    with pytest.raises(APIError, match="closed the connection"):
        for number, _ in enumerate(stream):
            if number == 3:
                own.stop()
    assert proxied.post().status_code == 502


@pytest.mark.campaign
def test_P20_a_local_model_at_work_does_not_hold_the_proxy_up(proxied: Proxied, gguf: Path) -> None:
    """The model computes in a process of low priority; meanwhile requests are passed on."""
    chat, stop = GgufChat(gguf), threading.Event()

    def busy() -> None:
        while not stop.is_set():
            try:
                chat.chat([ChatTurn("user", "Count to a thousand in words.")], None, time.monotonic() + 60)
            except Unavailable:
                return

    worker = threading.Thread(target=busy, daemon=True)
    worker.start()
    end = time.monotonic() + 120
    while chat._process is None and time.monotonic() < end:
        time.sleep(0.1)
    times = list[float]()
    for _ in range(200):
        began = time.perf_counter()
        assert proxied.http.get(f"{proxied.url}/healthz").status_code == 200
        times.append(time.perf_counter() - began)
        assert proxied.post(headers={"x-contextd-bypass": "1"}).status_code == 200
    stop.set()
    chat.close()
    worker.join(10)
    assert statistics.median(times) < 0.05, f"{1000 * statistics.median(times):.0f} ms"
