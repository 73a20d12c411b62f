"""One suite over a session and a client of the service: the same methods give the same results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any

import pytest
import uvicorn

from contextd import AsyncClient, Client
from contextd.app.assemble import open_service, open_session
from contextd.app.tasks import Task
from contextd.app.tokens import FIRST
from contextd.errors import Forbidden, InvalidInput, NotFound, Unavailable
from contextd.surfaces.client.connection import _answered
from contextd.surfaces.client.http_connection import HttpConnection
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import Guard
from contextd.surfaces.http.problems import problem
from contextd.values.memory import Recall
from contextd.values.query import Facet, Narrow


@pytest.fixture
def served(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """URL and token of a service on a socket of this process."""
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    open_session(project, home=home, environment={}).index()
    service = open_service({"CONTEXTD_HOME": str(home)}, follow=False)
    config = uvicorn.Config(Guard(Api(service).app(), service.tokens), port=0, log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", service.tokens.create(FIRST, may="admin", private=True)
    server.should_exit = True
    thread.join(10)


@pytest.fixture(params=["session", "client"])
def engine(request: pytest.FixtureRequest, served: tuple[str, str], project: Path, home: Path) -> Any:
    if request.param == "session":
        return open_session(project, home=home, environment={})
    return Client(*served, project=project)


def test_queries(engine: Any) -> None:
    found = engine.search("register a handler for a path", k=2, narrow=Narrow(paths=["src"], languages=["python"]))
    assert found.hits[0].chunk.uri == "src/app/routes.py" and found.hits[0].chunk.text and found.plan.terms
    assert found.hits[0].chunk.start_line and 0 < found.hits[0].score <= 1
    answer = engine.context("how are users loaded", budget=150, template="xml", narrow=Narrow(exclude=["docs"]))
    assert answer.tokens <= answer.budget == 150 and "load_user" in answer.text and answer.hits[0].chunk.text
    assert answer.ids and answer.scores and answer.budget_used <= 100
    explained = engine.preview("how are users loaded", budget=150, template="xml", narrow=Narrow(exclude=["docs"]))
    assert explained.text == answer.text and {step.name for step in explained.trace.steps} >= {"retrieve", "fuse"}
    assert engine.find("def load_user")[0].uri == "src/app/store.py"
    assert engine.find_pattern(r"class \w+er", limit=1)[0].match == "class Router"
    task = engine.task(Task("Users cannot be deleted", type="bugfix", id="7"))
    assert task.context is not None and task.context.text in task.prompt


def test_structure(engine: Any) -> None:
    assert engine.structure.symbols("load_user")[0].signature.startswith("def load_user")
    defined, uses = engine.structure.callers("load_user")
    assert defined and isinstance(uses, list)
    assert engine.structure.impact("src/app/store.py")[0].uri == "src/app/routes.py"
    assert engine.structure.impact("nothing.py") is None and engine.structure.outline("nothing.py") is None
    assert engine.structure.outline("src/app/store.py")[0].uri == "src/app/store.py"
    assert engine.structure.overview(200).files
    with pytest.raises(NotFound):
        engine.structure.history("src/app/store.py")
    assert engine.summary()["chunks"] and engine.failures() == []


def test_memories(engine: Any) -> None:
    saved = engine.remember("Budget for shoes: max 150€", topics=["Fashion"], pinned=True)
    assert saved.memory.attribute and saved.memory.pinned and not saved.known
    again = engine.remember("Budget for shoes: max 180€")
    assert [one.id for one in again.replaced] == [saved.memory.id]
    other = engine.memories.remember("I run on Sundays", said=1_700_000_000_000_000).memory
    assert other.said == 1_700_000_000_000_000
    engine.memories.link(again.memory.id, other.id, "part_of")
    (link,) = engine.memories.links(again.memory.id)
    assert link[0].kind == "part_of" and link[1].id == other.id
    assert engine.memories.unlink(again.memory.id, other.id) == 1
    assert engine.memories.update(other.id, text="I run on Mondays").memory.text == "I run on Mondays"
    assert engine.memories.history(other.id)[0].before.text == "I run on Sundays"
    assert engine.memories.mark(other.id, silent=True).silent and not engine.memories.mark(other.id, silent=False).silent
    assert engine.memories.feedback(other.id, useful=True).useful == 1 and engine.memories.verify(other.id).verified
    assert {one.id for one in engine.memories.all()} == {saved.memory.id, again.memory.id, other.id}
    assert {one.id for one in engine.memories.personal_facts()} == {again.memory.id, other.id}
    found = engine.recall("when do I run", narrow=Narrow(recall=Recall(min_confidence=0.0)))
    assert [one.id for one in engine.memories.several([hit.chunk.uri for hit in found.hits])] == [other.id]
    assert engine.memories.add_topic("Sailing", "Leisure").parent == "Leisure"
    assert engine.memories.rename_topic("Sailing", "Boats") == 0 and engine.memories.merge_topic("Boats", "Leisure") == 0
    assert "Boats" not in {topic.name for topic in engine.memories.topics()} and engine.memories.delete_topic("Leisure") == 0
    answer = engine.facets("which shoes should I buy", own=[Facet("money", "Money", "What is the budget?")])
    assert "180" in answer.text and answer.plan.facets[0].name == "money"
    assert engine.forget(other.id) in ("gone", "pending")
    with pytest.raises(NotFound, match="no such memory"):
        engine.memories.get(other.id)


def test_errors_are_those_of_the_library(engine: Any) -> None:
    with pytest.raises(InvalidInput, match="template"):
        engine.context("x", template="nope")
    with pytest.raises(NotFound):
        engine.memories.get("abcdef12")
    with pytest.raises(NotFound):
        engine.memories.delete_topic("Nothing")
    ana = engine.as_reader("ana")
    with pytest.raises((Forbidden, NotFound)):
        ana.structure.symbols("load_user")
    one = engine.remember("shared with Ana", principals=["ana"]).memory
    with pytest.raises(Forbidden):
        ana.memories.update(one.id, text="x")


def test_documents(engine: Any) -> None:
    engine.documents(in_project=True).add("notes/plan.md", "The zanzibar rollout starts in March.")
    assert engine.search("zanzibar rollout").hits[0].chunk.uri == "notes/plan.md"
    engine.documents(in_project=True).delete("notes/plan.md")
    with pytest.raises(NotFound):
        engine.documents(in_project=True).delete("notes/plan.md")


def test_the_async_client_answers_many_at_once(served: tuple[str, str], project: Path) -> None:
    async def ask() -> list[Any]:
        client = AsyncClient(*served, project=project)
        one = await client.remember("I drink tea")
        answers = await asyncio.gather(*(client.search("load user", k=1) for _ in range(12)), client.recall("what do I drink"))
        assert await client.forget(one.memory.id) in ("gone", "pending")
        await client.close()
        return answers

    *searches, recalled = asyncio.run(ask())
    assert {found.hits[0].chunk.uri for found in searches} == {"src/app/store.py"} and recalled.hits


def test_a_client_says_what_is_wrong_when_no_service_answers(home: Path) -> None:
    with pytest.raises(Unavailable, match="contextd serve"):
        Client(home=home)
    with pytest.raises(Unavailable, match="no service at"):
        Client("http://127.0.0.1:9", "x", retries=0).search("x")
    with pytest.raises(InvalidInput, match="invalid URL"):
        Client("ftp://x", "x")


def test_a_wrong_token_is_forbidden(served: tuple[str, str]) -> None:
    with pytest.raises(Forbidden, match="access token"):
        Client(served[0], "nonsense").search("x")


def test_a_service_with_too_many_requests_is_unavailable_and_asked_again() -> None:
    """It was taken for a mistake of the caller: exit code 2, and no second attempt."""
    with pytest.raises(Unavailable, match="too many requests"):
        _answered(429, problem(429, "too_many_requests", "too many requests at once; try again", "x"))


def test_a_broken_connection_is_opened_again(
    served: tuple[str, str], project: Path, make_broken: Callable[[Client], None]
) -> None:
    client = Client(*served, project=project)
    assert client.search("load user").hits
    make_broken(client)
    assert client.search("load user").hits


@pytest.fixture
def make_broken() -> Callable[[Client], None]:
    def make(client: Client) -> None:
        for one in client.connection._idle:
            assert isinstance(one, HttpConnection) and one._socket is not None
            one._socket.shutdown(SHUT_RDWR)

    return make
