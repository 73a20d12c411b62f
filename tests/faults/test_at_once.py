"""Questions beside changes: rights, rebuilds and deletions during a question, and cuts that rights must not starve."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.questions import query_of
from contextd.app.session import Session
from contextd.ports.store import Batch
from contextd.stores.search.vectors import quantize, restore
from contextd.stores.sqlite.store import open_index
from contextd.surfaces.wire.answers import HitAnswer
from contextd.surfaces.wire.convert import plain
from contextd.text.terms import key
from contextd.values.query import Reader, Scope
from tests.conftest import with_setup
from tests.stores.asking import near, words
from tests.stores.shelf import HELD, SOURCE, SPACE, WORKSPACE, Shelf
from tests.waiting import until

ANA = Reader("ana")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(theirs=st.integers(0, 60), own=st.integers(1, 30), k=st.integers(1, 25), fold=st.booleans())
def test_C5_what_others_have_does_not_starve_a_cut(
    tmp_path_factory: pytest.TempPathFactory, theirs: int, own: int, k: int, fold: bool
) -> None:
    """The texts of others fit better in every arm, and still a reader gets k of their own when there are k."""
    shelf = Shelf(open_index(tmp_path_factory.mktemp("index"), WORKSPACE), fold=False)
    for number in range(theirs):
        shelf.put(f"t{number}.txt", f"heron heron heron {number}", frozenset({"owner"}), vector=[1, 0, 0, 0])
    for number in range(own):
        text = f"one heron among many other words, number {number}"
        shelf.put(f"o{number}.txt", text, frozenset({"ana"}), vector=[0.2, 1, 0, 0])
    if fold:
        shelf.store.fold(HELD)
    with shelf.store.view(Scope((WORKSPACE,), ANA)) as view:
        arms = [words(view, {key("heron"): 1.0}, k, field=field) for field in ("chunk", "document")]
        arms.append(near(view, np.array([1, 0, 0, 0], np.float32), k, space=SPACE))
        uris = view.uris()
        for found in arms:
            assert len(found) == min(k, own)
            assert all(uris[hit.chunk.document].startswith("o") for hit in found)
    shelf.store.close()


def test_C6_a_right_that_changes_during_a_question_is_decided_by_its_beginning(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    for number in range(5):
        shelf.put(f"f{number}.txt", f"heron number {number}", frozenset({"ana"}))
    other = open_index(tmp_path, WORKSPACE)
    with shelf.store.view(Scope((WORKSPACE,), ANA)) as view:
        thread = threading.Thread(
            target=lambda: (other.apply(Batch(shared={SOURCE: frozenset({"owner"})}), HELD), other.close())
        )
        thread.start()
        thread.join()
        found = words(view, {key("heron"): 1.0}, 10, field="chunk")
        assert len(found) == 5 and len(view.get([hit.chunk for hit in found])) == 5, "it began before"
        with shelf.store.view(Scope((WORKSPACE,), ANA)) as inner:
            assert len(words(inner, {key("heron"): 1.0}, 10, field="chunk")) == 5, "and is one moment to its end"
    assert shelf.texts("heron", ANA) == [], "the next question is not allowed"
    shelf.store.close()


def test_C6_rights_that_change_all_the_time_are_never_mixed(tmp_path: Path) -> None:
    """All documents of a source change hands in one transaction: a reader sees all of them or none."""
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    for number in range(8):
        shelf.put(f"f{number}.txt", f"heron number {number}", frozenset({"ana"}))
    over, seen = threading.Event(), set()

    def ask() -> None:
        while not over.is_set():
            seen.add(len(shelf.texts("heron", ANA)))
        shelf.store.close()

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    writer = open_index(tmp_path, WORKSPACE)
    for number in range(60):
        writer.apply(Batch(shared={SOURCE: frozenset({"owner"} if number % 2 else {"owner", "ana"})}), HELD)
        if number % 20 == 0:
            writer.settle(HELD)
    until(lambda: seen)
    over.set()
    for reader in readers:
        reader.join()
    writer.close()
    assert seen and seen <= {0, 8}


def test_Q5_a_question_beside_rebuilds_has_one_consistent_answer(session: Session, project: Path, home: Path) -> None:
    expected = {hit.chunk.uri: hit.chunk.text for hit in session.search("user", min_score=0).hits}
    assert len(expected) > 1
    over, wrong = threading.Event(), []

    def ask() -> None:
        mine = open_session(project, home=home, environment={})
        while not over.is_set():
            found = {hit.chunk.uri: hit.chunk.text for hit in mine.search("user", min_score=0).hits}
            if found != expected:
                wrong.append(found)
        mine.close()

    reader = threading.Thread(target=ask)
    reader.start()
    for _ in range(3):
        session.rebuild()
    over.set()
    reader.join()
    assert not wrong


def test_Q5_a_file_deleted_after_it_was_found_has_the_text_that_was_indexed(
    session: Session, project: Path, home: Path
) -> None:
    assert session.project is not None
    other = open_session(project, home=home, environment={})
    with session.project.store.view(query_of(session, "x", None, None).scope) as view:
        found = words(view, {key("load_user"): 1.0}, 10, field="chunk")
        (project / "src/app/store.py").unlink()
        thread = threading.Thread(target=lambda: (other.index(), other.close()))
        thread.start()
        thread.join()
        assert any("def load_user" in chunk.text for chunk in view.get([hit.chunk for hit in found]))
    assert all(hit.chunk.uri != "src/app/store.py" for hit in session.search("load_user", min_score=0).hits)


@given(st.lists(st.lists(st.floats(width=32), min_size=4, max_size=4), min_size=1, max_size=8))
def test_F20_no_vector_of_any_engine_becomes_a_score_that_is_not_a_number(rows: list[list[float]]) -> None:
    matrix = np.array(rows, np.float32)
    values, scales = restore(quantize(matrix), len(rows))
    assert np.isfinite(scales).all() and np.isfinite(values.astype(np.float32) * scales[:, None]).all()
    bad = ~np.isfinite(matrix).all(axis=1) | ~matrix.any(axis=1)
    assert (scales[bad] == 0).all(), "it has no vector, and stays searchable by words"


def test_Q4_an_answer_is_valid_json_whatever_an_engine_says(project: Path, home: Path) -> None:
    class Mad:
        space, dimension = "static/mad/4/1", 4

        def documents(self, texts: list[str]) -> np.ndarray:
            return np.array([[np.nan, np.inf, -np.inf, 0.0]] * len(texts), np.float32)

        def query(self, text: str) -> np.ndarray:
            return np.array([np.nan, 1, 1, 1], np.float32)

    session = open_session(project, home=home, environment={})
    session = with_setup(session, static=Mad())
    session.index()
    found = session.search("load_user")
    assert found.hits[0].chunk.uri == "src/app/store.py"
    json.dumps([plain(HitAnswer.of(hit)) for hit in found.hits], allow_nan=False)
    session.close()
