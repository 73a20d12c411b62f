"""Commits as documents, and what git knows of a file, on a real repository."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.querying.understand import understand
from contextd.values.query import THE_OWNER, Query, Scope
from tests.conftest import Run


def commit(root: Path, message: str, day: str, author: str = "Ana", **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    stamp = f"{day}T12:00:00 +0000"
    who = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": "a@b.c"}
    environment = {**os.environ, **who, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(root), "commit", "-qm", message], check=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    commit(
        root,
        "Begin with a login form",
        "2024-01-10",
        auth__login_py="def login(user):\n    return user\n",
        auth__session_py="S = 1\n",
    )
    commit(root, "Let sessions expire after an hour\n\nLong sessions were kept by bots.", "2024-02-10", "Bob",
           auth__login_py="def login(user):\n    expire(user, 3600)\n    return user\n", auth__session_py="S = 2\n")  # fmt: skip
    commit(root, "Print invoices in two columns", "2024-03-10", bill__invoice_py="def invoice():\n    return 2\n")
    commit(root, "Lock accounts after five failed logins", "2024-06-10",
           auth__login_py="def login(user):\n    expire(user, 3600)\n    lock_after(user, 5)\n    return user\n", auth__session_py="S = 3\n")  # fmt: skip
    return root


def commits(session: Session) -> list[str]:
    assert session.project is not None
    return list(session.project.store.documents(session.project.commits.id))


def test_what_changed_recently_is_answered_by_commits_the_latest_first(repository: Path, home: Path) -> None:
    session = open_session(repository, home=home, environment={})
    assert session.index().others == 4 and session.index().others == 0
    hits = [
        hit for hit in session.search("what changed recently in auth login", min_score=0).hits if hit.chunk.kind == "commit"
    ]
    assert hits[0].chunk.label == "Lock accounts after five failed logins"
    assert "auth/login.py (+1 -0)" in hits[0].chunk.text and "+    lock_after(user, 5)" in hits[0].chunk.text
    hits = list(session.search("which commit made sessions expire", min_score=0).hits)
    assert hits[0].chunk.label == "Let sessions expire after an hour" and "kept by bots" in hits[0].chunk.text


def test_other_questions_are_answered_by_files_as_if_there_were_no_history(repository: Path, home: Path) -> None:
    with_history = open_session(repository, home=home / "a", environment={})
    without = open_session(repository, home=home / "b", environment={"CONTEXTD_GIT__MAX_COMMITS": "0"})
    answers = []
    for session in (with_history, without):
        session.index()
        answers.append([(h.chunk.uri, h.rank_score) for h in session.search("expire the session of a user", min_score=0).hits])
    assert answers[0] == answers[1] and answers[0]
    assert with_history.search("expire kind:commit", min_score=0).hits[0].chunk.kind == "commit"
    assert not any("since it was indexed" in one for one in with_history.search("which commit made it expire").trace.warnings)


def test_new_commits_are_added_and_a_rewritten_history_is_followed(repository: Path, home: Path) -> None:
    session = open_session(repository, home=home, environment={})
    session.index()
    commit(repository, "Say hello", "2024-07-01", hello_py="HELLO = 1\n")
    assert session.index().others == 1 and len(commits(session)) == 5
    subprocess.run(["git", "-C", str(repository), "reset", "-q", "--hard", "HEAD~2"], check=True)
    session.index()
    assert len(commits(session)) == 3


def test_shallow_clones_worktrees_and_folders_without_git(repository: Path, home: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--depth", "2", f"file://{repository}", str(tmp_path / "shallow")], check=True)
    shallow = open_session(tmp_path / "shallow", home=home, environment={})
    shallow.index()
    assert len(commits(shallow)) == 2
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(tmp_path / "tree"), "HEAD~1"], check=True)
    tree = open_session(tmp_path / "tree", home=home, environment={})
    tree.index()
    assert len(commits(tree)) == 3
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.py").write_text("x = 1\n")
    plain = open_session(tmp_path / "plain", home=home, environment={})
    assert plain.index().others == 0
    with pytest.raises(InvalidInput, match="is not a git repository"):
        plain.structure.history("a.py")


def test_S5_a_secret_in_a_commit_is_scrubbed(repository: Path, home: Path) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    commit(repository, f"Use token {token}", "2024-08-01", k_py=f"TOKEN = '{token}'\n")
    session = open_session(repository, home=home, environment={})
    session.index()
    text = session.search("use token commit", min_score=0).hits[0].chunk.text
    assert token not in text and "[REDACTED]" in text
    assert not any(
        token.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file() and "models" not in str(path)
    )


def test_who_knows_a_file_what_changes_with_it_and_why_a_line_is_there(
    repository: Path, home: Path, contextd: Callable[..., Run]
) -> None:
    session = open_session(repository, home=home, environment={})
    found = session.structure.history("auth/login.py")
    assert found.edits[0].subject == "Lock accounts after five failed logins" and len(found.edits) == 3
    assert found.authors == (("Ana", 2), ("Bob", 1)) and found.together == (("auth/session.py", 1.0),)
    edit, message = session.structure.why("auth/login.py", 2)
    assert edit.author == "Bob" and "kept by bots" in message
    with pytest.raises(InvalidInput, match="outside"):
        session.structure.history("../elsewhere")
    told = json.loads(contextd("history", "auth", "--json", "-p", str(repository)).out)
    assert told["authors"] == {"Ana": 2, "Bob": 1}
    assert "Long sessions were kept by bots" in contextd("why", "auth/login.py:2", "-p", str(repository)).out
    assert contextd("why", "auth/login.py", "-p", str(repository)).code == 2
    assert contextd("why", "auth/login.py:99", "-p", str(repository)).code == 2


@pytest.mark.parametrize(
    "question", ["recent changes to auth login", "what changed recently in auth login", "latest commits to auth login"]
)
def test_recent_changes_are_the_newest_matching_commits_before_any_code(repository: Path, home: Path, question: str) -> None:
    session = open_session(repository, home=home, environment={})
    session.index()
    for hits in (session.search(question, min_score=0).hits, session.context(question, min_score=0, budget=2000).hits):
        assert [hit.chunk.label for hit in hits[:3]] == [
            "Lock accounts after five failed logins",
            "Let sessions expire after an hour",
            "Begin with a login form",
        ]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_who_knows_something_names_people_and_what_changes_with_it(repository: Path, home: Path) -> None:
    session = open_session(repository, home=home, environment={})
    session.index()
    told = " ".join(session.context("who knows the login", min_score=0).trace.warnings)
    assert "authors of the matching commits: " in told and "auth/login.py was changed by Ana (2), Bob (1)" in told
    assert "auth/session.py often changes with it" in told


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("how does commit write a transaction", False),
        ("where is a transaction committed", False),
        ("evict the least recently used session", False),
        ("commit and roll back a transaction", False),
        ("which commit locks accounts", True),
        ("commits touching the login", True),
        ("who maintains the login", True),
        ("when was the lock introduced", True),
        ("show the commits about sessions", True),
    ],
)
def test_only_questions_about_the_past_are_asked_of_it(question: str, past: bool) -> None:
    plan = understand(Query(question, Scope((1,), THE_OWNER, frozenset({7, 9})), occasional=frozenset({9})))
    assert plan.wants_history is past and (9 in plan.scope.sources) is past


def test_without_git_the_past_of_a_file_says_what_to_do(project: Path, home: Path, contextd: Callable[..., Run]) -> None:
    open_session(project, home=home, environment={}).index()
    for command in (("why", "src/app/store.py:4"), ("history", "src/app/store.py")):
        run = contextd(*command, "-p", str(project), cwd=project)
        assert run.code == 2 and "is not a git repository with commits. Run `git init`" in run.err, run.err


def test_an_untracked_file_says_so(repository: Path, home: Path) -> None:
    (repository / "new.py").write_text("x = 1\n")
    session = open_session(repository, home=home, environment={})
    session.index()
    with pytest.raises(InvalidInput, match=r"new.py has no commits\. Commit it"):
        session.structure.why("new.py", 1)
    with pytest.raises(InvalidInput, match=r"no such file or directory in .*: gone.py"):
        session.structure.why("gone.py", 1)
