"""What runs leave in the store: words, vectors and snapshots stay together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contextd.app.assemble import open_session
from contextd.app.questions import query_of
from contextd.app.session import Session
from contextd.errors import StorageError
from contextd.sources.files import Files
from contextd.stores.sqlite import store as sqlite_store
from contextd.stores.sqlite.repair import quarantine
from tests.stores.asking import near
from tests.stores.shelf import HELD


def test_a_moved_file_lost_its_words_when_a_fold_came_between(
    session: Session, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "chunks_until_fold", lambda connection, workspace: 0)
    (project / "src/app/store.py").rename(project / "src/app/zz_users.py")
    for number in range(200):
        (project / f"src/app/a{number}.py").write_text(f"def heron_{number}():\n    return {number}\n" * 3)
    session.index()
    assert session.search("delete_user").hits[0].chunk.uri == "src/app/zz_users.py"


def test_vectors_of_an_older_model_were_kept_for_ever(session: Session) -> None:
    assert session.project is not None and session.setup.static is not None
    store = session.project.store
    session.index()
    contents = {row.content: np.ones((1, 4), np.float32) for row in store.documents(session.project.source.id).values()}
    store.add_vectors("static/old/4/1", contents)
    store.fold(HELD)
    scope = query_of(session, "x", None, None).scope
    with store.view(scope) as view:
        assert "static/old/4/1" in view.spaces
    session.index()
    with store.view(scope) as view:
        assert set(view.spaces) == {session.setup.static.space}
    assert not store.rows("select 1 from vector where workspace_id = ? and space = 'static/old/4/1'")


def test_vectors_of_base_and_newer_contents_met_in_the_wrong_rows(home: Path, make_project: Callable[..., Path]) -> None:
    """Contents come by id, rows by age: a part that mixes both has to be put in order."""

    root = make_project({f"old{n}.py": f"old_{n} = {n}\n" for n in range(12)})
    session = open_session(root, home=home, environment={"CONTEXTD_EMBEDDING__MODEL": "none"})
    session.index()
    assert session.project is not None
    store, source, scope = session.project.store, session.project.source.id, query_of(session, "x", None, None).scope
    for number in range(12):
        (root / f"new{number}.py").write_text(f"new_{number} = {number}\n")
    with session.project.parser(keep=False) as parser:  # as the watcher does it: nothing is folded
        upkeep = session.index_service._upkeep(HELD, parser)
        upkeep.index(replace(upkeep.options, paths=tuple(f"new{n}.py" for n in range(12)), light=True))
    rows = store.documents(source)
    vectors = {row.content: np.eye(24, dtype=np.float32)[[place]] for place, row in enumerate(rows.values())}
    store.add_vectors("static/test/24/1", vectors)
    with store.view(scope) as view:
        for row in rows.values():
            (best,) = near(view, vectors[row.content][0], 1, space="static/test/24/1")
            assert best.chunk.document == row.id and best.score > 0.9
            assert np.allclose(view.vectors([best.chunk], "static/test/24/1"), vectors[row.content], atol=0.01)


def test_a_process_went_on_with_an_index_that_was_put_aside(session: Session, project: Path, home: Path) -> None:
    assert session.project is not None
    quarantine(session.project.folder)
    other = open_session(project, home=home, environment={})
    (project / "late.py").write_text("def late_heron():\n    return 1\n")
    other.index()
    assert session.search("late_heron").hits, "what is at its place now counts"
    session.index()
    assert other.search("load_user").hits


def test_an_older_transaction_took_the_snapshot_back_in_time(session: Session, project: Path) -> None:
    assert session.project is not None
    store, scope = session.project.store, query_of(session, "x", None, None).scope
    with store.view(scope) as old:

        def write() -> None:
            (project / "new.py").write_text("def fresh_heron():\n    return 1\n")
            session.index()
            store.close()

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        before = old.size
        with store.view(scope) as same:
            assert same.size == before, "inside an older transaction nothing is newer"
    with store.view(scope) as new:
        assert new.size > before


def test_many_small_changes_made_every_question_slower(home: Path) -> None:
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": "none"})
    for number in range(90):
        session.remember(f"fact {number} about herons")
        session.search("herons", min_score=0)
    store = session.home.record.store(session.home.personal)
    _, snapshot = store.current._kept  # type: ignore[attr-defined]
    assert len(snapshot.segments) <= 65


def test_a_run_of_moved_files_that_is_stopped_has_written_what_it_read(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their contents are stored, so that nothing is parsed: they are written batch by batch all the same."""
    (project / "many").mkdir()
    for number in range(40):
        (project / f"many/f{number}.py").write_text(f"value_{number} = {number}\n")
    session = open_session(project, home=home, environment={"CONTEXTD_BOOTSTRAP__BATCH_SIZE": "8"})
    session.index()
    (project / "many").rename(project / "moved")
    read, seen = Files.read, list[str]()

    def stopping(self: Files, uri: str) -> object:
        seen.extend([uri] if uri.startswith("moved/") else [])
        if len(seen) > 30:
            raise StorageError("stopped")
        return read(self, uri)

    monkeypatch.setattr(Files, "read", stopping)
    with pytest.raises(StorageError, match="stopped"):
        session.index()
    assert session.project is not None
    stored = [uri for uri in session.project.store.documents(session.project.source.id) if uri.startswith("moved/")]
    assert len(stored) >= 24
