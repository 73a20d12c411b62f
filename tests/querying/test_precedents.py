"""A report of what is wrong finds the files that were changed for something like it before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.chunking.commit_text import ChangedFile, RawCommit, commit_text, files_of, packed_commit
from contextd.ports.store import Batch
from tests.sources.test_commits import commit
from tests.stores.shelf import HELD

REPORT = "Amounts are doubled again: when a page stays open over night and the visitor comes back the next morning the total is wrong"


@pytest.fixture
def mended(tmp_path: Path, home: Path) -> Session:
    """A project in which the same kind of thing was mended before, in a file that says nothing of it."""
    root = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    plain = {f"part{number}_py": f"def step_{number}(x):\n    return x + {number}\n" for number in range(12)}
    commit(root, "Begin", "2024-01-01", **plain)
    commit(
        root,
        "Amounts are no longer doubled when a page stays open over night",
        "2024-02-01",
        part7_py="def step_7(x):\n    return x\n",
    )
    session = open_session(root, home=home, environment={})
    session.index()
    return session


def test_a_report_is_answered_by_what_was_mended_before(mended: Session) -> None:
    found = mended.search(REPORT)  # at the usual threshold
    hits = found.hits
    assert hits[0].chunk.uri == "part7.py" and hits[0].why["history"] > 0.2 and found.plan.route == "report"
    assert all(hit.chunk.language != "commit" for hit in hits), "the past points; it is not the answer"


def test_a_question_is_no_report(mended: Session) -> None:
    hits = mended.search("where is the amount doubled", min_score=0).hits
    assert all("history" not in hit.why for hit in hits)


def test_without_history_a_report_is_a_long_text(mended: Session, home: Path) -> None:
    assert mended.project is not None
    other = open_session(mended.project.root, home=home, environment={"CONTEXTD_GIT__MAX_COMMITS": "0"})
    other.index()
    assert all("history" not in hit.why for hit in other.search(REPORT, min_score=0).hits)


def test_a_long_text_about_something_else_finds_nothing(mended: Session) -> None:
    text = (
        "My grandmother bakes bread with rye and honey every Sunday morning before the children wake up and come to the kitchen"
    )
    assert mended.search(text).hits == []


def test_all_files_of_a_commit_are_candidates_not_only_the_largest(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "two"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    large = "\n\n".join(f"def step_{n}(x):\n    y = x + {n}\n    return y * {n}" for n in range(80)) + "\n"
    commit(
        root, "Amounts are no longer doubled when a page stays open over night", "2024-02-01", big_py=large, small_py="z = 1\n"
    )
    session = open_session(root, home=home, environment={})
    session.index()
    assert {hit.chunk.uri for hit in session.search(REPORT, k=4, min_score=0).hits} == {"big.py", "small.py"}


def test_a_git_that_does_not_answer_takes_nothing_away(mended: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextd.sources import commits

    before = len(mended.known().store.documents(mended.known().commits.id))
    monkeypatch.setattr(commits, "git", lambda *_: None)
    assert any("the history cannot be listed" in warning for warning in mended.index().warnings)
    assert len(mended.known().store.documents(mended.known().commits.id)) == before == 2


def test_a_reader_learns_nothing_from_a_past_that_is_not_theirs(mended: Session, home: Path) -> None:
    assert mended.project is not None
    guest = open_session(mended.project.root, home=home, environment={}, reader="guest")
    assert guest.search(REPORT, min_score=0).hits == []
    mended.share(["guest"])
    assert guest.search(REPORT).hits[0].chunk.uri == "part7.py", "theirs now, and its past with it"
    mended.known().store.apply(Batch(shared={mended.known().commits.id: frozenset({"ana"})}), HELD)
    assert all("history" not in hit.why for hit in guest.search(REPORT, min_score=0).hits), "files alone"


names = st.text("abc/._-é ", min_size=1, max_size=12).map(str.strip).filter(lambda name: name and ", " not in name)


@given(st.lists(names, max_size=60, unique=True), st.text(max_size=40))
def test_the_files_of_a_commit_are_read_as_they_were_written(files: list[str], message: str) -> None:
    changed = tuple(ChangedFile(name, "", " (+1 -2)") for name in files)
    text, _ = commit_text(packed_commit(RawCommit("0" * 40, "Ana", "2024-01-01", message, changed)), ())
    assert files_of(text) == files[:40]


def test_a_repository_without_commits_is_nothing_to_warn_of(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "young"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.py").write_text("x = 1\n")
    assert open_session(root, home=home, environment={}).index().warnings == []
