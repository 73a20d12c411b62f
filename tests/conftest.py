"""Real projects, real stores, real models: every test has a home of its own, with the weights linked in."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO
from weakref import WeakValueDictionary

import pytest
from hypothesis import settings

from contextd.app import home as homes
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.surfaces.cli import main
from tests import kept
from tests.kept import KeptParsers, keep_models, linked, prepared_weights
from tests.llama import Llama, started

settings.register_profile("contextd", deadline=None, derandomize=True)  # the same examples in every run, on a busy machine too
settings.load_profile("contextd")


def with_setup(session: Session, **parts: Any) -> Session:
    """The same session with other models, retrievers or settings."""
    return replace(session, setup=replace(session.setup, **parts))


WEIGHTS = Path(os.environ.get("CONTEXTD_HOME", Path(__file__).parent.parent / ".contextd-run")) / "models"

SAMPLE = {
    "src/app/routes.py": '''"""Routes of the application."""

from app.store import load_user


def register_route(path, handler):
    """Register a handler for a path."""
    ROUTES[path] = handler


class Router:
    """Finds the handler for a request."""

    def match(self, request):
        return ROUTES.get(request.path)
''',
    "src/app/store.py": '''"""Users in a database."""


def load_user(name):
    """Load a user by name."""
    return DATABASE[name]


def delete_user(name):
    """Delete a user and all sessions."""
    del DATABASE[name]
''',
    "docs/guide.md": "# Guide\n\n## Deployment\n\nDeploy with the blue-green strategy on Fridays.\n\n## Backups\n\nBackups run nightly.\n",
    "config/settings.yaml": "server:\n  port: 8710\n  host: localhost\n",
}


@pytest.fixture(scope="session", autouse=True)
def kept_models() -> Iterator[None]:
    """A model is loaded once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        keep_models(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_parsers() -> Iterator[KeptParsers]:
    """A parser goes on from test to test."""
    parsers = KeptParsers()
    with pytest.MonkeyPatch.context() as patch:
        parsers.patch(patch)
        yield parsers
    parsers.close()


@pytest.fixture
def own_parsers(kept_parsers: KeptParsers) -> Iterator[None]:
    """Parsers are started and ended as outside of tests, for tests about just that."""
    kept_parsers.off = True
    yield
    kept_parsers.off = False


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports are read without a process of their own, for tests about what becomes of what was read."""
    kept.read_here(monkeypatch)


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory, kept_models: None) -> Path | None:
    """The weights, ready for use; None without any."""
    return prepared_weights(WEIGHTS, tmp_path_factory.mktemp("weights") / "models") if WEIGHTS.is_dir() else None


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The file of a small language model."""
    pytest.importorskip("xllamacpp")
    found = WEIGHTS / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    if not found.is_file():
        pytest.skip("needs `contextd models fetch smollm2-135m`")
    return found


@pytest.fixture(scope="session")
def llama(gguf: Path) -> Iterator[Llama]:
    """A real server with that model, one for all tests."""
    running = started(gguf)
    yield running
    running.stop()


@pytest.fixture
def home(tmp_path: Path, weights: Path | None) -> Path:
    """A data directory with model weights and nothing else."""
    return new_home(tmp_path / "home", weights)


def new_home(folder: Path, weights: Path | None) -> Path:
    """A new data directory with weights."""
    folder.mkdir()
    if weights is not None:
        shutil.copytree(weights, folder / "models", copy_function=linked)
    return folder


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder with files."""

    def make(files: dict[str, str | bytes] | None = None, name: str = "project") -> Path:
        return written(tmp_path / name, SAMPLE if files is None else files)

    return make


def written(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with files."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    root.mkdir(exist_ok=True)
    return root


@pytest.fixture
def project(make_project: Callable[..., Path]) -> Path:
    """The sample project."""
    return make_project()


@pytest.fixture
def session(project: Path, home: Path) -> Iterator[Session]:
    """A session over the indexed sample project."""
    opened = open_session(project, home=home, environment={})
    opened.index()
    yield opened
    opened.close()


class Run:
    """A finished command."""

    def __init__(self, code: int, out: bytes, err: bytes = b"") -> None:
        self.code = code
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")


@pytest.fixture
def contextd_process(home: Path) -> Callable[..., Run]:
    """Runs the real command in a process of its own."""

    def run(*arguments: str, cwd: Path | None = None, stdin: bytes = b"", timeout: float = 60, **environment: str) -> Run:
        command = [sys.executable, "-m", "contextd", *arguments]
        variables = {**os.environ, "CONTEXTD_HOME": str(home), **environment}
        done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, timeout=timeout, env=variables)
        answer = Run(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in answer.err, answer.err
        return answer

    return run


@pytest.fixture
def contextd(home: Path) -> Callable[..., Run]:
    """Runs the command in this process, with its own arguments, streams, folder, environment and Home: .7 s less a command."""

    def run(*arguments: str, cwd: Path | None = None, stdin: bytes = b"", **environment: str) -> Run:
        streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8") for data in (stdin, b"", b"")]
        code = called(arguments, streams, cwd, {**os.environ, "CONTEXTD_HOME": str(home), **environment})
        return Run(code, *(stream.buffer.getvalue() for stream in streams[1:]))  # type: ignore[attr-defined]

    return run


def called(arguments: Sequence[str], streams: Sequence[TextIO], cwd: Path | None, environment: Mapping[str, str]) -> int:
    """The exit code of the command, called in this process with all that a process has of its own."""
    usual = sys.stdin, sys.stdout, sys.stderr, dict(os.environ), Path.cwd()
    with own_homes():
        sys.stdin, sys.stdout, sys.stderr = streams
        _set_environment(environment)
        os.chdir(cwd or usual[4])
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdin, sys.stdout, sys.stderr = usual[:3]
            _set_environment(usual[3])
            os.chdir(usual[4])
    for stream in streams:
        stream.flush()
    return code if isinstance(code, int) else 0


def _set_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


@contextmanager
def own_homes() -> Iterator[None]:
    """Opens data directories anew, as another process would, and closes them in the end."""
    others, homes._HOMES = homes._HOMES, WeakValueDictionary()
    try:
        yield
    finally:
        for one in list(homes._HOMES.values()):
            one.close()
        homes._HOMES = others


@pytest.fixture
def on_terminal(home: Path) -> Callable[..., Run]:
    """Runs the command in this process on a pseudo terminal of some width; both streams are in `out`, as the terminal gets them."""

    def run(*arguments: str, cwd: Path | None = None, columns: int = 100, typed: bytes = b"", **environment: str) -> Run:
        variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        variables |= {"CONTEXTD_HOME": str(home), "TERM": "xterm", **environment}
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.write(leader, typed)
        sent: list[bytes] = []
        reader = threading.Thread(target=lambda: sent.extend(iter(lambda: _read(leader), b"")))
        reader.start()
        try:
            with _standard_streams(follower) as streams:
                code = called(arguments, streams, cwd, variables)
        finally:
            os.close(follower)  # by now the last one: the reader comes to the end
            reader.join(timeout=60)
            os.close(leader)
        return Run(code, b"".join(sent).replace(b"\r\n", b"\n"))

    return run


@contextmanager
def _standard_streams(terminal: int) -> Iterator[list[TextIO]]:
    """A terminal as descriptors 0, 1 and 2, where libraries ask for its width, and as streams."""
    others = [os.dup(number) for number in range(3)]
    for number in range(3):
        os.dup2(terminal, number)
    try:
        yield [open(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")]  # noqa: SIM115
    finally:
        for number, other in enumerate(others):
            os.dup2(other, number)
            os.close(other)


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # nobody has the other side open any more
        return b""
