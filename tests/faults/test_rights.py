"""Who may read a project: rights are added, replaced and taken without locking anybody out by mistake, and never mixed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.surfaces.cli import cli
from contextd.values.query import Reader, Scope
from tests.conftest import Run


@pytest.fixture
def committed(project: Path, home: Path) -> Session:
    """The sample project, with a commit that is a document too."""
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "load users by name"]):
        subprocess.run([*git, *command], check=True)
    session = open_session(project, home=home, environment={})
    session.index()
    return session


def seen(session: Session, name: str) -> int:
    """How many chunks of files and commits a reader sees in the index."""
    known = session.project
    assert known is not None
    with known.store.view(Scope((known.workspace,), Reader(name), frozenset({known.source.id, known.commits.id}))) as view:
        return view.size


def found(session: Session, name: str) -> bool:
    assert session.project is not None
    home = session.project.folder.parent.parent
    with_rights = open_session(session.project.root, home=home, environment={}, reader=name)
    return bool(with_rights.search("load_user", min_score=0).hits)


def test_sharing_adds_and_locks_nobody_out(committed: Session) -> None:
    assert committed.share(["ana"]) == {"owner", "ana"}
    assert committed.share(["bob"]) == {"owner", "ana", "bob"} == committed.who()
    assert found(committed, "owner") and found(committed, "ana")
    assert committed.unshare(["ana"]) == {"owner", "bob"} and not found(committed, "ana")


def test_the_callers_own_right_is_taken_only_by_force(committed: Session) -> None:
    for attempt in (lambda: committed.share_only(["ana"]), lambda: committed.unshare(["owner"])):
        with pytest.raises(InvalidInput, match=r"owner would lose access .*--force"):
            attempt()
    assert committed.who() == {"owner"}
    assert committed.share_only(["everyone"]) == {"everyone"}, "the owner is one of everyone"
    with pytest.raises(InvalidInput, match="would be empty"):
        committed.unshare(["everyone"], force=True)
    assert committed.share_only(["ana"], force=True) == {"ana"} and not found(committed, "owner") and found(committed, "ana")
    assert committed.share(["owner"]) == {"owner", "ana"} and found(committed, "owner")


def test_a_name_that_is_none_is_refused(committed: Session, home: Path) -> None:
    for name in ("", "  ", "a\nb", "a\u202eb", "x" * 1000):
        with pytest.raises(InvalidInput, match="reader|principal"):
            committed.share([name])
        with pytest.raises(InvalidInput, match="reader"):
            open_session(None, home=home, reader=name, environment={})


ASKING = ["search", "context", "explain"]
SHOWING = ["stats", "secrets", "errors", "symbols load_user", "map", "jobs", "check-file a.py", "history docs/guide.md"]


@pytest.mark.parametrize("name", ["owner", "eve"])
def test_who_may_not_read_is_told_so_and_learns_nothing_more(
    committed: Session, home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert committed.project is not None
    committed.share_only(["ana"], force=True)
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    options = ["-p", str(committed.project.root), "--as", name]
    for command in ASKING:
        run = CliRunner().invoke(cli, [command, "load_user", *options])
        assert f"{name} has no access to this project. The owner can grant it with `contextd share {name}`." in run.stderr
        assert "contextd index" not in run.output and "store.py" not in run.output
    for line in SHOWING:
        run = CliRunner().invoke(cli, [*line.split(), *options])
        assert isinstance(run.exception, InvalidInput) and f"{name} has no access to" in str(run.exception) and not run.output


def test_the_commands(committed: Session, contextd: Callable[..., Run]) -> None:
    assert committed.project is not None
    root = committed.project.root
    assert contextd("share", "--only", "ana", cwd=root).code == 2
    assert contextd("share", "--only", "ana", "--force", cwd=root).out.strip() == "readable by ana"
    assert contextd("who", cwd=root).out.strip() == "readable by ana"
    assert contextd("index", cwd=root).code == 0, "the owner still keeps the index up to date"
    assert contextd("share", "owner", cwd=root).code == 0 and contextd("search", "load_user", cwd=root).code == 0
    assert contextd("unshare", "owner", cwd=root).code == 2
    assert contextd("unshare", "owner", "--force", cwd=root).out.strip() == "readable by ana"


def test_a_stranger_hears_the_same_of_an_indexed_project_and_of_an_empty_one(
    committed: Session, home: Path, make_project: Callable[..., Path]
) -> None:
    assert committed.project is not None
    roots = (committed.project.root, make_project({"a.py": "a = 1\n"}, "empty"))
    told = [open_session(root, home=home, environment={}, reader="eve").search("load_user", min_score=0) for root in roots]
    assert told[0].hits == told[1].hits == [] and told[0].trace.warnings == told[1].trace.warnings


def test_C6_a_changed_right_is_one_change_of_the_index(committed: Session) -> None:
    assert committed.project is not None
    whole = seen(committed, "owner")
    committed.share(["ana"])
    before = committed.project.store.position()
    committed.share_only(["owner", "bob"])
    assert committed.project.store.position() == before + 1
    assert (seen(committed, "ana"), seen(committed, "bob"), seen(committed, "owner")) == (0, whole, whole)


def test_C6_a_reader_sees_all_or_nothing_while_rights_change(committed: Session) -> None:
    assert committed.project is not None
    whole, sizes, done = seen(committed, "owner"), set(), threading.Event()

    def look() -> None:
        while not done.is_set():
            sizes.add(seen(committed, "ana"))
            assert seen(committed, "owner") == whole

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        committed.share_only(["owner", "ana" if turn % 2 else "bob"])
    done.set()
    for reader in readers:
        reader.join()
    assert sizes == {0, whole}


@pytest.mark.parametrize("step", ["record.SqliteRecord.set_source_right", "writer.Writer.share"])
def test_C6_a_kill_between_record_and_index_leaves_the_stricter_right(committed: Session, home: Path, step: str) -> None:
    """{owner, ana} → {owner, bob}, killed before a step: never both, and who had lost the right before the kill has none after."""
    assert committed.project is not None
    committed.share(["ana"])
    module, kind, function = step.split(".")
    program = f"""
import os, signal, sys
from contextd.app.assemble import open_session
from contextd.stores.sqlite import {module}
{module}.{kind}.{function} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
open_session(sys.argv[1]).share_only(["owner", "bob"])
"""
    root = str(committed.project.root)
    killed = subprocess.run([sys.executable, "-c", program, root], env={**os.environ, "CONTEXTD_HOME": str(home)}, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    decided = committed.who()
    assert found(committed, "owner") and not found(committed, "bob") and found(committed, "ana") == ("ana" in decided)
    committed.index()
    assert [found(committed, name) for name in ("owner", "ana", "bob")] == [True, "ana" in decided, "bob" in decided]
    assert decided == ({"owner", "ana"} if module == "record" else {"owner", "bob"})
