"""The service as a process: lock, signals, ports, slow clients, the command line that uses it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from contextd.app.assemble import open_session
from contextd.app.serving import running
from contextd.errors import Unavailable
from contextd.surfaces.cli.hybrid import client
from contextd.surfaces.client.client import Client
from tests.conftest import Run
from tests.waiting import until


class Process:
    """`contextd serve` in a process of its own."""

    def __init__(self, home: Path, *arguments: str, watch: bool = False) -> None:
        self.home = home
        self.environment = {**os.environ, "CONTEXTD_HOME": str(home)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contextd", "serve", "--port", "0", *([] if watch else ["--no-watch"]), *arguments],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        end = time.monotonic() + 60
        while (known := running(home)) is None or known.pid != self.process.pid:
            assert self.process.poll() is None and time.monotonic() < end, self.process.stderr and self.process.stderr.read()
            time.sleep(0.02)
        self.url = known.url
        self.port = int(self.url.rpartition(":")[2])

    def raw(self, data: bytes, wait: float = 15.0) -> bytes:
        """What the service answers to bytes, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            connection.sendall(data)
            found = b""
            while part := connection.recv(65536):
                found += part
            return found

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@pytest.fixture
def process(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    open_session(project, home=home, environment={}).index()
    one = Process(home)
    yield one
    if one.process.poll() is None:
        one.stop(signal.SIGKILL)


def test_the_command_line_uses_the_service_by_itself_and_answers_the_same(
    process: Process, project: Path, contextd: Callable[..., Run]
) -> None:
    for command in (
        ("search", "load user"), ("context", "how are users loaded"), ("symbols", "load_user"), ("callers", "load_user"),
        ("search", "--exact", "def load_user"), ("search", "src/app/store.py"), ("task", "--title", "Delete users"), ("map",),
        ("search", "load user", "--as", "ana"),
    ):  # fmt: skip
        there, here = contextd(*command, cwd=project), contextd(*command, "--embedded", cwd=project)
        assert (there.code, there.out) == (here.code, here.out), command
    client = Client(home=process.home, project=project)
    before = client.connection.get("/memories", {})["total"]
    assert contextd("remember", "I like figs", cwd=project).code == 0
    assert client.connection.get("/memories", {})["total"] == before + 1
    listed = [json.loads(contextd("memories", "--json", *more).out) for more in ((), ("--embedded",))]
    assert listed[0] == listed[1]
    assert contextd("recall", "figs", "--service").code == 0


HEAVY = (
    "numpy", "apsw", "onnxruntime", "tiktoken", "asyncio", "pydantic", "rich", "logging", "hashlib", "http.client", "email", "ssl",
    "concurrent.futures", "contextd.app.assemble", "contextd.app.session", "contextd.app.tasks", "contextd.settings.config",
    "contextd.settings.defaults", "contextd.values.memory", "contextd.surfaces.wire.convert", "contextd.querying",
)  # fmt: skip


def test_a_search_that_the_service_answers_loads_little(process: Process, project: Path) -> None:
    """Loading takes most of the time of such a command."""
    code = "import sys; from contextd.surfaces.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    asked = [sys.executable, "-c", code, "search", "load user", "--service"]
    run = subprocess.run(asked, cwd=project, env=process.environment, capture_output=True, text=True)
    loaded = set(run.stderr.splitlines()[-1].split())
    assert "load_user" in run.stdout and "contextd.surfaces.client.client" in loaded
    assert not loaded & {*HEAVY}


def test_a_command_that_the_service_answers_says_all_and_ends_with_its_code(process: Process, project: Path) -> None:
    """The process ends without the teardown of the interpreter; its output is written all the same."""
    for words, code, said in (
        (["load user"], 0, "store.py"),
        (["zzqx"], 1, "nothing found"),
        (["x", "--min-score", "7"], 2, "error"),
    ):
        run = subprocess.run(
            [sys.executable, "-m", "contextd", "search", *words, "--service"],
            cwd=project, env=process.environment, capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == code and said in run.stdout + run.stderr


def test_a_command_falls_back_to_itself_or_fails_as_the_mode_says(
    home: Path, project: Path, contextd: Callable[..., Run]
) -> None:
    open_session(project, home=home, environment={}).index()
    assert contextd("search", "load user", cwd=project).code == 0
    refused = contextd("search", "load user", "--service", cwd=project)
    assert refused.code == 3 and "contextd serve" in refused.err
    (home / "config.toml").write_text('[context]\nmode = "standalone"\n')
    assert contextd("search", "load user", cwd=project).code == 3
    assert contextd("search", "load user", "--embedded", cwd=project).code == 0


def test_a_mode_that_was_set_after_the_service_started_counts_at_once(process: Process, contextd: Callable[..., Run]) -> None:
    """Commands take it from what the service has published, unless the settings are newer."""
    with click.Context(click.Command("search")):
        assert client(None, "owner") is not None
        assert contextd("config", "set", "mode", "embedded").code == 0
        assert client(None, "owner") is None


def test_P17_a_second_service_names_the_first_and_a_stale_lock_is_taken_over(
    process: Process, contextd: Callable[..., Run]
) -> None:
    second = contextd("serve", "--port", "0", "--no-watch")
    assert second.code == 3 and str(process.process.pid) in second.err and process.url in second.err
    process.stop(signal.SIGKILL)
    assert running(process.home) is None and (process.home / "service" / "service.json").exists()
    again = Process(process.home)
    again.raw(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")  # it handles signals once it answers
    assert again.stop() == 0


def test_P17_a_taken_port_is_named(home: Path, contextd: Callable[..., Run]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = contextd("serve", "--port", str(port))
    assert run.code == 3 and str(port) in run.err and "--port" in run.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_M4_another_address_needs_tls_or_a_proxy(home: Path, contextd: Callable[..., Run], host: str) -> None:
    run = contextd("serve", "--host", host, "--port", "0")
    assert run.code == 2 and "--behind-proxy" in run.err
    (home / "config.toml").write_text(f'[context.engine]\nhost = "{host}"\n')
    configured = contextd("serve", "--port", "0")
    assert configured.code == 2 and "--host" in configured.err


def test_P16_a_stopped_service_completes_what_it_began_and_exits_with_0(process: Process) -> None:
    token = (process.home / "service" / "token").read_text().strip()
    head = f"POST /api/v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    body = json.dumps({"text": "I moored the boat in Kiel"}).encode()
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:10])
        time.sleep(0.3)
        process.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.sendall(body[10:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert process.process.wait(20) == 0
    assert running(process.home) is None
    assert open_session(None, home=process.home, environment={}).recall("where is the boat").hits


def test_a_client_that_goes_away_while_it_sends_leaves_no_traceback_in_the_log(process: Process) -> None:
    token = (process.home / "service" / "token").read_text().strip()
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as connection:
        connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        time.sleep(0.5)
    time.sleep(0.5)
    assert process.stop() == 0 and process.process.stderr is not None
    assert b"Traceback" not in process.process.stderr.read()


SMUGGLED = [
    b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: 1\r\n b\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"GET http://evil.example/api/v1/projects HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /healthz\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 200,
]


@pytest.mark.parametrize("data", SMUGGLED, ids=range(len(SMUGGLED)))
def test_P15_a_request_that_two_readers_could_read_differently_is_refused(process: Process, data: bytes) -> None:
    answer = process.raw(data)
    assert not answer or answer.split(b"\r\n")[0].split()[1] in (b"400", b"401", b"421", b"405"), answer[:200]
    assert b"HTTP/1.1 200" not in answer


def test_P15_a_body_with_a_length_and_chunks_is_refused(process: Process) -> None:
    token = (process.home / "service" / "token").read_text().strip()
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    data = f'{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{{"query": "x"}}\r\n0\r\n\r\n'.encode()
    assert process.raw(data).startswith(b"HTTP/1.1 400")


def test_P7_headers_that_do_not_end_are_cut_off(process: Process) -> None:
    began = time.monotonic()
    assert b"200" not in process.raw(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", wait=20)
    assert 5 < time.monotonic() - began < 16
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as connection, suppress(OSError):
        for _ in range(40):
            connection.sendall(b"X-Long: " + b"a" * 65_000 + b"\r\n")
    assert process.process.poll() is None


def test_serve_in_the_background_and_stop(home: Path, contextd_process: Callable[..., Run]) -> None:
    started = contextd_process("serve", "--background", "--port", "0", "--json")
    assert started.code == 0, started.err
    pid = json.loads(started.out)["pid"]
    assert json.loads(contextd_process("serve", "--background", "--json").out)["pid"] == pid, "it runs already"
    assert (home / "service" / "token").stat().st_mode & 0o777 == 0o600
    assert contextd_process("stop").code == 0
    assert running(home) is None and contextd_process("stop").code == 1


def test_tokens_on_the_command_line(home: Path, contextd: Callable[..., Run]) -> None:
    made = contextd(
        "token", "create", "ana", "--reader", "ana", "--group", "team", "--may", "write", "--expires", "90d", "--json"
    )
    token = json.loads(made.out)["token"]
    assert contextd("token", "create", "ana").code == 2
    listed = json.loads(contextd("token", "list", "--json").out)["items"]
    assert listed[0]["groups"] == ["team"] and listed[0]["expires"] and token not in json.dumps(listed)
    for path in home.glob("record.db*"):
        assert token.encode() not in path.read_bytes() and token.split("_", 2)[2].encode() not in path.read_bytes()
    assert contextd("token", "create", "x", "--expires", "soon").code == 2
    contextd("token", "create", "mine", "--private")
    heading, *rows = [line.split("\t") for line in contextd("token", "list").out.splitlines()]
    assert [row[heading.index("private")] for row in rows if row[0] in ("ana", "mine")] == ["", "yes"]
    assert contextd("token", "revoke", "ana").code == 0 and contextd("token", "revoke", "ana").code == 2


def test_the_service_is_installed_as_a_unit_of_the_user(
    home: Path, tmp_path: Path, contextd: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    shown = contextd("service", "install", "--print")
    assert "ExecStart=" in shown.out and str(home) in shown.out and not (tmp_path / "config").exists()
    assert contextd("service", "install").code == 0
    unit = tmp_path / "config" / "systemd" / "user" / "contextd.service"
    assert unit.read_text() == shown.out
    assert contextd("service", "uninstall").code == 0 and not unit.exists()
    assert contextd("service", "uninstall").code == 1


def test_an_answer_does_not_wait_for_an_acknowledgment() -> None:
    """Headers and body are two packets: without this, the second waits 40 ms for the client's delayed acknowledgment."""
    from contextd.surfaces.http.server import Address, _bound

    with _bound(Address(port=0)) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_program_that_takes_the_port_of_a_dead_service_gets_no_token(process: Process, project: Path) -> None:
    client = Client(home=process.home, project=project, retries=0)
    assert client.search("load user").hits
    client.close()
    process.stop(signal.SIGKILL)
    with socket.create_server(("127.0.0.1", process.port)) as thief:
        thief.settimeout(1.0)
        with pytest.raises(Unavailable):
            client.search("load user")
        with pytest.raises(Unavailable):
            client.remember("I like figs")
        with pytest.raises(TimeoutError):
            thief.accept()


@pytest.fixture
def followed(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, contextd: Callable[..., Run]) -> Iterator[Path]:
    """A project whose files the service follows."""
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    session = open_session(project, home=home, environment={})
    session.index()
    one = Process(home, watch=True)
    try:
        assert contextd("search", "load user", "--service", cwd=project).code == 0  # from now on, the project is followed
        until(lambda: "service" in session.known().writer())
        yield project
    finally:
        one.stop(signal.SIGKILL)


def test_another_writer_is_told_that_the_service_holds_the_index(followed: Path, contextd: Callable[..., Run]) -> None:
    told = contextd("watch", cwd=followed)
    assert told.code == 3 and "locked by the contextd service" in told.err and "`contextd stop`" in told.err


def test_a_project_that_the_service_follows_can_be_shared(followed: Path, contextd: Callable[..., Run]) -> None:
    assert contextd("share", "ana", cwd=followed).code == 0
    assert contextd("search", "load user", "--as", "ana", "--embedded", cwd=followed).code == 0


def test_a_project_that_the_service_follows_can_be_removed(home: Path, followed: Path, contextd: Callable[..., Run]) -> None:
    removed = contextd("projects", "remove", str(followed), "--yes")
    assert removed.code == 0 and "1 removed" in removed.out, removed.err
    assert not list((home / "projects").iterdir())


def test_nobody_gets_the_port_while_the_lock_says_that_it_is_ours(process: Process) -> None:
    process.process.send_signal(signal.SIGTERM)
    taken = []
    while process.process.poll() is None:
        with suppress(OSError), socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind(("127.0.0.1", process.port))
            thief.listen()
            taken.append(running(process.home))
    assert not any(taken) and process.process.wait(20) == 0
