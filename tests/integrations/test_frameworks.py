"""The retrievers, the filter and the hook inside the real packages, each in an environment of its own. `make campaign` runs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.environments import ROOT, Environment
from tests.faults.test_sweeps import keep
from tests.integrations.conftest import Served

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
KEY = "sk-0123456789abcdef0123456789abcdef0123456789abcdef"
QUESTION = "how does load_user find a user"

LANGCHAIN = """
import asyncio, json, os
from langchain_core.runnables import RunnableLambda
from contextd import Client, Narrow
from contextd.errors import Unavailable
from contextd.surfaces.integrations.langchain import ContextdRetriever
url, token, project, question = (os.environ[n] for n in ("CONTEXTD_URL", "CONTEXTD_TOKEN", "CONTEXTD_PROJECT", "QUESTION"))
client = Client(url, token, project=project)
retriever = ContextdRetriever(source=client, k=3)
found = retriever.invoke(question)
assert all(one == other for one, other in zip(found, asyncio.run(retriever.ainvoke(question)), strict=True))
assert [len(one) for one in retriever.batch([question, "backups at night"])][0] == len(found)
chain = retriever | RunnableLambda(lambda documents: documents[0].page_content)
narrowed = ContextdRetriever(source=client, search_options={"narrow": Narrow(paths=["docs"])}).invoke("deployment strategy")
dead = ContextdRetriever(source=Client("http://127.0.0.1:9", token, retries=0))
try:
    dead.invoke(question)
    raise AssertionError("no error")
except Unavailable:
    pass
assert dead.with_fallbacks([RunnableLambda(lambda _: [])]).invoke(question) == []
one = found[0]
print(json.dumps({"count": len(found), "text": chain.invoke(question), "id": one.id, "metadata": one.metadata,
                  "paths": sorted({each.metadata["source"] for each in narrowed})}))
"""

LLAMAINDEX = """
import asyncio, json, os
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.llms import MockLLM
from llama_index.core.schema import MetadataMode
from contextd import Client
from contextd.errors import Unavailable
from contextd.surfaces.integrations.llamaindex import ContextdNodeRetriever
url, token, project, question = (os.environ[n] for n in ("CONTEXTD_URL", "CONTEXTD_TOKEN", "CONTEXTD_PROJECT", "QUESTION"))
retriever = ContextdNodeRetriever(Client(url, token, project=project), k=3, min_score=0.0)
found = retriever.retrieve(question)
again = asyncio.run(retriever.aretrieve(question))
assert [one.node.node_id for one in found] == [one.node.node_id for one in again]
engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
answer = engine.query(question)
try:
    ContextdNodeRetriever(Client("http://127.0.0.1:9", token, retries=0)).retrieve(question)
    raise AssertionError("no error")
except Unavailable:
    pass
one = found[0]
print(json.dumps({"count": len(found), "text": one.node.get_content(), "id": one.node.node_id, "metadata": one.node.metadata,
                  "score": one.score, "for_model": one.node.get_content(metadata_mode=MetadataMode.LLM), "sources": len(answer.source_nodes),
                  "passed_on": "def load_user" in str(answer)}))
"""

OPENWEBUI = """
import asyncio, json, os, sys, types
from open_webui.internal.db import Base, engine
from open_webui.models.functions import FunctionForm, FunctionMeta, Functions
from open_webui.utils.filter import get_filter_context, process_filter_functions, resolve_filter_pipeline
Base.metadata.create_all(engine)
source = open(os.environ["FILTER"]).read()
valves = {"url": os.environ["CONTEXTD_URL"], "project": os.environ["CONTEXTD_PROJECT"], "token": os.environ["CONTEXTD_TOKEN"]}

async def passed(content, valves):
    await Functions.update_function_valves_by_id("contextd", valves)
    request = types.SimpleNamespace(app=types.SimpleNamespace(state=types.SimpleNamespace()), state=types.SimpleNamespace())
    ids, functions = await resolve_filter_pipeline(request, {"id": "m"})
    assert ids == ["contextd"], ids
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    extra = {"__user__": {"id": "u1", "role": "user"}, "__metadata__": {"chat_id": "c1"}, "__request__": request, "__model__": {}}
    context = get_filter_context(request)
    found, _ = await process_filter_functions(request, context, functions, "inlet", body, extra)
    return found["messages"][0]["content"]

async def main():
    made = await Functions.insert_new_function(
        "u1", "filter", FunctionForm(id="contextd", name="contextd", content=source, meta=FunctionMeta())
    )
    assert made, "not inserted"
    assert await Functions.update_function_by_id("contextd", {"is_active": True, "is_global": True})
    question = os.environ["QUESTION"]
    dead = await passed(question, {**valves, "url": "http://127.0.0.1:9"})
    print(json.dumps({"found": await passed(question, valves), "dead": dead, "trivial": await passed("thanks", valves)}))

asyncio.run(main())
"""
OPENWEBUI_NEEDS = (  # what the loader and the pipeline of filters import; all of it would be gigabytes
    "aiohttp", "aiosqlite", "beautifulsoup4", "cryptography", "fastapi", "markdown", "orjson", "pillow", "pydantic", "python-engineio",
    "python-mimeparse", "sqlalchemy[asyncio]", "typer", "uvicorn", "opentelemetry-api",
)  # fmt: skip


def test_langchain_gets_documents(served: Served, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env", f"{ROOT}[langchain]")
    found = environment.run(LANGCHAIN, QUESTION=QUESTION, **served.variables)
    assert 1 <= found["count"] <= 3 and "def load_user" in found["text"] and found["paths"] == ["docs/guide.md"]
    assert found["metadata"]["source"] == "src/app/store.py" and ":" in found["id"]
    keep("integrations, langchain-core", version=environment.version("langchain-core"), sync_async_batch_chain=True)


def test_llamaindex_gets_nodes(served: Served, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env", f"{ROOT}[llamaindex]")
    found = environment.run(LLAMAINDEX, QUESTION=QUESTION, **served.variables)
    assert found["count"] == found["sources"] == 3 and "def load_user" in found["text"] and found["passed_on"]
    assert found["metadata"]["source"] == "src/app/store.py" and 0 < found["score"] <= 1
    assert "src/app/store.py" in found["for_model"] and "score" not in found["for_model"]
    keep("integrations, llama-index-core", version=environment.version("llama-index-core"), sync_async_query_engine=True)


def test_open_webui_runs_the_filter(served: Served, tmp_path: Path) -> None:
    """By its own table of functions, its loader and its pipeline of filters, without the rest of the program."""
    environment = Environment(tmp_path / "env", "open-webui", options=("--no-deps",))
    environment.install(*OPENWEBUI_NEEDS)
    (tmp_path / "data").mkdir()
    own = {
        "DATA_DIR": str(tmp_path / "data"),
        "WEBUI_SECRET_KEY": "x",
        "FILTER": str(ROOT / "examples" / "openwebui_filter.py"),
    }
    found = environment.run(OPENWEBUI, QUESTION=QUESTION, **own, **served.variables)
    assert "def load_user" in found["found"] and found["found"].endswith(QUESTION)
    assert found["dead"] == QUESTION and found["trivial"] == "thanks"
    keep("integrations, filter in Open WebUI", version=environment.version("open-webui"), loader_and_pipeline=True)


class Upstream:
    """A model that records requests and says one word."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing is logged."""

            def do_POST(self) -> None:
                upstream.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}
                usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
                answer = {
                    "id": "c1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "m",
                    "choices": [message],
                    "usage": usage,
                }
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_the_proxy_of_litellm_calls_the_hook(served: Served, tmp_path: Path) -> None:
    environment, upstream = Environment(tmp_path / "env", "litellm[proxy]"), Upstream()
    (tmp_path / "litellm_hook.py").write_text((ROOT / "examples" / "litellm_hook.py").read_text())
    config = {
        "model_list": [
            {"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"{upstream.url}/v1", "api_key": "x"}}
        ],
        "litellm_settings": {"callbacks": "litellm_hook.hook"},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "LITELLM_MASTER_KEY": KEY}
    command = [environment.folder / "bin" / "litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        proxy = subprocess.Popen(command, cwd=tmp_path, env={**alone, **served.variables}, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 240
        while not _answers(f"http://127.0.0.1:{port}/health/liveliness"):
            assert proxy.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()[-3000:]
            time.sleep(0.5)
        earlier = [{"role": "system", "content": "Be brief."}]
        last = {"role": "user", "content": QUESTION}
        _post(f"http://127.0.0.1:{port}/v1/chat/completions", {"model": "m", "messages": [*earlier, last]})
        sent = upstream.requests[-1]["messages"]
        assert sent[:-1] == earlier and "def load_user" in sent[-1]["content"] and sent[-1]["content"].endswith(QUESTION)
        off = {"model": "m", "messages": [last], "metadata": {"contextd": False}}
        _post(f"http://127.0.0.1:{port}/v1/chat/completions", off)
        assert upstream.requests[-1]["messages"] == [last]
    finally:
        proxy.terminate()
        proxy.wait(30)
        upstream.close()
    keep("integrations, hook in the proxy of LiteLLM", version=environment.version("litellm"), enriched=True, switched_off=True)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _post(url: str, body: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        return json.load(answer)
