"""Speaking with the real server: line by line, or by the official client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def parameters(project: Path, home: Path, *options: str) -> StdioServerParameters:
    """How the official client starts the server."""
    arguments = ["-m", "contextd", "mcp", "--project", str(project), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, "CONTEXTD_HOME": str(home)})


def passed_on(result: Any) -> str:
    """What a client hands the model: Claude Code and Codex drop `content` when there is structured content."""
    if result.structured_content is not None:
        return json.dumps(result.structured_content)
    assert [block.type for block in result.content] == ["text"]
    return str(result.content[0].text)


class Server:
    """The real server, spoken to line by line."""

    def __init__(self, project: Path, home: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contextd", "mcp", "--project", str(project), *options], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CONTEXTD_HOME": str(home)},
        )  # fmt: skip
        assert "result" in self.asked({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout and self.process.stderr
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def asked(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(json.dumps(message).encode())
        return self.answer()

    def called(self, number: int, **arguments: Any) -> dict[str, Any]:
        return self.asked(call(number, **arguments))

    def text(self, **arguments: Any) -> str:
        result = self.called(77, **arguments)["result"]
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0, "it ends with its input"


def call(number: int, **arguments: Any) -> dict[str, Any]:
    """A call of the tool."""
    params = {"name": "query_context", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
