"""The verification list of the proxy's founding document, point by point, each with the settings that it needs.

Points 20 and 21 are `make test`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.app.profiles import profile_service
from contextd.app.session import Session
from contextd.querying.compose import CONTEXT, OPENING, PROFILE
from tests.engines.ollama_server import OllamaServer
from tests.llama import started
from tests.proxy.conftest import Proxied
from tests.proxy.test_log import entry
from tests.proxy.test_models import configure

DOCUMENTS = {
    "notes/kubernetes.md": "# Kubernetes\n\nThe Kubernetes cluster runs in the basement of the harbor office.\n",
    "notes/postgresql.md": "# PostgreSQL\n\nPostgreSQL vacuum runs every night at three.\n",
    "notes/schema.md": "# Schema decision\n\nWe decided to keep one table for each tenant, because audits are simpler.\n",
    "notes/bread.md": "# Bread\n\nThe sourdough starter is fed with rye flour every morning.\n",
}


@pytest.fixture
def stored(proxied: Proxied) -> Session:
    """1, 7. Context documents, some with names."""
    for path, text in DOCUMENTS.items():
        (proxied.project / path).parent.mkdir(exist_ok=True)
        (proxied.project / path).write_text(text)
    session = open_session(proxied.project, home=proxied.home, environment={})
    session.index()
    proxied.configure(position="start_of_system", log_text=True, deadline_ms=20_000)
    return session


def ask(proxied: Proxied, text: str, **headers: str) -> tuple[Any, str]:
    body = {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}]}
    answer = proxied.post(body=body, headers={"x-contextd-project": str(proxied.project), **headers})
    return answer, proxied.upstream.got[-1].json["messages"][0]["content"]


def test_2_a_related_query_is_logged_with_the_context(proxied: Proxied, stored: Session) -> None:
    answer, system = ask(proxied, "Where does the Kubernetes cluster run?")
    block = entry(proxied, answer.headers["x-contextd-trace-id"]).block
    assert "basement of the harbor office" in block and block in system and system.endswith("Be kind.")


def test_3_an_unrelated_query_gets_no_context(proxied: Proxied, stored: Session) -> None:
    assert CONTEXT not in ask(proxied, "What is the capital of Mongolia?")[1]


def test_4_a_pipeline_that_dies_is_passed_by(proxied: Proxied, stored: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: Any, **__: Any) -> Any:
        raise ConnectionError("gone")

    monkeypatch.setattr(Session, "context", dies)
    monkeypatch.setattr(Session, "facets", dies)
    answer, system = ask(proxied, "Where does the cluster of Kubernetes run then?")
    assert answer.status_code == 200 and answer.headers["x-contextd-status"] == "degraded" and CONTEXT not in system


def test_4_a_model_server_that_is_killed_in_the_middle_of_a_request(proxied: Proxied, stored: Session, gguf: Path) -> None:
    llama = started(gguf)
    positions = {"position": "start_of_system", "log_text": True}
    configure(proxied, llama.url, engine="openai", intent=True, intent_seconds=20.0, proxy={**positions, "deadline_ms": 30_000})
    killer = threading.Timer(0.4, llama.stop)
    killer.start()
    answer, system = ask(proxied, "Where does the Kubernetes cluster run, in the end?")
    killer.join()
    assert answer.status_code == 200 and answer.headers["x-contextd-status"] == "degraded"
    assert "intent" in entry(proxied, answer.headers["x-contextd-trace-id"]).missing
    assert "basement of the harbor office" in system  # the rules go on


def test_5_the_tone_is_in_the_system_prompt(proxied: Proxied, stored: Session) -> None:
    profile_service(stored).set("communication.tone", ["direct"])
    system = ask(proxied, "Where does the Kubernetes cluster run?")[1]
    assert system.startswith(OPENING) and PROFILE in system and "tone: direct" in system


def test_6_enrichment_takes_less_than_two_seconds(proxied: Proxied, stored: Session) -> None:
    began = time.monotonic()
    answer, _ = ask(proxied, "When does the vacuum of PostgreSQL run?")
    assert time.monotonic() - began < 2 and int(answer.headers["x-contextd-ms"]) < 2000


def test_8_an_exact_name_is_found_by_words(proxied: Proxied, stored: Session) -> None:
    found = stored.context("PostgreSQL")
    assert found.hits[0].chunk.uri == "notes/postgresql.md" and any(
        "words" in name or "keyword" in name or name == "chunk" for name in found.hits[0].why
    )
    assert "every night at three" in ask(proxied, "PostgreSQL vacuum schedule")[1]


def test_9_a_paraphrase_is_found_by_vectors(proxied: Proxied, stored: Session) -> None:
    hits = stored.search("which database layout did we choose per customer", min_score=0.0).hits
    assert "notes/schema.md" in [hit.chunk.uri for hit in hits[:3]]


def test_10_words_and_vectors_find_more_than_vectors_alone(stored: Session) -> None:
    def rank(find: Callable[[str], Any], text: str) -> int:
        uris = [hit.chunk.uri for hit in find(text).hits]
        return uris.index("notes/kubernetes.md") if "notes/kubernetes.md" in uris else 99

    static = stored.setup.static
    assert static is not None
    both = rank(lambda text: stored.search(text, min_score=0.0), "Kubernetes basement")
    alone = rank(lambda text: stored.search(text, min_score=0.0, vector=static.query(text).tolist()), "Kubernetes basement")
    assert both <= alone


ROOMS = "kitchen cellar attic hall garage library workshop terrace nursery pantry laundry office".split()


@pytest.fixture
def rooms(proxied: Proxied, stored: Session) -> Iterator[OllamaServer]:
    """11. Twelve documents of varying relevance, and a model server."""
    for room in ROOMS:
        (proxied.project / f"notes/{room}.md").write_text(
            f"# The {room}\n\nIn the {room} of the harbor house the spare keys are counted.\n"
        )
    stored.index()

    made = OllamaServer(["tiny:latest"])
    yield made
    made.close()
    for room in ROOMS:
        (proxied.project / f"notes/{room}.md").unlink()
    stored.index()


def shown(proxied: Proxied, question: str) -> tuple[str, list[str]]:
    """The status, and the documents of the block in their order."""
    answer, system = ask(proxied, question)
    places = {room: system.find(f"In the {room} of") for room in ROOMS}
    return answer.headers["x-contextd-status"], sorted(
        (room for room in ROOMS if places[room] >= 0), key=lambda room: places[room]
    )


def test_11_12_13_14_reranking_by_a_model(proxied: Proxied, stored: Session, rooms: OllamaServer) -> None:
    question = "where are the spare keys of the harbor house counted"
    settings = {"position": "start_of_system", "log_text": True, "deadline_ms": 20_000}
    configure(proxied, rooms.url, reranking=False, proxy=settings)
    status, usual = shown(proxied, question)
    assert status == "enriched" and len(usual) > 3 and not rooms.got  # 13
    static, needed = stored.setup.static, usual[3]
    assert static is not None
    cosine = stored.search(question, min_score=0.0, vector=static.query(question).tolist(), k=12).hits
    assert f"notes/{needed}.md" not in [hit.chunk.uri for hit in cosine[:1]]  # by cosine alone, another document is first

    def judge(body: dict[str, Any]) -> Any:
        text = body["messages"][-1]["content"].partition("Text: ")[2]
        return {"message": {"content": json.dumps({"score": 0.95 if needed in text else 0.4})}}

    rooms.chat = judge
    configure(proxied, rooms.url, reranking=True, proxy=settings)
    status, better = shown(proxied, question)
    assert status == "enriched" and better[0] == needed  # 12
    configure(proxied, rooms.url, reranking=True, reranking_seconds=0.05, proxy=settings)
    rooms.chat = lambda body: time.sleep(3)
    status, late = shown(proxied, question)
    assert status == "degraded" and late == usual  # 14


def test_15_17_18_19_the_cache_answers_until_something_changes(proxied: Proxied, stored: Session) -> None:
    def level() -> str:
        answer, _ = ask(proxied, "How often is the sourdough starter fed with rye?")
        return entry(proxied, answer.headers["x-contextd-trace-id"]).cache

    assert [level(), level()] == ["", "exact"]  # 15
    stored.remember("The starter is called Herbert")
    assert [level(), level()] == ["", "exact"]  # 17
    profile_service(stored).set("communication.tone", ["dry"])
    assert [level(), level()] == ["", "exact"]  # 18
    (proxied.project / "context.toml").write_text("[context.cache]\nenabled = false\n")
    assert [level(), level()] == ["", ""]  # 19
    (proxied.project / "context.toml").unlink()


def test_16_a_rephrased_query_is_answered_from_the_cache(proxied: Proxied, stored: Session) -> None:
    (proxied.project / "context.toml").write_text("[context.cache]\nsemantic = true\n")
    levels = []
    for text in (
        "How often is the sourdough starter fed with rye flour?",
        "Please, how often is a sourdough starter fed with rye flour?",
    ):
        answer, _ = ask(proxied, text)
        levels.append(entry(proxied, answer.headers["x-contextd-trace-id"]).cache)
    (proxied.project / "context.toml").unlink()
    assert levels == ["", "semantic"]
