"""Several projects: named, apart unless asked together, and worktrees that share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import InvalidInput
from tests.conftest import Run, with_setup


@pytest.fixture
def two(make_project: Callable[..., Path], home: Path) -> tuple[Path, Path]:
    one = make_project({"src/heron.py": "def heron_nest():\n    return 1\n"}, "one")
    other = make_project({"src/heron.py": "def heron_flight():\n    return 2\n"}, "other")
    for root in (one, other):
        open_session(root, home=home, environment={}).index()
    return one, other


def test_projects_are_apart_unless_asked_together(two: tuple[Path, Path], home: Path) -> None:
    alone = open_session(two[0], home=home, environment={})
    assert not any("flight" in hit.chunk.text for hit in alone.search("heron_flight", min_score=0).hits)
    both = open_session(two[0], home=home, environment={}, also=[two[1]])
    hits = both.search("heron flight nest", min_score=0).hits
    assert {hit.chunk.uri for hit in hits} == {"src/heron.py", "other:src/heron.py"}
    assert "other:src/heron.py" in both.context("heron_flight", budget=400).text
    assert not both.search("heron flight").trace.warnings


def test_a_project_has_a_name(two: tuple[Path, Path], home: Path, contextd: Callable[..., Run], tmp_path: Path) -> None:
    (home / "config.toml").write_text(f'[context.projects]\nfirst = "{two[0]}"\nsecond = "{two[1]}"\n')
    run = contextd("search", "heron_nest", "-p", "first", cwd=tmp_path)
    assert run.code == 0 and run.out.startswith("src/heron.py")
    told = json.loads(contextd("search", "heron_flight", "-p", "first", "--also", "second", "--json", cwd=tmp_path).out)
    assert told["hits"][0]["path"] == "other:src/heron.py"
    assert contextd("search", "x", "-p", "third", cwd=tmp_path).code == 2
    (two[0] / "context.toml").write_text('[context.projects]\nevil = "/etc"\n')
    session = open_session(two[0], home=home, environment={})
    assert "evil" not in session.settings.projects and any("cannot name other" in one for one in session.warnings)
    (home / "config.toml").write_text("[context.projects]\nfirst = 3\n")
    with pytest.raises(InvalidInput, match="projects"):
        open_session(two[0], home=home, environment={})


def test_rights_hold_in_every_project(two: tuple[Path, Path], home: Path) -> None:
    open_session(two[0], home=home, environment={}).share(["owner", "ana"])
    ana = open_session(two[0], home=home, reader="ana", environment={}, also=[two[1]])
    assert {hit.chunk.uri for hit in ana.search("heron", min_score=0).hits} == {"src/heron.py"}


def test_two_worktrees_share_chunks_and_vectors(home: Path, make_project: Callable[..., Path], tmp_path: Path) -> None:
    root = make_project({f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(60)})
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], ["worktree", "add", "-q", str(tmp_path / "tree")]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "tree/m0.py").write_text("def changed_here():\n    return 0\n")
    first = open_session(root, home=home, environment={"CONTEXTD_GIT__MAX_COMMITS": "0"})
    first.index()
    second = open_session(tmp_path / "tree", home=home, environment={"CONTEXTD_GIT__MAX_COMMITS": "0"})
    assert first.project is not None and second.project is not None and second.setup.static is not None
    calls: list[int] = []
    honest = second.setup.static

    class Counting:
        space, dimension = honest.space, honest.dimension

        def documents(self, texts: list[str]) -> object:
            calls.append(len(texts))
            return honest.documents(texts)

        def query(self, text: str) -> object:
            return honest.query(text)

    second = with_setup(second, static=Counting())
    report = second.index()
    assert report.written == 60 and report.reused == 59 and sum(calls) <= 2
    contents = second.project.store.rows("select count(*) from content where workspace_id = ?")[0][0]  # type: ignore[attr-defined]
    assert contents == 61, "stored once"
    assert second.search("changed_here").hits and not first.search("changed_here").hits


def test_worktrees_share_again_after_one_of_them_was_rebuilt(
    home: Path, make_project: Callable[..., Path], tmp_path: Path
) -> None:
    root = make_project({f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(12)})
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], ["worktree", "add", "-q", str(tmp_path / "tree")]):
        subprocess.run([*git, *command], check=True)
    first, second = (
        open_session(path, home=home, environment={"CONTEXTD_GIT__MAX_COMMITS": "0"}) for path in (root, tmp_path / "tree")
    )

    def contents() -> tuple[set[int], set[int]]:
        return tuple(  # type: ignore[return-value]
            {row.content for row in session.known().store.documents(session.known().source.id).values()}
            for session in (first, second)
        )

    first.index(), second.index()
    assert contents()[0] == contents()[1]
    first.rebuild()
    assert contents()[0] != contents()[1], "the other one is as it was"
    report = second.index()
    assert contents()[0] == contents()[1] and report.reused == 12 and report.parsed == 0
    assert second.index().unchanged == 12, "once"


def test_worktrees_mixed_their_answers(make_project: Callable[..., Path], home: Path, tmp_path: Path) -> None:
    root = make_project({"a.py": "def herons():\n    return 1\n", "same.py": "def same():\n    return 2\n"})
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    other = tmp_path / "other"
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["worktree", "add", "-q", str(other), "-b", "o"]):
        subprocess.run([*git, *command], cwd=root, check=True)
    (other / "a.py").write_text("def herons():\n    return 'other'\n")
    first = open_session(root, home=home, environment={})
    first.index()
    second = open_session(other, home=home, environment={})
    assert second.index().chunks == 1, "what both have is stored once"
    texts = [
        [hit.chunk.text for hit in session.search("herons").hits if "herons" in hit.chunk.text] for session in (first, second)
    ]
    assert texts == [["def herons():\n    return 1\n"], ["def herons():\n    return 'other'\n"]]


def test_a_hook_of_another_repository_decided_where_a_project_is(
    project: Path, home: Path, make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_project({"x.py": "x = 1\n"}, "other")
    for root in (project, other):
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    one = open_session(project, home=home, environment={})
    two = open_session(other, home=home, environment={})
    assert one.project is not None and two.project is not None and one.project.workspace != two.project.workspace


def test_a_memory_hid_that_a_project_is_not_indexed(project: Path, home: Path) -> None:
    session = open_session(project, home=home, environment={})
    session.remember("I deploy on Fridays")
    assert any("not indexed yet" in one for one in session.search("load_user").trace.warnings)
