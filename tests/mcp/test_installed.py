"""Agents read what `contextd install` writes: their own commands list the server, reach it, and would write the same. `make campaign` runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.mcp.tools import DEFAULT
from tests.conftest import SAMPLE, new_home, written
from tests.faults.test_sweeps import keep
from tests.http.test_process import Process

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (shutil.which("npm") and shutil.which("node")), reason="needs npm and node"),
]


@dataclass
class Person:
    """Somebody with a project, a data directory and the agents."""

    folder: Path
    project: Path
    data: Path
    programs: Path

    def run(self, *command: str, home: Path | None = None, **more: str) -> str:
        """Return what a program prints, run inside the project."""
        alone = {
            "PATH": os.environ["PATH"],
            "HOME": str(home or self.folder),
            "LANG": "C.UTF-8",
            "CONTEXTD_HOME": str(self.data),
        }
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        program = self.programs / command[0]
        words = [str(program) if program.exists() else command[0], *command[1:]]
        done = subprocess.run(
            words,
            cwd=self.project,
            env={**alone, **quiet, **more},
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def contextd(self, *arguments: str) -> str:
        return self.run(str(Path(sys.executable).with_name("contextd")), *arguments)


@pytest.fixture
def person(tmp_path: Path, weights: Path | None, programs: Path) -> Iterator[Person]:
    project, data = written(tmp_path / "project", SAMPLE), new_home(tmp_path / "data", weights)
    (tmp_path / "person").mkdir()
    session = open_session(project, home=data, environment={})
    session.index()
    session.close()
    yield Person(tmp_path / "person", project, data, programs)


def _other_home(person: Person) -> Path:
    folder = person.folder.with_name("other")
    folder.mkdir()
    return folder


def test_claude_code_lists_and_reaches_the_installed_server(person: Person) -> None:
    person.contextd("install", "claude")
    listed = person.run("claude", "mcp", "list")
    assert "contextd:" in listed and "Connected" in listed, listed
    assert "contextd" in person.run("claude", "mcp", "get", "contextd")
    ours = json.loads((person.folder / ".claude.json").read_text())["mcpServers"]["contextd"]
    other = _other_home(person)
    words = [f"--env={name}={value}" for name, value in ours.get("env", {}).items()]
    person.run("claude", "mcp", "add", "-s", "user", "contextd", *words, "--", ours["command"], *ours["args"], home=other)
    theirs = json.loads((other / ".claude.json").read_text())["mcpServers"]["contextd"]
    assert theirs == ours, "the entry that its own command writes is another"
    assert "removed" in person.contextd("uninstall", "claude")
    assert "contextd:" not in person.run("claude", "mcp", "list")
    keep(
        "mcp, what `install` writes for Claude Code",
        client=person.run("claude", "--version").strip(),
        connected=True,
        same_entry=True,
    )


def test_claude_code_reaches_the_service_over_http(person: Person) -> None:
    process = Process(person.data)
    try:
        token = (person.data / "service" / "token").read_text().strip()
        head = ["--header", f"Authorization: Bearer {token}", "--header", f"X-Contextd-Project: {person.project}"]
        person.run("claude", "mcp", "add", "-s", "user", "--transport", "http", "contextd", f"{process.url}/mcp", *head)
        listed = person.run("claude", "mcp", "list")
        assert "Connected" in listed, listed
    finally:
        process.stop(signal.SIGKILL)


def test_codex_lists_the_installed_server(person: Person) -> None:
    (person.folder / ".codex").mkdir()
    (person.folder / ".codex" / "config.toml").write_text('# mine\nmodel = "fake"\n')
    person.contextd("install", "codex")
    (listed,) = json.loads(person.run("codex", "mcp", "list", "--json"))
    ours = _codex_entry(person.folder)
    assert listed["name"] == "contextd" and listed["enabled"] and listed["transport"]["command"] == ours["command"]
    assert "contextd" in person.run("codex", "mcp", "get", "contextd")
    other = _other_home(person)
    (other / ".codex").mkdir()
    words = [word for name, value in ours.get("env", {}).items() for word in ("--env", f"{name}={value}")]
    person.run("codex", "mcp", "add", "contextd", *words, "--", ours["command"], *ours["args"], home=other)
    assert _codex_entry(other) == ours, "the entry that its own command writes is another"
    assert "# mine" in (person.folder / ".codex" / "config.toml").read_text()
    keep("mcp, what `install` writes for Codex", client=person.run("codex", "--version").strip(), listed=True, same_entry=True)


def _codex_entry(home: Path) -> Any:
    return tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["contextd"]


def test_the_inspector_lists_and_calls_tools_of_the_installed_server_and_of_the_service(person: Person) -> None:
    person.contextd("install", "claude", "--scope", "project")
    config = ["--config", str(person.project / ".mcp.json"), "--server", "contextd"]
    process = Process(person.data)
    try:
        token = (person.data / "service" / "token").read_text().strip()
        head = ["--header", f"Authorization: Bearer {token}", "--header", f"X-Contextd-Project: {person.project}"]
        for place in (config, [f"{process.url}/mcp", "--transport", "http", *head]):
            listed = json.loads(person.run("mcp-inspector", "--cli", *place, "--method", "tools/list"))
            assert [one["name"] for one in listed["tools"]] == list(DEFAULT)
            call = ["--method", "tools/call", "--tool-name", "query_context", "--tool-arg", "query=how are users loaded"]
            answer = json.loads(person.run("mcp-inspector", "--cli", *place, *call))
            assert "def load_user" in answer["content"][0]["text"], answer
    finally:
        process.stop(signal.SIGKILL)
    package = json.loads((person.programs.parent / "@modelcontextprotocol" / "inspector" / "package.json").read_text())
    keep("mcp, inspector over stdio and http", client=package["version"], tools=len(DEFAULT))
