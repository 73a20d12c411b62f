"""First run, later run, interrupted run: one path, and the disk's truth at the end of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import Unavailable
from contextd.sandbox import pool
from contextd.values.document import Outcome
from contextd.values.query import Reader, Scope
from tests.conftest import with_setup


def state_of(session: Session) -> set[tuple[object, ...]]:
    """Everything the index holds, by value: path, span, kind, label, text, vector."""
    assert session.project is not None
    store = session.project.store
    found: set[tuple[object, ...]] = set()
    with store.view(Scope((session.project.workspace,), Reader("owner"))) as view:
        for row in store.documents(session.project.source.id).values():
            for chunk in view.chunks_of([row.id])[row.id]:
                vector = view.vectors([chunk.id], session.setup.static.space).tobytes() if session.setup.static else b""
                found.add((chunk.uri, chunk.start_line, chunk.end_line, chunk.kind, chunk.label, chunk.text, vector))
    return found


def test_a_second_run_reads_nothing(session: Session) -> None:
    report = session.index()
    assert (report.files, report.written, report.unchanged) == (0, 0, 4)


def test_what_changed_is_taken_and_what_is_gone_goes(session: Session, project: Path) -> None:
    (project / "src/app/store.py").write_text("def rename_user(old, new):\n    pass\n")
    (project / "docs/guide.md").unlink()
    (project / "new.md").write_text("# Fresh\n\nA fresh page about pelicans.\n")
    report = session.index()
    assert (report.written, report.removed, report.unchanged) == (2, 1, 2)
    assert session.search("pelicans", min_score=0).hits[0].chunk.uri == "new.md"
    assert not any(hit.chunk.uri == "docs/guide.md" for hit in session.search("deployment strategy fridays", min_score=0).hits)
    assert session.search("rename_user").hits[0].chunk.label == "rename_user"


def test_F15_a_change_that_keeps_size_and_times_is_found_by_verify(session: Session, project: Path) -> None:
    path = project / "src/app/store.py"
    before = path.stat()
    path.write_text(path.read_text().replace("delete_user", "banish_user"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    report = session.index(verify=True)
    assert report.written == 1
    assert session.search("banish_user").hits


def test_a_touched_file_with_the_same_content_is_not_parsed_again(session: Session, project: Path) -> None:
    os.utime(project / "src/app/store.py")
    report = session.index()
    assert (report.written, report.chunks) == (0, 0)
    assert session.index().files == 0, "its new stamp was noted"


def test_a_renamed_file_keeps_its_content(session: Session, project: Path) -> None:
    (project / "src/app/store.py").rename(project / "src/app/users.py")
    report = session.index()
    assert (report.written, report.chunks, report.removed) == (1, 0, 1)
    assert session.search("delete_user").hits[0].chunk.uri == "src/app/users.py"


def test_the_same_input_gives_the_same_index(make_project: Callable[..., Path], home: Path) -> None:
    states = []
    for name in ("one", "two"):
        session = open_session(make_project(name=name), home=home, environment={})
        session.index()
        states.append(state_of(session))
    assert states[0] == states[1] and len(states[0]) == 4


def test_other_limits_cut_everything_again(project: Path, home: Path) -> None:
    session = open_session(project, home=home, environment={})
    session.index()
    other = open_session(project, home=home, environment={"CONTEXTD_CHUNKING__CODE_MAX_TOKENS": "40"})
    assert other.index().written >= 2
    assert all(row[6] is not None for row in state_of(other))
    assert session.index().written >= 2, "and back again"


@pytest.mark.parametrize(("room", "vectors"), [(3, True), (1, True), (0, False)])
def test_I14_with_little_memory_texts_are_embedded_in_smaller_parts(
    project: Path, home: Path, room: int, vectors: bool
) -> None:
    class Small:
        space, dimension = "static/small/4/1", 4

        def documents(self, texts: Sequence[str]) -> np.ndarray:
            if len(texts) > room:
                raise MemoryError
            return np.ones((len(texts), 4), np.float32) / 2

        def query(self, text: str) -> np.ndarray:
            return np.ones(4, np.float32) / 2

    session = open_session(project, home=home, environment={})
    session = with_setup(session, static=Small())
    report = session.index()
    assert report.written == 4 and session.search("load_user").hits
    assert bool(session.known().store.notes.summary()["embedded_contents"]) == vectors
    assert any("not enough memory" in warning for warning in report.warnings) != vectors


def test_I13_an_engine_that_fails_costs_vectors_not_words(project: Path, home: Path) -> None:
    """FAULTS I-13: it dies, answers too few, answers the wrong length; words are committed, vectors follow later."""

    class Broken:
        space, dimension = "static/broken/4/1", 4

        def __init__(self, how: str) -> None:
            self.how = how

        def documents(self, texts: Sequence[str]) -> np.ndarray:
            if self.how == "dies":
                raise Unavailable("the engine died")
            rows = {"few": len(texts) - 1, "long": len(texts), "well": len(texts)}[self.how]
            return np.ones((rows, 5 if self.how == "long" else 4), np.float32)

        def query(self, text: str) -> np.ndarray:
            return np.ones(4, np.float32) / 2

    for how in ("dies", "few", "long"):
        session = open_session(project, home=home / how, environment={})
        session = with_setup(session, static=Broken(how))
        report = session.index()
        assert report.written == 4 and any("by keywords" in w or "died" in w for w in report.warnings)
        assert session.search("load_user").hits, "words work"
        session = with_setup(session, static=Broken("well"))
        session.index()
        assert session.project is not None
        with session.project.store.view(Scope((session.project.workspace,), Reader("owner"))) as view:
            assert view.spaces["static/broken/4/1"] == view.size


def test_a_failed_file_is_recorded_and_the_run_goes_on(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pool._settled

    def failing(worker: pool.Worker, job: object) -> Outcome:
        if job.uri.endswith("store.py"):  # type: ignore[attr-defined]
            return Outcome(job, None, "no parser for this")  # type: ignore[arg-type]
        return real(worker, job)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "_settled", failing)
    session = open_session(project, home=home, environment={})
    report = session.index()
    assert report.written == 3 and report.failed == {"src/app/store.py": "no parser for this"}
    assert session.project is not None
    assert session.project.store.notes.failures() == [("src/app/store.py", "no parser for this", 0)]
    again = session.index()
    assert again.files == 0 and again.skipped["failed before"] == 1, "a file that failed is not read in every run"
    assert session.project.store.notes.failures() == [("src/app/store.py", "no parser for this", 0)]
    monkeypatch.setattr(pool, "_settled", real)
    with (project / "src/app/store.py").open("a") as file:
        file.write("# changed\n")
    assert session.index().written == 1
    assert session.project.store.notes.failures() == []


def test_a_failed_file_is_read_again_when_asked_for(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pool._settled
    monkeypatch.setattr(pool, "_settled", lambda worker, job: Outcome(job, None, "no parser for this"))
    session = open_session(project, home=home, environment={})
    assert len(session.index().failed) == 4
    monkeypatch.setattr(pool, "_settled", real)
    assert session.index(verify=True).written == 4
    assert session.project is not None and session.project.store.notes.failures() == []


def test_two_writers_do_not_fight(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session.project is not None
    waited_for: list[str] = []
    with session.project.lease("somebody else"), pytest.raises(KeyboardInterrupt):
        session.index(progress=lambda report: waited_for.append(report.waiting_for) or _stopped())  # type: ignore[func-returns-value]
    assert waited_for[0].startswith("somebody else")
    monkeypatch.setattr("contextd.app.session._HAND_OVER", 0.0)
    with session.project.lease("somebody else"), pytest.raises(Unavailable, match="somebody else"):
        session.share(["owner", "ana"])
    assert session.index().unchanged == 4


def _stopped() -> None:
    raise KeyboardInterrupt


def test_a_single_new_document_is_findable_in_milliseconds(session: Session, project: Path) -> None:
    """Not a timed test: it must be found by the very next query, without a fold."""
    assert session.project is not None
    (project / "late.md").write_text("# Late\n\nAbout walruses.\n")
    session.index()
    assert session.search("walruses", min_score=0).hits[0].chunk.uri == "late.md"


def test_progress_is_told(project: Path, home: Path) -> None:
    seen = []
    session = open_session(project, home=home, environment={})
    session.index(progress=lambda report: seen.append((report.files, report.total)))
    assert seen[-1] == (4, 4)


def test_a_full_index_keeps_what_it_knows_up_to_date_and_takes_nothing_new(
    make_project: Callable[..., Path], home: Path
) -> None:
    root = make_project({f"m{n}.py": f"def f{n}():\n    return {list(range(400))}  # {n}\n" for n in range(20)})
    small = {"CONTEXTD_STORAGE__MAX_MB": "1", "CONTEXTD_BOOTSTRAP__BATCH_SIZE": "4"}
    session = open_session(root, home=home, environment=small)
    assert session.index().written == 20, "it has room"
    for n in range(20, 300):
        (root / f"m{n}.py").write_text(f"def f{n}():\n    return {[n * k for k in range(400)]}\n")
    report = session.index()
    left = report.skipped["over the quota"]
    assert 0 < left < 280 and any(f"{left} documents are not indexed" in warning for warning in report.warnings)
    (root / "m0.py").write_text("def brand_new_herons():\n    return 1\n")
    session.index()
    assert session.search("brand_new_herons").hits[0].chunk.uri == "m0.py", "what is known is kept up to date"
    wide = open_session(root, home=home, environment={})
    wide.index()
    assert len(wide.known().store.documents(wide.known().source.id)) == 300, "a larger quota takes the rest"


def test_the_quota_is_not_overrun_by_a_batch(make_project: Callable[..., Path], home: Path) -> None:
    body = "\n".join(f"def part_{{n}}_{k}():\n    return 'word{{n}}{k} other{{n}}{k} third{{n}}{k}'\n" for k in range(30))
    root = make_project({f"m{n}.py": body.replace("{n}", str(n)) for n in range(400)})
    session = open_session(root, home=home, environment={"CONTEXTD_STORAGE__MAX_MB": "2"})
    report = session.index()
    size = session.known().store.notes.size()
    assert report.skipped["over the quota"] + report.written == 400
    assert 1_200_000 < size <= 2_100_000, size


def test_a_partial_run_did_not_finish_a_new_recipe(project: Path, home: Path) -> None:
    open_session(project, home=home, environment={}).index()
    pattern = {"CONTEXTD_SECURITY__SECRET_PATTERNS": '["blue-green"]'}
    open_session(project, home=home, environment={**pattern, "CONTEXTD_BOOTSTRAP__MAX_INITIAL_FILES": "1"}).index()
    session = open_session(project, home=home, environment=pattern)
    session.index()
    assert "blue-green" not in session.search("deployment strategy", min_score=0).hits[0].chunk.text
    memory = session.remember("we use blue-green here").memory
    assert memory.text == "we use [REDACTED] here", "memories follow the user's patterns too"


def test_a_folder_that_cannot_be_listed_emptied_the_index(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(project, home=home, environment={})
    session.index()
    honest = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("/src"):
            raise PermissionError(13, "Permission denied")
        return honest(path)

    monkeypatch.setattr(os, "scandir", refusing)
    report = session.index()
    assert report.removed == 0 and any("src cannot be listed" in warning for warning in report.warnings)
    assert session.search("load_user").hits


def test_an_unmounted_folder_emptied_the_index(project: Path, home: Path, tmp_path: Path) -> None:
    session = open_session(project, home=home, environment={})
    session.index()
    project.rename(tmp_path / "elsewhere")
    project.mkdir()
    report = session.index()
    assert report.removed == 0 and "is its disk mounted" in report.warnings[0]
    assert session.index(verify=True).removed == 4


def test_a_failing_file_kept_a_new_pattern_from_the_others(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pool._settled

    def failing(worker: pool.Worker, raw: object) -> object:
        return Outcome(raw, None, "broken") if raw.uri == "src/app/routes.py" else honest(worker, raw)  # type: ignore[attr-defined, arg-type]

    monkeypatch.setattr(pool, "_settled", failing)
    open_session(project, home=home, environment={}).index()
    session = open_session(project, home=home, environment={"CONTEXTD_SECURITY__SECRET_PATTERNS": '["blue-green"]'})
    session.index()
    assert "blue-green" not in session.search("deployment strategy", min_score=0).hits[0].chunk.text
