"""The MCP server, asked by the official client, over its own standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from contextd.engine import Engine
from contextd.mcp.server import build


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_asks_over_stdio(engine: Engine, project: Path, home: Path, mode: str) -> None:
    engine.close()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextd", "mcp", "-p", str(project)],
        env={**os.environ, "CONTEXTD_HOME": str(home)},
    )

    async def ask() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=60) as client:  # type: ignore[arg-type]
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == ["query_context"]
            assert tools.tools[0].output_schema
            arguments = {
                "query": "load a user",
                "k": 5,
                "scope": {"paths": ["src"]},
                "filters": {"maxTokens": 400, "minScore": 0.1},
            }
            result = await client.call_tool("query_context", arguments)
            assert not result.is_error
            answer = result.structured_content
            assert set(answer) >= {"query", "total", "hits", "totalTokens"}
            assert set(answer["hits"][0]) >= {"chunkId", "score", "filePath", "label", "kind", "snippet", "language", "offsets"}
            assert answer["hits"][0]["filePath"] == "src/app/store.py" and answer["totalTokens"] <= 400
            assert "<project_context" in result.content[0].text
            wrong = await client.call_tool("query_context", {"query": "x", "k": -1})
            assert wrong.is_error
            nothing = await client.call_tool("query_context", {"query": "recipe for apple pie with cinnamon"})
            assert not nothing.is_error and "Nothing relevant" in nothing.content[0].text

    anyio.run(ask)


def test_the_tool_list_holds_no_indexed_text(engine: Engine) -> None:
    async def look() -> str:
        async with Client(build(engine)) as client:
            tools = await client.list_tools()
            return json.dumps([tool.model_dump(mode="json") for tool in tools.tools])

    listing = anyio.run(look)
    assert "load_user" not in listing and str(engine.project.root) not in listing  # type: ignore[union-attr]


NOISE = [b"not json\n", b"{}\n", b"[]\n", b'{"jsonrpc":"2.0","id":{},"method":"x"}\n', b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}\n',
         b'{"jsonrpc":"2.0","id":7,"method":"no/such"}\n', b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"evil"}}\n']  # fmt: skip


def test_M5_nothing_but_json_rpc_reaches_standard_output(engine: Engine, project: Path, home: Path) -> None:
    engine.close()
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    stdin = json.dumps(hello).encode() + b"\n" + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + b"".join(NOISE)
    stdin += (
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"query_context","arguments":{"query":"load_user"}}}\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", "mcp", "-p", str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "CONTEXTD_HOME": str(home)},
    )  # fmt: skip
    assert process.stdin and process.stdout
    process.stdin.write(stdin)
    process.stdin.flush()
    answers = {}
    while 9 not in answers:
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        answers[message.get("id")] = message
    process.stdin.close()
    process.wait(timeout=20)
    assert "result" in answers[0] and "error" in answers[7]
    assert "load_user" in answers[9]["result"]["content"][0]["text"]
