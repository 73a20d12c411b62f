"""Jobs: asked for by anybody, run by who holds the lease, gone on with after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.questions import query_of
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.indexing import jobs as running
from contextd.indexing.jobs import Cancelled
from tests.conftest import Run, with_setup
from tests.indexing.test_index import state_of
from tests.waiting import until


def contents(session: Session) -> dict[str, int]:
    assert session.project is not None
    return {uri: row.content for uri, row in session.project.store.documents(session.project.source.id).items()}


def test_a_rebuild_reads_everything_again_and_ends_where_it_began(session: Session) -> None:
    before, stored = state_of(session), contents(session)
    report = session.rebuild()
    assert report.written == 4 and not set(contents(session).values()) & set(stored.values()), (
        "nothing stored is taken as it is"
    )
    assert [row[:5] for row in state_of(session)] == [row[:5] for row in before]
    assert session.index().unchanged == 4, "the next run has nothing to do"


def test_a_rebuild_of_some_paths_leaves_the_others_alone(session: Session) -> None:
    before = contents(session)
    assert session.rebuild(["src"]).written == 2
    after = contents(session)
    assert {uri for uri in after if after[uri] != before[uri]} == {"src/app/routes.py", "src/app/store.py"}
    with pytest.raises(InvalidInput, match="outside"):
        session.rebuild(["../elsewhere"])


def test_a_dry_run_counts_and_changes_nothing(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    before = contents(session)
    told = json.loads(contextd("rebuild", "--dry-run", "--json", "-p", str(project)).out)
    assert told["files"] == 4 and told["languages"]["python"]["files"] == 2 and told["bytes"] > 0
    assert contents(session) == before


def test_a_second_rebuild_is_refused_and_a_waiting_one_can_be_cancelled(session: Session) -> None:
    assert session.project is not None
    jobs = session.project.store.jobs
    first = jobs.add("rebuild", "ana", (), {"epoch": 5})
    with pytest.raises(InvalidInput, match="in progress"):
        session.rebuild()
    assert jobs.cancel(first.id[:6]).state == "cancelled"
    assert session.rebuild().written == 4


def test_a_running_job_can_be_cancelled_and_what_was_done_stays(
    make_project: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_EVERY", 0.0)  # it looks at every file whether it is still wanted
    root = make_project({f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(400)})
    session = open_session(root, home=home, environment={"CONTEXTD_BOOTSTRAP__BATCH_SIZE": "1"})
    assert session.project is not None
    jobs = session.project.store.jobs

    def cancel(report: object) -> None:
        if report.files > 20:  # type: ignore[attr-defined]
            jobs.cancel(jobs.recent(1)[0].id)

    with pytest.raises(Cancelled):
        session.index_service.perform("index", (), {}, cancel)
    assert jobs.recent(1)[0].state == "cancelled" and 0 < len(contents(session)) < 400
    session.index()
    assert len(contents(session)) == 400


def test_F1_a_killed_rebuild_goes_on(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"pkg/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(300)})
    session = open_session(root, home=home, environment={})
    session.index()
    before, stored = state_of(session), contents(session)
    assert session.project is not None
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen([sys.executable, "-m", "contextd", "rebuild", "--force", "-p", str(root)], env=variables)
    until(lambda: process.poll() is not None or len(set(contents(session).values()) - set(stored.values())) >= 50)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    job = session.project.store.jobs.recent(1)[0]
    assert job.state == "in_progress" and job.kind == "rebuild"
    assert session.search("f250").hits, "it answers meanwhile"
    session.index()  # whoever comes next goes on with it first
    assert session.project.store.jobs.get(job.id).state == "completed"
    assert not set(contents(session).values()) & set(stored.values())
    assert [row[:5] for row in state_of(session)] == [row[:5] for row in before]
    assert any("goes on" in line for _, line in session.project.store.jobs.lines(job.id))


def test_a_job_waits_for_the_holder_of_the_lease(session: Session, project: Path, home: Path) -> None:
    over = threading.Event()
    other = open_session(project, home=home, environment={})
    thread = threading.Thread(target=lambda: other.watch(over.is_set, lambda _: None))
    thread.start()
    until(lambda: "contextd watch" in session.known().writer())
    try:
        assert session.rebuild().written == 4, "the watcher runs what others ask for"
    finally:
        over.set()
        thread.join()


def test_failures_are_listed_and_retried(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    assert session.project is not None
    session.project.store.notes.note_error("src/app/store.py", "parse_timeout")
    assert "parse_timeout" in contextd("errors", "-p", str(project)).out
    assert contextd("retry", "-p", str(project)).code == 0
    assert contextd("errors", "-p", str(project)).code == 0
    listed = json.loads(contextd("jobs", "--json", "-p", str(project)).out)["items"]
    assert [one["kind"] for one in listed] == ["refresh", "index"] and all(one["state"] == "completed" for one in listed)
    shown = contextd("jobs", "show", listed[0]["id"], "-p", str(project)).out
    assert "completed" in shown and "asked for by owner" in shown


def test_F19_another_model_is_embedded_anew_and_the_old_space_goes(session: Session) -> None:
    import numpy as np

    class Other:
        space, dimension = "static/other/4/1", 4

        def documents(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 4), 0.5, np.float32)

        def query(self, text: str) -> np.ndarray:
            return np.full(4, 0.5, np.float32)

    assert session.project is not None
    session = with_setup(session, static=Other())
    assert session.search("load_user").hits, "words answer until then; spaces never meet"
    session.index()
    with session.project.store.view(query_of(session, "x", None, None).scope) as view:
        assert set(view.spaces) == {"static/other/4/1"}


def test_an_answer_during_a_run_says_how_much_is_known(session: Session) -> None:
    assert session.project is not None
    jobs = session.project.store.jobs
    job = jobs.add("index", "another process", (), {})
    assert not session.search("load_user").trace.warnings, "it has not begun"
    jobs.lease(job.id)
    jobs.extend(job.id, 3, 10)
    assert any("3 of 10 files are indexed" in warning for warning in session.search("load_user").trace.warnings)
    jobs.finish(job.id, "completed", "", {})
    assert not session.search("load_user").trace.warnings


def test_who_may_not_read_a_project_is_not_told_of_its_runs(session: Session, project: Path, home: Path) -> None:
    assert session.project is not None
    jobs = session.project.store.jobs
    job = jobs.add("index", "another process", (), {})
    jobs.lease(job.id)
    jobs.extend(job.id, 3, 10)
    guest = open_session(project, home=home, environment={}, reader="guest")
    assert not any("3 of 10" in warning for warning in guest.search("load_user").trace.warnings)
