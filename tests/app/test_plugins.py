"""Retrievers from outside: a real package, installed and used; broken and slow ones cost a warning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contextd.app.assemble import open_session
from contextd.app.plugins import Plugged
from contextd.app.questions import query_of
from contextd.app.session import Session
from contextd.errors import InvalidInput, StorageError
from contextd.ports.world import Embedder, Matrix
from contextd.querying.vectors import QueryVectors
from contextd.values.answer import Suggestion
from contextd.values.document import ChunkId
from contextd.values.query import Plan
from tests.conftest import Run, with_setup

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example packages, built and installed as pip does it."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
               "--no-index", "--target", str(target), *(str(ROOT / f"examples/contextd-{name}") for name in ("bookmarks", "hashing"))]  # fmt: skip
    subprocess.run(command, check=True, timeout=110)
    return target


def test_the_example_package_is_installed_and_used(
    session: Session, project: Path, home: Path, installed: Path, contextd_process: Callable[..., Run]
) -> None:
    (home / "bookmarks.txt").write_text("zebra docs/guide.md:7\nzebra nowhere/at/all.py\n")
    (home / "config.toml").write_text(f'[context.providers.bookmarks]\nweight = 5.0\nfile = "{home}/bookmarks.txt"\n')
    found = contextd_process(
        "search",
        "zebra user",
        "-p",
        str(project),
        PYTHONPATH=os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]),
    )
    assert found.code == 0 and found.out.startswith("docs/guide.md"), found.err
    (home / "bookmarks.txt").unlink()
    found = contextd_process(
        "search",
        "load_user",
        "-p",
        str(project),
        PYTHONPATH=os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]),
    )
    assert found.code == 0 and "bookmarks.txt cannot be read" in found.err
    found = contextd_process("search", "load_user", "-p", str(project))
    assert found.code == 0 and "retriever 'bookmarks' is not installed" in found.err
    (home / "config.toml").write_text("[context.providers.bookmarks]\nenabled = false\n")
    assert contextd_process("search", "load_user", "-p", str(project)).err == ""


def test_a_project_cannot_switch_a_plug_in_on(project: Path, home: Path) -> None:
    (project / "context.toml").write_text("[context.providers.bookmarks]\nweight = 5.0\n")
    session = open_session(project, home=home, environment={})
    assert not session.setup.retrievers and any("cannot switch plug-ins on" in one for one in session.warnings)


class Fixed:
    def __init__(self, *suggestions: Suggestion) -> None:
        self.suggestions = suggestions

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        return self.suggestions


class Broken:
    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        raise RuntimeError("no luck")


class Slow:
    over = threading.Event()

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        self.over.wait(30)
        return []


class Nonsense:
    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        return [("not", "a", "suggestion", 1, 2, 3)]  # type: ignore[list-item]


def test_a_broken_slow_or_mad_retriever_costs_a_warning(session: Session) -> None:
    expected = [hit.chunk.id for hit in session.search("load_user").hits]
    session = with_setup(session, retrievers={"broken": (1.0, Broken()), "slow": (1.0, Slow()), "mad": (1.0, Nonsense())})
    began = time.monotonic()
    found = session.search("load_user")
    assert time.monotonic() - began < 10
    assert [hit.chunk.id for hit in found.hits] == expected
    for text in ("broken: RuntimeError: no luck", "slow: no answer in time", "mad: TypeError"):
        assert any(text in warning for warning in found.trace.warnings), text
    Slow.over.set()


class Endless:
    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        while True:
            yield Suggestion(1.0, uri="docs/guide.md")


WRONG = {
    "a score that is a text": ("high", None, "docs/guide.md", 0),
    "a score that is nothing": (None, None, "docs/guide.md", 0),
    "a score beyond floats": (10**400, None, "docs/guide.md", 0),
    "a line that is a text": (1.0, None, "docs/guide.md", "7"),
    "a line beyond integers": (1.0, None, "docs/guide.md", 10**30),
    "a uri that is a list": (1.0, None, ["docs/guide.md"], 0),
    "a chunk that is a text": (1.0, "chunk", "", 0),
    "a chunk of texts": (1.0, ("a", "b"), "", 0),
    "no suggestion": 7,
}


@pytest.mark.parametrize("what", WRONG)
def test_a_suggestion_of_the_wrong_type_costs_a_warning_and_is_not_called_damage(session: Session, what: str) -> None:
    expected = [hit.chunk.id for hit in session.search("load_user").hits]
    session = with_setup(session, retrievers={"wrong": (1.0, Fixed(WRONG[what]))})
    found = session.search("load_user")
    assert [hit.chunk.id for hit in found.hits] == expected
    assert any("retriever wrong: " in warning for warning in found.trace.warnings)
    assert not any("damaged" in warning for warning in found.trace.warnings)


def test_a_retriever_that_never_stops_is_asked_for_so_many_and_no_more(session: Session) -> None:
    session = with_setup(session, retrievers={"endless": (9.0, Endless())})
    found = session.search("zebra", min_score=0)
    assert found.hits[0].chunk.uri == "docs/guide.md" and not found.trace.warnings


@pytest.mark.parametrize(
    "error", [TypeError("x"), ValueError("x"), KeyError("x"), IndexError("x"), ConnectionRefusedError("x")]
)
def test_an_error_of_the_code_that_asks_a_view_is_not_a_storage_error(session: Session, error: Exception) -> None:
    assert session.project is not None
    scope = query_of(session, "x", None, None).scope
    for store in (session.project.store, session.home.record.store(session.home.personal)):
        with pytest.raises(type(error)), store.view(scope):
            raise error


def test_an_error_of_the_view_itself_is_damage(session: Session) -> None:
    assert session.project is not None
    scope = query_of(session, "x", None, None).scope
    for store in (session.project.store, session.home.record.store(session.home.personal)):
        with pytest.raises(StorageError, match="is inconsistent"), store.view(scope) as view:
            view.about([ChunkId(123, 456)])


def test_suggestions_are_checked_against_the_scope(session: Session, project: Path, home: Path) -> None:
    assert session.project is not None
    known = session.project.store.documents(session.project.source.id)
    wild = [
        Suggestion(1.0, ChunkId(known["docs/guide.md"].id, 0)),
        Suggestion(1.0, ChunkId(known["docs/guide.md"].id, 999)),
        Suggestion(1.0, ChunkId(12345, 0)),
        Suggestion(float("nan"), uri="src/app/store.py"),
        Suggestion(-1.0, uri="src/app/store.py"),
        Suggestion(1.0, uri="../../etc/passwd"),
    ]
    session = with_setup(session, retrievers={"wild": (9.0, Fixed(*wild))})
    assert session.search("zebra", min_score=0).hits[0].chunk.uri == "docs/guide.md"
    session.share_only(["ana"], force=True)
    assert session.search("zebra", min_score=0).hits == [], "what may not be read cannot be suggested"


def test_fusion_by_ranks_is_there_for_those_who_ask(session: Session) -> None:
    session = with_setup(session, settings=replace(session.settings, query=replace(session.settings.query, fusion="rrf")))
    assert session.search("load_user").hits[0].chunk.uri == "src/app/store.py"
    with pytest.raises(InvalidInput, match="weighted or rrf"):
        open_session(None, home=session.project.folder.parent.parent, environment={"CONTEXTD_QUERY__FUSION": "best"})  # type: ignore[union-attr]


@pytest.mark.parametrize("table", ["x = 1", '[context.providers.x]\nweight = "much"', '[context.providers.x]\nenabled = "yes"'])
def test_settings_of_plug_ins_are_checked(table: str, home: Path) -> None:
    text = table if table.startswith("[") else f"[context.providers]\n{table}"
    (home / "config.toml").write_text(text + "\n")
    with pytest.raises(InvalidInput, match="providers"):
        open_session(None, home=home, environment={})


def shared(session: Session, **tables: dict[str, float | bool]) -> Session:
    return with_setup(session, settings=replace(session.settings, providers=tables))


def test_a_built_in_retriever_can_be_switched_off(session: Session) -> None:
    question = "how is a person looked up in the database"
    assert any("static" in hit.why for hit in session.search(question, min_score=0).hits)
    found = shared(session, semantic={"enabled": False}).search(question, min_score=0)
    assert found.hits and not any("static" in hit.why for hit in found.hits) and not found.trace.warnings
    found = shared(session, full_text={"enabled": False}).search(question, min_score=0)
    assert found.hits and not any({"chunk", "document"} & set(hit.why) for hit in found.hits)
    found = shared(session, symbol={"enabled": False}).search("load_user", min_score=0)
    assert found.hits and not any({"name", "defined"} & set(hit.why) for hit in found.hits)
    for name in ("semantic", "full_text", "symbol", "git_history"):
        assert shared(session, **{name: {"enabled": False}}).context("load_user").hits, name


def test_without_git_history_commits_do_not_answer(project: Path, home: Path) -> None:
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "Load users"],
    ):
        subprocess.run(["git", "-C", str(project), *command], check=True)
    session = open_session(project, home=home, environment={})
    session.index()
    question = "which commit loads users"
    assert any(hit.chunk.language == "commit" for hit in session.search(question).hits)
    assert not any(
        hit.chunk.language == "commit" for hit in shared(session, git_history={"enabled": False}).search(question).hits
    )


def test_a_built_in_retriever_can_be_weighted(make_project: Callable[..., Path], home: Path) -> None:
    files = {
        "one.md": "# Cats\n\nA cat sleeps on the warm sofa all day.\n",
        "two.md": "# Kitten\n\nThe kitten naps upon the couch.\n",
    }
    session = open_session(make_project(files), home=home, environment={})
    session.index()

    def gap(weight: float) -> float:
        hits = shared(session, full_text={"weight": weight}).search("cat sleeps on the sofa", min_score=0).hits
        by_file = {hit.chunk.uri: hit.rank_score for hit in hits}
        return by_file["one.md"] - by_file["two.md"]

    assert gap(0.1) == pytest.approx(shared_gap := gap(0.1)) and gap(0.5) > shared_gap > gap(0.02)


def test_an_embedder_of_ones_own_embeds_texts_and_questions(
    project: Path, home: Path, installed: Path, contextd_process: Callable[..., Run]
) -> None:
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    (home / "config.toml").write_text(
        '[context.embedding]\nmodel = "plugin:hashing"\ndeep_model = "none"\n[context.embedders.hashing]\ndimension = 128\n'
    )
    assert contextd_process("index", "-p", str(project), PYTHONPATH=path).code == 0
    found = json.loads(
        contextd_process("search", "deployments", "--json", "--min-score", "0", "-p", str(project), PYTHONPATH=path).out
    )
    assert found["hits"][0]["path"] == "docs/guide.md" and found["hits"][0]["why"]["static"] > 0 and not found["warnings"]
    told = contextd_process("search", "deploy", "-p", str(project))
    assert told.code == 0 and "embedder 'hashing' is not installed" in told.err, "without it, words serve"


class Backwards:
    """Vectors that are wrong in some way."""

    space, dimension = "backwards", 4

    def __init__(self, answer: Callable[[int], object]) -> None:
        self._answer = answer

    def documents(self, texts: list[str]) -> object:
        return self._answer(len(texts))

    def query(self, text: str) -> object:
        return self._answer(1)


@pytest.mark.parametrize(
    "answer", [lambda n: 1 / 0, lambda n: "text", lambda n: [[1.0] * 3] * n, lambda n: [[float("nan")] * 4] * n]
)
def test_a_broken_embedder_costs_vectors_and_not_the_answer(session: Session, answer: Callable[[int], object]) -> None:
    session = with_setup(session, static=Plugged("backwards", Backwards(answer), "static"))
    assert session.project is not None
    (session.project.root / "new.md").write_text("# Zebras\n\nZebras are striped.\n")
    session.index()
    assert session.search("zebras", min_score=0).hits[0].chunk.uri == "new.md"


def test_a_project_cannot_choose_an_embedder(project: Path, home: Path) -> None:
    (project / "context.toml").write_text('[context.embedding]\nmodel = "plugin:x"\n[context.embedders.x]\ny = 1\n')
    session = open_session(project, home=home, environment={})
    assert sum("cannot choose models" in one for one in session.warnings) == 2 and not session.settings.embedders


class Counting:
    """An embedder that counts how often it is asked for a question."""

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.asked = inner, 0
        self.space, self.dimension = inner.space, inner.dimension

    def documents(self, texts: Sequence[str]) -> Matrix:
        return self.inner.documents(texts)

    def query(self, text: str) -> NDArray[np.float32]:
        self.asked += 1
        return self.inner.query(text)


def test_the_vector_of_a_question_is_made_once(session: Session) -> None:
    assert session.setup.static is not None
    counting = Counting(session.setup.static)
    session = with_setup(session, static=counting)
    first = session.search("load a user")
    assert [hit.score for hit in session.search("load a user").hits] == [
        hit.score for hit in first.hits
    ] and counting.asked == 1
    session.context("load a user")
    assert counting.asked == 1
    session.search("delete a user")
    assert counting.asked == 2
    session = with_setup(
        session, settings=replace(session.settings, embedding=replace(session.settings.embedding, cache_enabled=False))
    )
    session.search("load a user")
    assert counting.asked == 3


def test_vectors_that_are_looked_up_in_a_table_are_not_kept(session: Session) -> None:
    """They take a fifth of a millisecond each, and made a service grow with every new question."""
    assert session.setup.static is not None
    kept = QueryVectors()
    first, again = (kept.of(session.setup.static, "load a user") for _ in range(2))
    assert first is not again and (first == again).all()


def test_only_so_many_vectors_of_questions_are_kept(session: Session) -> None:
    assert session.setup.static is not None
    counting, kept = Counting(session.setup.static), QueryVectors(most=2)
    for text in ("one", "two", "one", "three", "one", "two"):
        kept.of(counting, text)
    assert counting.asked == 4, "the one that was used longest ago made room"
