"""What the model receives through real clients: they are driven against a fake model that calls the tool once and records the result.

Slow, and needs npm; `make campaign` runs it. The fake model speaks as much of both APIs as a client needs for one call.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.values.memory import Recall
from contextd.values.query import Narrow
from tests.faults.test_sweeps import keep

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (shutil.which("npm") and shutil.which("node")), reason="needs npm and node"),
]
QUESTION = "how is the budget of an answer kept"
SOURCE = Path(__file__).parent.parent.parent / "src" / "contextd"
Json = dict[str, Any]


class Model:
    """A model that calls `query_context` in the first turn and ends in the second; requests are recorded."""

    def __init__(self, arguments: Json) -> None:
        self.requests: list[Json] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Nothing is logged."""

            def do_GET(self) -> None:
                self._send(404, "application/json", b"{}")

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(request)
                events = (_responses if self.path.endswith("/responses") else _messages)(request, arguments)
                lines = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
                self._send(200, "text/event-stream", lines.encode())

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _messages(request: Json, arguments: Json) -> Iterator[Json]:
    """The answer of Anthropic's API."""
    there = any(tool["name"] == "mcp__contextd__query_context" for tool in request.get("tools", []))
    calls = there and not any(_claude_result(request))
    block: Json = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "done"}
    if calls:
        block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__contextd__query_context", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _responses(request: Json, arguments: Json) -> Iterator[Json]:
    """The answer of OpenAI's API."""
    item: Json = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "done"}]}
    if "query_context" in json.dumps(request.get("tools")) and not any(_codex_result(request)):
        names = {"name": "query_context", "namespace": "mcp__contextd"}
        item = {"type": "function_call", "id": "fc1", "call_id": "call_1", **names, "arguments": json.dumps(arguments)}
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "item": item}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": "r1", "usage": {**usage, "total_tokens": 2}}}


def _claude_result(request: Json) -> Iterator[str]:
    """The texts of tool results in a request to Anthropic's API."""
    for message in request["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_result":
                yield from (
                    [block["content"]] if isinstance(block["content"], str) else [one["text"] for one in block["content"]]
                )


def _codex_result(request: Json) -> Iterator[str]:
    """The same in a request to OpenAI's API; Codex puts a text of its own before them."""
    for item in request["input"]:
        if item.get("type") == "function_call_output":
            output = item["output"]
            yield from [output] if isinstance(output, str) else [one["text"] for one in output if one["type"] == "input_text"]


def _claude(folder: Path, url: str, server: Json) -> tuple[list[str], dict[str, str]]:
    """Claude Code asked once, with nothing of this machine's own settings."""
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"contextd": server}}))
    tool = ["--strict-mcp-config", "--allowedTools", "mcp__contextd__query_context"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", **quiet}
    return ["-p", QUESTION, "--mcp-config", str(folder / "mcp.json"), *tool], variables


def _codex(folder: Path, url: str, server: Json) -> tuple[list[str], dict[str, str]]:
    """Codex asked once; a model that it does not know gets the tool in the first turn and the shortest results."""
    environment = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
    (folder / "config.toml").write_text(
        f'model = "fake"\nmodel_provider = "fake"\napproval_policy = "never"\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
        f"[mcp_servers.contextd]\ncommand = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
        f"env = {{ {environment} }}\n"
    )
    return ["exec", "--skip-git-repo-check", QUESTION], {"CODEX_HOME": str(folder), "FAKE_KEY": "dummy"}


@pytest.mark.parametrize(("client", "budget"), [("claude", 1500), ("claude", 20_000), ("codex", 1500), ("codex", 2500)])
def test_the_model_receives_the_packed_text_whole(
    programs: Path, tmp_path: Path, home: Path, make_project: Callable[..., Path], client: str, budget: int
) -> None:
    project = make_project({str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")})
    session = open_session(project, home=home, environment={})
    session.index()
    packed = session.context(QUESTION, budget=budget, template="markdown", narrow=Narrow(recall=Recall(private=False))).text
    session.close()
    model = Model({"query": QUESTION, "filters": {"maxTokens": budget}})
    arguments = ["-m", "contextd", "mcp", "--project", str(project), "--no-watch"]
    server = {"command": sys.executable, "args": arguments, "env": {"CONTEXTD_HOME": str(home)}}
    folder = tmp_path / "client"
    folder.mkdir()
    options, variables = (_claude if client == "claude" else _codex)(folder, model.url, server)
    alone = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    command = [str(programs / client), *options]
    done = subprocess.run(
        command, cwd=folder, env=alone | variables, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    model.close()
    assert done.returncode == 0 and model.requests, done.stderr
    assert "query_context" in json.dumps(model.requests[0].get("tools")), "the tool was not there in the first turn"
    received = list((_claude_result if client == "claude" else _codex_result)(model.requests[-1]))
    assert received, "the model was not given the tool, or the client did not call it"
    assert received[-1] == packed, received[-1][:2000]
    tokens = session.home.tokens.count(received[-1])
    assert tokens <= budget
    version = subprocess.run([str(programs / client), "--version"], env=alone, capture_output=True, text=True).stdout.strip()
    keep(
        f"mcp, what the model receives through {client}, {budget} tokens",
        client=version,
        tokens=tokens,
        whole=True,
        first_turn=True,
    )
