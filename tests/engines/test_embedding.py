"""Embedding models of servers: a space of their own, and nothing on another machine without consent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.app.engines import embedder_of
from contextd.app.session import Session
from contextd.settings.defaults import Embedding
from tests.engines.ollama_server import OllamaServer
from tests.llama import started

QUESTION = "how are users stored"


def embedded(body: dict[str, Any]) -> Any:
    """Vectors that depend on the text alone."""
    return {
        "embeddings": [
            [byte / 255 for byte in hashlib.blake2b(text.encode(), digest_size=8).digest()] for text in body["input"]
        ]
    }


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    made = OllamaServer(["nomic-embed-text:latest"], embed=embedded)
    yield made
    made.close()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server counts as one on another machine."""
    monkeypatch.setattr("contextd.app.engines.is_remote", lambda upstream: True)


def opened(project: Path, home: Path, ollama: OllamaServer, *, memories: bool = False, **privacy: Any) -> Session:
    lines = [f'[context.embedding]\ndeep_model = "ollama:nomic-embed-text"\nurl = "{ollama.url}"']
    lines += [f"memories = {str(memories).lower()}", "[context.privacy]"]
    lines += [f"{name} = {list(value)!r}" for name, value in privacy.items()]
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    return open_session(project, home=home, environment={})


def sent(ollama: OllamaServer) -> str:
    return "\n".join(text for _, body in ollama.got for text in body["input"])


def test_a_server_embeds_into_a_space_of_its_own(project: Path, home: Path, ollama: OllamaServer) -> None:
    session = opened(project, home, ollama)
    session.index(deep=True)
    with session.known().store.view(replace_scope(session)) as view:
        spaces = dict(view.spaces)
    assert [space for space in spaces if space.startswith("deep/")] == ["deep/ollama-nomic-embed-text/8"]
    assert "search_document: " in sent(ollama) and "def load_user" in sent(ollama)
    session.remember("My favorite color is teal")
    assert "teal" not in sent(ollama)
    found = session.search(QUESTION, min_score=0.0)
    assert found.hits and any("deep" in hit.why for hit in found.hits) and f"search_query: {QUESTION}" in sent(ollama)


def replace_scope(session: Session) -> Any:
    from contextd.app.questions import query_of

    return query_of(session, "", None, None).scope


def test_a_server_that_is_away_costs_a_tier_and_no_answer(project: Path, home: Path, ollama: OllamaServer) -> None:
    session = opened(project, home, ollama)
    session.index(deep=True)
    ollama.embed = lambda body: None
    again = opened(project, home, ollama)
    assert again.search("load_user").hits and again.remember("My favorite color is teal").memory.id


@pytest.mark.usefixtures("elsewhere")
def test_without_consent_nothing_leaves_the_machine(project: Path, home: Path, ollama: OllamaServer) -> None:
    for allowed in ((), ("other",), ("personal",)):
        session = opened(project, home, ollama, remote_models=allowed)
        session.index(deep=True)
        session.remember("My favorite color is teal")
        assert session.search(QUESTION, min_score=0.0).hits and ollama.got == []
        assert any("privacy.remote_models" in warning for warning in session.warnings)


@pytest.mark.usefixtures("elsewhere")
def test_with_consent_files_leave_and_memories_and_private_questions_do_not(
    project: Path, home: Path, ollama: OllamaServer
) -> None:
    session = opened(project, home, ollama, remote_models=[str(project), "personal"])
    session.index(deep=True)
    session.remember("My favorite color is teal")
    session.search(QUESTION)
    answer = session.search("How much do I owe on my mortgage?", min_score=0.0)
    assert "def load_user" in sent(ollama) and QUESTION in sent(ollama)
    assert "teal" not in sent(ollama) and "mortgage" not in sent(ollama)
    assert any("private" in warning for warning in answer.trace.warnings)


def test_a_server_on_this_machine_embeds_memories_on_request(project: Path, home: Path, ollama: OllamaServer) -> None:
    """They are found by its vectors; which facts matter is judged without them, since that was fitted with other models."""
    session = opened(project, home, ollama, memories=True)
    facts = ("My shoe size is EU 42", "Budget for shoes: max 150€", "My favorite color is teal")
    for fact in facts:
        session.remember(fact)
    assert "search_document: My favorite color is teal" in sent(ollama)
    found = session.recall("What is my favorite color?", min_score=0.0)
    assert found.hits[0].chunk.text == facts[2] and any("deep" in hit.why for hit in found.hits)
    ollama.got.clear()
    assert {hit.chunk.text for hit in session.facets("Which sneakers should I buy?").hits} >= set(facts[:2])
    assert ollama.got == []
    ollama.embed = lambda body: None
    away = opened(project, home, ollama, memories=True)
    assert away.remember("My boat is blue").memory.id and away.recall("What is my favorite color?").hits


@pytest.mark.usefixtures("elsewhere")
def test_a_server_elsewhere_never_embeds_memories(project: Path, home: Path, ollama: OllamaServer) -> None:
    session = opened(project, home, ollama, memories=True, remote_models=[str(project), "personal"])
    session.index(deep=True)
    session.remember("My favorite color is teal")
    assert "def load_user" in sent(ollama) and "teal" not in sent(ollama)
    assert any("embedding.memories" in warning for warning in session.warnings)


@pytest.mark.usefixtures("elsewhere")
def test_a_project_with_private_folders_stays_here(project: Path, home: Path, ollama: OllamaServer) -> None:
    session = opened(project, home, ollama, remote_models=[project.name], paths=["docs"])
    session.index(deep=True)
    assert ollama.got == [] and any("private folders" in warning for warning in session.warnings)


def test_a_real_server_embeds(gguf: Path) -> None:
    llama = started(gguf, "--embedding")
    try:
        found = embedder_of(Embedding(deep_model="openai:any", url=llama.url))
        assert found is not None
        embedder, remote = found
        rows = embedder.documents(["one text", "another text"])
        assert not remote and rows.shape == (2, embedder.dimension) and embedder.query("a").shape == (embedder.dimension,)
        assert abs(float((rows[0] ** 2).sum()) - 1) < 1e-3 and embedder.space == f"deep/openai-any/{embedder.dimension}"
    finally:
        llama.stop()


def test_the_same_settings_without_a_server_are_other_models() -> None:
    assert embedder_of(Embedding()) is None and embedder_of(replace(Embedding(), deep_model="plugin:x")) is None
