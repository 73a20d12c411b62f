"""Clients of other projects through the proxy, and the protocol of Ollama, each in an environment of its own. `make campaign` runs it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextd.errors import Unavailable
from contextd.models.engine_http import EngineHttp
from contextd.models.ollama import Ollama
from contextd.ports.engines import ChatTurn
from contextd.querying.assisted.ask import ask
from tests.engines.ollama_server import OllamaServer, through
from tests.environments import Environment
from tests.llama import Llama, started
from tests.proxy.conftest import Proxied
from tests.proxy.upstream import CHAT, Got, answered, chunked, events

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
QUESTION = "Which database is my favorite?"
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"], "additionalProperties": False}


@pytest.fixture
def asked(proxied: Proxied) -> Proxied:
    """The proxy of a person, whose upstream answers streams, errors and all else."""

    def answer(got: Got) -> Any:
        if got.path.endswith("/models"):
            return [answered({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]})]
        if got.json.get("model") == "limited":
            return [answered({"error": {"message": "slow down", "type": "rate_limit", "code": 429}}, "429 Too Many Requests")]
        return chunked(events("Hello wörld 🦊")) if got.json.get("stream") else [answered(CHAT)]

    proxied.service._opened(None, ()).remember("My favorite database is SQLite")
    proxied.configure(deadline_ms=20_000)
    proxied.upstream.answer = answer
    return proxied


def was_enriched(proxied: Proxied, count: int) -> bool:
    chats = [got for got in proxied.upstream.got if got.path.endswith("/chat/completions") and got.json["model"] != "limited"]
    return len(chats) >= count and all("SQLite" in json.dumps(got.json["messages"][-1]) for got in chats)


LITELLM = """
import json, os, sys
import litellm
litellm.num_retries = 0
base = dict(model="openai/m", api_base=sys.argv[1], api_key="sk-any", messages=[{"role": "user", "content": sys.argv[2]}])
whole = litellm.completion(**base)
parts = [one.choices[0].delta.content or "" for one in litellm.completion(**base, stream=True)]
try:
    litellm.completion(**{**base, "model": "openai/limited"}, num_retries=0, max_retries=0)
    error = ""
except litellm.exceptions.RateLimitError as raised:
    error = str(raised)
print(json.dumps({"text": whole.choices[0].message.content, "stream": "".join(parts), "error": error}))
"""


def test_litellm(asked: Proxied, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "litellm", "litellm")
    said = environment.run(LITELLM, f"{asked.url}/v1", QUESTION, timeout=600, LITELLM_LOCAL_MODEL_COST_MAP="True")
    assert said["text"] == "Hello 🦊" and said["stream"].split() == ["Hello", "wörld", "🦊"] and "slow down" in said["error"]
    assert was_enriched(asked, 2)


NODE_OPENAI = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-any", maxRetries: 0 });
const messages = [{ role: "user", content: process.argv[3] }];
const whole = await client.chat.completions.create({ model: "m", messages });
let stream = "";
for await (const part of await client.chat.completions.create({ model: "m", messages, stream: true })) stream += part.choices[0].delta.content ?? "";
let status = 0;
try { await client.chat.completions.create({ model: "limited", messages }); } catch (error) { status = error.status; }
const models = []; for await (const one of client.models.list()) models.push(one.id);
console.log(JSON.stringify({ text: whole.choices[0].message.content, stream, status, models }));
"""
NODE_AI = """
import { generateText, streamText } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
const provider = createOpenAICompatible({ name: "contextd", baseURL: process.argv[2], apiKey: "sk-any" });
const prompt = process.argv[3];
const whole = await generateText({ model: provider("m"), prompt, maxRetries: 0 });
let stream = "";
for await (const part of streamText({ model: provider("m"), prompt, maxRetries: 0 }).textStream) stream += part;
let status = 0;
try { await generateText({ model: provider("limited"), prompt, maxRetries: 0 }); } catch (error) { status = error.statusCode; }
console.log(JSON.stringify({ text: whole.text, stream, status }));
"""


def in_node(folder: Path, packages: list[str], script: str, *arguments: str) -> Any:
    """The JSON that a script of Node prints, with packages from the registry."""
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "main.js").write_text(script)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", *packages]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"npm cannot install {', '.join(packages)}: {done.stderr[-200:]}")
    ran = subprocess.run(["node", "main.js", *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_openai_for_node(asked: Proxied, tmp_path: Path) -> None:
    said = in_node(tmp_path, ["openai"], NODE_OPENAI, f"{asked.url}/v1", QUESTION)
    assert (said["text"], said["stream"].split(), said["status"], said["models"]) == (
        "Hello 🦊",
        ["Hello", "wörld", "🦊"],
        429,
        ["m"],
    )
    assert was_enriched(asked, 2)


def test_vercel_ai(asked: Proxied, tmp_path: Path) -> None:
    said = in_node(tmp_path, ["ai@6", "@ai-sdk/openai-compatible@2"], NODE_AI, f"{asked.url}/v1", QUESTION)
    assert (said["text"], said["stream"].split(), said["status"]) == ("Hello 🦊", ["Hello", "wörld", "🦊"], 429)
    assert was_enriched(asked, 2)


OLLAMA = """
import json, sys
import ollama
client = ollama.Client(host=sys.argv[1])
model, schema = sys.argv[2], json.loads(sys.argv[3])
answer = client.chat(model=model, messages=[{"role": "user", "content": "One word as JSON."}], format=schema, options={"num_predict": 40, "temperature": 0})
found = {"content": answer["message"]["content"], "models": [one.model for one in client.list().models]}
if "--all" in sys.argv:
    found["vectors"] = len(client.embed(model=model, input=["a", "b"])["embeddings"])
    found["pulled"] = [one.status for one in client.pull("other", stream=True)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("ollama") / "environment", "ollama", "ollama-proxy-plus")


def test_the_server_of_our_tests_speaks_to_the_official_client(official: Environment, llama: Llama) -> None:
    server = OllamaServer(["tiny:latest"], through(llama.url), lambda body: {"embeddings": [[1.0, 0.0]] * len(body["input"])})
    server.pulls = [{"status": "pulling manifest"}, {"status": "success"}]
    try:
        said = official.run(OLLAMA, server.url, "tiny", json.dumps(SCHEMA), "--all")
    finally:
        server.close()
    assert set(json.loads(said["content"])) == {"word"} and said["models"] == ["tiny:latest"]
    assert said["vectors"] == 2 and said["pulled"] == ["pulling manifest", "success"]


@pytest.fixture
def elsewhere(official: Environment, llama: Llama, gguf: Path, tmp_path: Path) -> Iterator[str]:
    """Ollama's API by another author, in front of llama.cpp servers for chats and vectors."""
    embedding = started(gguf, "--embedding")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    providers = {"LLAMA": llama.url, "VECTORS": embedding.url}
    variables = {f"PROVIDERS_{name}_BASE_URL": url for name, url in providers.items()}
    variables |= {f"PROVIDERS_{name}_API_KEY": "any" for name in providers} | {"EXTRA_MODELS": "llama/tiny,vectors/tiny"}
    process = subprocess.Popen(
        [official.python, "-m", "ollama_proxy", "--host", "127.0.0.1", "--port", str(port)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not Ollama(EngineHttp(f"http://127.0.0.1:{port}", False)).is_running():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            embedding.stop()
            pytest.skip("ollama-proxy-plus did not start")
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    embedding.stop()


def test_our_adapter_speaks_to_a_server_of_another_author(official: Environment, elsewhere: str) -> None:
    engine = Ollama(EngineHttp(elsewhere, False), "llama/tiny")
    assert set(ask(engine, [ChatTurn("user", "One word as JSON.")], SCHEMA, time.monotonic() + 60)) == {"word"}
    assert Ollama(EngineHttp(elsewhere, False), "vectors/tiny").embed(["a", "b"], time.monotonic() + 60).shape[0] == 2
    said = official.run(OLLAMA, elsewhere, "llama/tiny", json.dumps(SCHEMA))
    assert set(json.loads(said["content"])) == {"word"} and said["models"] == engine.models()
    with pytest.raises(Unavailable, match="HTTP 4"):
        Ollama(EngineHttp(elsewhere, False), "no/such").chat([ChatTurn("user", "Hi")], None, time.monotonic() + 10)
