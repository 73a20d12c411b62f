"""Engines: protocol, schema, deadlines and faults, on a real model where it matters. What the model says is never checked."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contextd.app.assemble import open_session
from contextd.app.engines import AWAY, MISSING, READY, engine_states, make_ready, server
from contextd.errors import InvalidInput, Unavailable
from contextd.models.engine_embedder import EngineEmbedder
from contextd.models.engine_http import EngineHttp
from contextd.models.ollama import Ollama
from contextd.models.openai_server import OpenaiServer
from contextd.ports.engines import ChatTurn, PullProgress
from contextd.querying.assisted.ask import BadReply, ask
from contextd.sandbox import gguf as gguf_driver
from contextd.sandbox.gguf import GgufChat, probed
from contextd.settings.defaults import Embedding, LanguageModel
from tests.conftest import Run
from tests.engines.ollama_server import OllamaServer, through
from tests.llama import Llama

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 12}},
    "required": ["word"],
    "additionalProperties": False,
}
ASK = [ChatTurn("system", "Answer with JSON."), ChatTurn("user", "One word, please.")]


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    made = OllamaServer(["tiny:latest"])
    yield made
    made.close()


def engine(fake: OllamaServer, model: str = "tiny") -> Ollama:
    return Ollama(EngineHttp(fake.url, False), model)


def test_a_server_with_the_api_of_openai_answers_within_the_schema(llama: Llama) -> None:
    one = OpenaiServer(EngineHttp(llama.url, False), "any")
    assert set(ask(one, ASK, SCHEMA, soon())) == {"word"}
    assert one.is_running() and len(one.models()) == 1 and not one.remote
    one.close()


def test_ollama_answers_within_the_schema(llama: Llama, ollama: OllamaServer) -> None:
    ollama.chat = through(llama.url)
    assert set(ask(engine(ollama), ASK, SCHEMA, soon())) == {"word"}
    path, body = ollama.got[0]
    assert (path, body["format"], body["stream"], body["model"]) == ("/api/chat", SCHEMA, False, "tiny")


def test_P20_a_local_file_answers_in_a_niced_process_of_its_own(gguf: Path) -> None:
    chat = GgufChat(gguf)
    try:
        assert set(ask(chat, ASK, SCHEMA, soon(110))) == {"word"}
        process = chat._process
        assert process is not None and os.getpriority(os.PRIO_PROCESS, process.pid) >= 10
        assert b"OMP_WAIT_POLICY=passive" in Path(f"/proc/{process.pid}/environ").read_bytes()
        listening = Path(f"/proc/{process.pid}/net/tcp").read_text()
        own = {str(one.readlink()) for one in Path(f"/proc/{process.pid}/fd").iterdir()}
        assert not [row for row in listening.splitlines()[1:] if row.split()[3] == "0A" and f"socket:[{row.split()[9]}]" in own]
        with pytest.raises(Unavailable, match="in time"):  # late: the process is ended
            chat.chat([ChatTurn("user", "Count to a thousand.")], None, soon(0.2))
        assert process.wait(10) == -signal.SIGKILL and chat._process is None
    finally:
        chat.close()


def test_a_local_model_is_probed_in_a_process_first(tmp_path: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in probed(tmp_path / "none.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    assert "GGUF" in probed(tmp_path / "bad.gguf") or "signal" in probed(tmp_path / "bad.gguf")
    dies = ("python3", "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    monkeypatch.setattr(gguf_driver, "_COMMAND", dies)
    chat = GgufChat(gguf)
    with pytest.raises(Unavailable, match="signal 4 on this machine"):
        chat.chat(ASK, SCHEMA, soon())
    with pytest.raises(Unavailable, match="signal 4"):
        chat.chat(ASK, SCHEMA, soon())


@pytest.mark.parametrize(
    "reply",
    ["", "no", "{", "[]", "null", '{"word": 5}', '{"word": "a", "more": 1}', '{"words": "a"}', '{"word": "' + "x" * 13 + '"}', "é" * 5000],
)  # fmt: skip
def test_Q8_a_bad_answer_is_asked_for_once_more_and_then_given_up(ollama: OllamaServer, reply: str) -> None:
    replies = [reply, '{"word": "ok"}', reply, reply]
    ollama.chat = lambda body: {"message": {"content": replies.pop(0)}}
    assert ask(engine(ollama), ASK, SCHEMA, soon()) == {"word": "ok"}
    with pytest.raises(BadReply):
        ask(engine(ollama), ASK, SCHEMA, soon())
    assert len(ollama.got) == 4


def test_Q8_a_fence_around_the_answer_is_taken_off(ollama: OllamaServer) -> None:
    ollama.chat = lambda body: {"message": {"content": '```json\n{"word": "ok"}\n```'}}
    assert ask(engine(ollama), ASK, SCHEMA, soon()) == {"word": "ok"} and len(ollama.got) == 1


@pytest.mark.parametrize("answer", [b"x" * (5 << 20), b"<html>", b"[]", b"{}", {"message": 5}, {"message": {}}, None])
def test_Q8_whatever_a_server_sends_is_one_error(ollama: OllamaServer, answer: Any) -> None:
    ollama.chat = lambda body: answer
    with pytest.raises(Unavailable):
        ask(engine(ollama), ASK, SCHEMA, soon(10))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid"])
def test_a_server_that_is_not_there(url: str) -> None:
    one = Ollama(EngineHttp(url, False), "tiny")
    assert not one.is_running()
    with pytest.raises(Unavailable, match="cannot be reached"):
        one.chat(ASK, None, soon(5))


def test_the_deadline_holds_whatever_the_engine_does(ollama: OllamaServer) -> None:
    class Deaf:
        name, remote = "deaf", False

        def chat(self, *_: Any) -> str:
            time.sleep(30)
            return ""

        def close(self) -> None: ...

    ollama.chat = lambda body: time.sleep(20)
    dribbling = _dribble()
    for one in (Deaf(), engine(ollama), OpenaiServer(EngineHttp(dribbling, False), "m")):
        began = time.monotonic()
        with pytest.raises(Unavailable, match="in time"):
            ask(one, ASK, SCHEMA, soon(0.3))
        assert time.monotonic() - began < 15


def _dribble() -> str:
    """A server that sends one byte of its answer every 50 ms."""
    listening = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        with suppress(OSError):
            for _ in range(400):
                connection.sendall(b" ")
                time.sleep(0.05)

    threading.Thread(target=talk, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_models_are_listed_looked_up_and_pulled(ollama: OllamaServer) -> None:
    one = engine(ollama)
    assert one.models() == ["tiny:latest"] and one.has("tiny") and one.has("tiny:latest") and not one.has("tin")
    ollama.pulls = [
        {"status": "pulling manifest"},
        {"status": "downloading", "completed": 5, "total": 10},
        {"status": "success"},
    ]
    seen = list[PullProgress]()
    one.pull("large:7b", seen.append)
    assert seen[1] == PullProgress("downloading", 5, 10) and one.has("large:7b")
    for broken in ([{"error": "no space"}], [{"status": "downloading"}], []):
        ollama.pulls = broken
        with pytest.raises(Unavailable):
            one.pull("other", seen.append)


def test_vectors_are_checked_and_of_length_one(ollama: OllamaServer) -> None:
    ollama.embed = lambda body: {"embeddings": [[3.0, 4.0]] * len(body["input"])}
    embedder = EngineEmbedder(Ollama(EngineHttp(ollama.url, False), "nomic-embed-text"))
    assert embedder.space == "deep/ollama-nomic-embed-text/2" and embedder.documents([]).shape == (0, 2)
    assert np.allclose(embedder.documents(["a"] * 40), [[0.6, 0.8]] * 40)
    assert np.allclose(embedder.query("b"), [0.6, 0.8])
    inputs = [body["input"] for path, body in ollama.got]
    assert (
        inputs[1][0] == "search_document: a"
        and [len(one) for one in inputs] == [1, 32, 8, 1]
        and inputs[3] == ["search_query: b"]
    )
    for broken in (
        {"embeddings": [[1.0, 2.0], [1.0]]},
        {"embeddings": []},
        {"embeddings": [[float("nan"), 1]]},
        {"x": 1},
        [],
        {"embeddings": [[1.0]]},
    ):
        embedder._again = 0.0
        ollama.embed = lambda body, broken=broken: broken  # type: ignore[misc]
        with pytest.raises(Unavailable):
            embedder.query("b")
    embedder._again = time.monotonic() + 5
    asked = len(ollama.got)
    with pytest.raises(Unavailable, match="a moment ago"):
        embedder.query("b")
    assert len(ollama.got) == asked


def test_the_url_decides_what_is_remote_and_where_the_api_is() -> None:
    assert server("ollama", "", "m", "").http.url == "http://127.0.0.1:11434"
    assert server("ollama", "http://10.0.0.5:11434/v1", "m", "").http == EngineHttp("http://10.0.0.5:11434", True)
    assert server("openai", "http://localhost:8080", "m", "", {}).http == EngineHttp("http://localhost:8080/v1", False)
    assert server("openai", "https://api.openai.com/v1", "m", "KEY", {"KEY": "sk-1"}).http.key == "sk-1"
    assert "sk-1" not in repr(server("openai", "https://api.openai.com/v1", "m", "KEY", {"KEY": "sk-1"}))
    for engine_name, url in (
        ("openai", ""),
        ("ollama", "ftp://x"),
        ("openai", "http://user:pass@host/v1"),
        ("openai", "http://h/?a=b"),
    ):
        with pytest.raises(InvalidInput, match="URL"):
            server(engine_name, url, "m", "")


def test_what_is_ready_and_what_is_missing(ollama: OllamaServer, tmp_path: Path) -> None:
    def states(llm: LanguageModel, deep: str = "none") -> list[tuple[str, str, str]]:
        found = engine_states(llm, Embedding(deep_model=deep, url=ollama.url), tmp_path)
        return [(one.engine, one.model, one.state) for one in found if one.use]

    llm = LanguageModel(engine="ollama", url=ollama.url, model="tiny")
    assert states(llm, "ollama:other") == [("ollama", "tiny", READY), ("ollama", "other", MISSING)]
    assert states(LanguageModel(engine="ollama", url="http://127.0.0.1:9", model="tiny")) == [("ollama", "tiny", AWAY)]
    assert states(LanguageModel(engine="local", model="smollm2-135m")) == [
        ("local", "SmolLM2-135M-Instruct.Q4_1.gguf", MISSING)
    ]
    ollama.pulls = [{"status": "success"}]
    assert make_ready(llm, Embedding(deep_model="ollama:other", url=ollama.url), "", lambda _: None) == ["other"]
    assert make_ready(llm, Embedding(deep_model="ollama:other", url=ollama.url), "", lambda _: None) == []


def test_the_command_shows_engines_and_pulls_with_progress(
    ollama: OllamaServer, home: Path, contextd: Callable[..., Run], on_terminal: Callable[..., Run]
) -> None:
    settings = f'[context.llm]\nengine = "ollama"\nurl = "{ollama.url}"\nmodel = "small"\n'
    (home / "config.toml").write_text(settings)
    listed = contextd("models")
    assert "model is missing" in listed.out and ollama.url in listed.out and "contextd models pull" in listed.err
    assert json.loads(contextd("models", "--json").out)["engines"][0]["state"] == MISSING
    ollama.pulls = [{"status": "downloading", "completed": 1 << 20, "total": 2 << 20}, {"status": "success"}]
    done = contextd("models", "pull")
    assert done.out == "pulled: small\n" and "downloading" in done.err
    assert contextd("models", "pull").out == "nothing is missing\n" and "ready" in contextd("models").out
    assert "pulled: other" in on_terminal("models", "pull", "other").out
    ollama.pulls = [{"error": "pull model manifest: file does not exist"}]
    failed = contextd("models", "pull", "no-such")
    assert failed.code == 3 and "file does not exist" in failed.err


def test_a_local_model_is_chosen_by_name_loaded_in_the_background_and_ended(gguf: Path, home: Path, project: Path) -> None:
    folder = home / "models" / "smollm2-135m"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / gguf.name).exists():
        os.link(gguf, folder / gguf.name)
    (home / "config.toml").write_text(
        '[context.llm]\nengine = "local"\nmodel = "smollm2-135m"\nintent = true\nintent_seconds = 0.3\n'
    )
    session = open_session(project, home=home, environment={})
    session.index()
    first = session.context("load user")
    assert first.hits and any(one.startswith("intent: ") for one in first.trace.warnings)
    chat = session.setup.chat()
    assert isinstance(chat, GgufChat) and open_session(project, home=home, environment={}).setup.chat() is chat
    chat._ready(soon(100))
    process = chat._process
    assert process is not None and process.poll() is None
    session.close()
    assert process.wait(10) is not None
