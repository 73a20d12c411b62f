"""Jobs: asked for by anybody, run by who holds the lease, gone on with after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_engine
from contextd.app.engine import Engine
from contextd.errors import InvalidInput
from contextd.indexing.jobs import Cancelled
from tests.conftest import Run
from tests.indexing.test_index import state_of


def contents(engine: Engine) -> dict[str, int]:
    assert engine.project is not None
    return {uri: row.content for uri, row in engine.project.store.documents(engine.project.source.id).items()}


def test_a_rebuild_reads_everything_again_and_ends_where_it_began(engine: Engine) -> None:
    before, stored = state_of(engine), contents(engine)
    report = engine.rebuild()
    assert report.written == 4 and not set(contents(engine).values()) & set(stored.values()), "nothing stored is taken as it is"
    assert [row[:5] for row in state_of(engine)] == [row[:5] for row in before]
    assert engine.index().unchanged == 4, "the next run has nothing to do"


def test_a_rebuild_of_some_paths_leaves_the_others_alone(engine: Engine) -> None:
    before = contents(engine)
    assert engine.rebuild(["src"]).written == 2
    after = contents(engine)
    assert {uri for uri in after if after[uri] != before[uri]} == {"src/app/routes.py", "src/app/store.py"}
    with pytest.raises(InvalidInput, match="outside"):
        engine.rebuild(["../elsewhere"])


def test_a_dry_run_counts_and_changes_nothing(engine: Engine, project: Path, contextd: Callable[..., Run]) -> None:
    before = contents(engine)
    told = json.loads(contextd("rebuild", "--dry-run", "--json", "-p", str(project)).out)
    assert told["files"] == 4 and told["languages"]["python"]["files"] == 2 and told["bytes"] > 0
    assert contents(engine) == before


def test_a_second_rebuild_is_refused_and_a_waiting_one_can_be_cancelled(engine: Engine) -> None:
    assert engine.project is not None
    jobs = engine.project.store.jobs
    first = jobs.add("rebuild", "ana", (), {"epoch": 5})
    with pytest.raises(InvalidInput, match="under way"):
        engine.rebuild()
    assert jobs.cancel(first.id[:6]).state == "cancelled"
    assert engine.rebuild().written == 4


def test_a_running_job_can_be_cancelled_and_what_was_done_stays(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(400)})
    engine = open_engine(root, home=home, environment={"CONTEXTD_BOOTSTRAP__BATCH_SIZE": "1"})
    assert engine.project is not None
    jobs = engine.project.store.jobs

    def cancel(report: object) -> None:
        if report.files > 20:  # type: ignore[attr-defined]
            jobs.cancel(jobs.recent(1)[0].id)
            time.sleep(0.3)

    with pytest.raises(Cancelled):
        engine.perform("index", (), {}, cancel)
    assert jobs.recent(1)[0].state == "cancelled" and 0 < len(contents(engine)) < 400
    engine.index()
    assert len(contents(engine)) == 400


def test_F1_a_killed_rebuild_goes_on(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"pkg/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(300)})
    engine = open_engine(root, home=home, environment={})
    engine.index()
    before, stored = state_of(engine), contents(engine)
    assert engine.project is not None
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    process = subprocess.Popen([sys.executable, "-m", "contextd", "rebuild", "--force", "-p", str(root)], env=variables)
    while len(set(contents(engine).values()) - set(stored.values())) < 50:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    job = engine.project.store.jobs.recent(1)[0]
    assert job.state == "in_progress" and job.kind == "rebuild"
    assert engine.search("f250").hits, "it answers meanwhile"
    engine.index()  # whoever comes next goes on with it first
    assert engine.project.store.jobs.get(job.id).state == "completed"
    assert not set(contents(engine).values()) & set(stored.values())
    assert [row[:5] for row in state_of(engine)] == [row[:5] for row in before]
    assert any("goes on" in line for _, line in engine.project.store.jobs.lines(job.id))


def test_a_job_waits_for_the_holder_of_the_lease(engine: Engine, project: Path, home: Path) -> None:
    over = threading.Event()
    other = open_engine(project, home=home, environment={})
    thread = threading.Thread(target=lambda: other.watch(over.is_set, lambda _: None))
    thread.start()
    time.sleep(1)
    try:
        assert engine.rebuild().written == 4, "the watcher runs what others ask for"
    finally:
        over.set()
        thread.join()


def test_failures_are_listed_and_retried(engine: Engine, project: Path, contextd: Callable[..., Run]) -> None:
    assert engine.project is not None
    engine.project.store.notes.note_error("src/app/store.py", "parse_timeout")
    assert "parse_timeout" in contextd("errors", "-p", str(project)).out
    assert contextd("retry", "-p", str(project)).code == 0
    assert contextd("errors", "-p", str(project)).code == 0
    listed = json.loads(contextd("jobs", "--json", "-p", str(project)).out)
    assert [one["kind"] for one in listed] == ["refresh", "index"] and all(one["state"] == "completed" for one in listed)
    shown = contextd("jobs", "show", listed[0]["id"], "-p", str(project)).out
    assert "completed" in shown and "asked for by owner" in shown


def test_F19_another_model_is_embedded_anew_and_the_old_space_goes(engine: Engine) -> None:
    import numpy as np

    class Other:
        space, dimension = "static/other/4/1", 4

        def documents(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 4), 0.5, np.float32)

        def query(self, text: str) -> np.ndarray:
            return np.full(4, 0.5, np.float32)

    assert engine.project is not None
    engine.static = Other()  # type: ignore[assignment]
    assert engine.search("load_user").hits, "words answer until then; spaces never meet"
    engine.index()
    with engine.project.store.view(engine._query("x", None, None).scope) as view:
        assert set(view.spaces()) == {"static/other/4/1"}


def test_an_answer_during_a_run_says_how_much_is_known(engine: Engine) -> None:
    assert engine.project is not None
    jobs = engine.project.store.jobs
    job = jobs.add("index", "another process", (), {})
    assert not engine.search("load_user").trace.warnings, "it has not begun"
    jobs.begin(job.id)
    jobs.progress(job.id, 3, 10)
    assert any("3 of 10 files are read so far" in warning for warning in engine.search("load_user").trace.warnings)
    jobs.end(job.id, "completed", "", {})
    assert not engine.search("load_user").trace.warnings


def test_who_may_not_read_a_project_is_not_told_of_its_runs(engine: Engine, project: Path, home: Path) -> None:
    assert engine.project is not None
    jobs = engine.project.store.jobs
    job = jobs.add("index", "another process", (), {})
    jobs.begin(job.id)
    jobs.progress(job.id, 3, 10)
    guest = open_engine(project, home=home, environment={}, reader="guest")
    assert not any("3 of 10" in warning for warning in guest.search("load_user").trace.warnings)
