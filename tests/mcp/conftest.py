"""Servers over the indexed sample project."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.conftest import SAMPLE, new_home, written
from tests.mcp.talk import Server

CLIENTS = ("@anthropic-ai/claude-code", "@openai/codex", "@modelcontextprotocol/inspector@2")


@pytest.fixture
def server(session: Session, project: Path, home: Path) -> Iterator[Server]:
    session.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Server]:
    """One for all tests of a module that do nothing but ask."""
    folder = tmp_path_factory.mktemp("asked")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    session = open_session(project, home=home, environment={})
    session.index()
    session.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clients, installed by npm into a folder of their own."""
    folder = tmp_path_factory.mktemp("clients")
    command = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *CLIENTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"npm cannot install the clients: {done.stderr.strip().splitlines()[-1]}")
    return folder / "node_modules" / ".bin"
