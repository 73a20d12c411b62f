"""The server keeps the index up to date by a child process that holds the lease and ends with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.mcp.talk import Server
from tests.waiting import until

WITHIN = 3.0  # seconds in which a new file is found: the promise


@pytest.fixture
def other(project: Path, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that follows the project."""
    command = [sys.executable, "-m", "contextd", "watch", "--project", str(project)]
    environment = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: holder(home) == process.pid)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def start(project: Path, home: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers; those that are left are ended."""
    servers: list[Server] = []

    def started(*options: str) -> Server:
        servers.append(Server(project, home, *options))
        return servers[-1]

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.close()


def holder(home: Path) -> int:
    """The process that holds the lease; 0 if none does."""
    shown = [path.read_text() for path in home.glob("projects/*/writer.holder")]
    found = re.search(r"contextd (?:watch|mcp), process (\d+)", " ".join(shown))
    return int(found[1]) if found else 0


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z (zombie)" not in Path(f"/proc/{process}/status").read_text() if sys.platform == "linux" else True


def children(server: Server) -> str:
    """The processes that a server has started; known on Linux only."""
    return "".join(path.read_text() for path in Path(f"/proc/{server.process.pid}/task").glob("*/children"))


def finds(server: Server, word: str) -> bool:
    """Whether an answer has the text of a file that was written just now."""
    return f"def {word}" in server.text(query=word)


def test_a_project_without_an_index_is_indexed_at_the_start(start: Callable[..., Server]) -> None:
    server = start()
    until(lambda: "def load_user(name):" in server.text(query="load_user"))


def test_a_file_created_while_the_server_runs_is_found_within_three_seconds(
    start: Callable[..., Server], project: Path, home: Path
) -> None:
    server = start()
    until(lambda: finds(server, "load_user"))  # the watch listens before it scans
    for word in ("flamingo", "heron"):
        (project / "src" / f"{word}.py").write_text(f"def {word}():\n    return 1\n")
        assert until(lambda word=word: finds(server, word)) < WITHIN  # type: ignore[misc]


@pytest.mark.skipif(sys.platform == "win32", reason="asks by signal whether a process runs")
def test_the_child_ends_with_the_server_however_that_ends(start: Callable[..., Server], home: Path) -> None:
    for end in (Server.close, lambda server: server.process.kill()):
        server = start()
        server.text(query="load_user")
        until(lambda: holder(home))
        child = holder(home)
        end(server)
        until(lambda child=child: not runs(child), 5)  # type: ignore[misc]


def test_no_child_while_another_process_follows_and_one_when_that_ends(
    other: subprocess.Popen[bytes], start: Callable[..., Server], project: Path, home: Path
) -> None:
    server = start()
    assert "def load_user(name):" in server.text(query="load_user")
    for _ in range(60):
        assert not children(server), "it started a process though another one follows"
        time.sleep(0.05)
    assert holder(home) == other.pid
    other.terminate()
    other.wait(timeout=20)
    until(lambda: holder(home) not in (0, other.pid))
    (project / "src" / "heron.py").write_text("def heron():\n    return 1\n")
    until(lambda: finds(server, "heron"))


def test_a_second_server_takes_over_from_the_first(start: Callable[..., Server], home: Path) -> None:
    first, second = start(), start()
    first.text(query="load_user")
    second.text(query="load_user")
    until(lambda: holder(home))
    child = holder(home)
    (first if str(first.process.pid) in _parent(child) else second).close()
    until(lambda: holder(home) not in (0, child))


def _parent(process: int) -> str:
    return subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True, text=True).stdout


def test_without_watching_nothing_is_indexed_and_the_answer_says_so(start: Callable[..., Server], home: Path) -> None:
    text = start("--no-watch").text(query="load_user")
    assert "This project is not indexed yet. Run `contextd index`." in text and not holder(home)


def test_new_settings_are_followed_and_the_answer_says_when_they_cannot_be_used(
    start: Callable[..., Server], project: Path, home: Path
) -> None:
    server = start()
    server.text(query="load_user")
    until(lambda: holder(home))
    (project / "context.toml").write_text("[context]\nno_such_key = 1\n")
    until(lambda: "Note: changed files are not indexed at the moment: " in server.text(query="load_user"))
    assert "no_such_key" in server.text(query="load_user")
    (project / "context.toml").unlink()
    until(lambda: "not indexed at the moment" not in server.text(query="load_user"))


def test_what_is_indexed_is_answered_though_it_cannot_be_followed(session: Session, start: Callable[..., Server]) -> None:
    assert session.project
    (session.project.folder / "writer.lock").unlink()
    (session.project.folder / "writer.lock").mkdir()
    session.close()
    server = start()
    until(lambda: "Note: changed files are not indexed at the moment: " in server.text(query="load_user"))
    assert "def load_user(name):" in server.text(query="load_user")


def test_a_reader_who_may_not_read_the_project_has_it_neither_read_nor_indexed(project: Path, home: Path) -> None:
    server = Server(project, home, "--as", "mallory")
    answer = server.called(1, query="load_user")["result"]
    assert "load_user" not in answer["content"][0]["text"] and "mallory has no access to" in answer["content"][0]["text"]
    server.close()
    session = open_session(project, home=home, environment={})
    assert not session.search("load_user").hits
    session.close()
