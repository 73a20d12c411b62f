"""Who may read a project, and who decides it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.stores.lease import holder
from tests.conftest import Run
from tests.waiting import until


def test_sharing_with_nobody_locked_the_owner_out(session: Session) -> None:
    with pytest.raises(InvalidInput, match="the reader's name is empty"):
        session.share([""])
    with pytest.raises(InvalidInput, match="the reader's name is empty"):
        session.as_reader(" ")


def test_reports_and_writes_did_not_ask_for_rights(session: Session, project: Path, contextd: Callable[..., Run]) -> None:
    for command in (
        ["secrets"],
        ["stats"],
        ["list-indexable"],
        ["index"],
        ["check-file", "a.py"],
        ["remember", "--here", "x y"],
    ):
        run = contextd(*command, "--as", "eve", cwd=project)
        assert run.code == 2 and "eve has no access to this project" in run.err, command
    contextd("share", "owner", "eve", cwd=project)
    assert contextd("stats", "--as", "eve", cwd=project).code == 0
    for name in ("", "everyone"):
        assert contextd("stats", "--as", name, cwd=project).code == 2


@contextmanager
def watched(session: Session) -> Iterator[None]:
    """A watcher that holds the index."""
    over, told = threading.Event(), list[str]()
    watcher = threading.Thread(target=session.index_service.watch, args=(over.is_set, told.append, "contextd watch"))
    watcher.start()
    try:
        until(lambda: "contextd watch" in holder(session.known().folder))
        yield
    finally:
        over.set()
        watcher.join(30)


def test_a_project_that_is_watched_can_be_shared_and_its_new_files_are_shared_too(session: Session, project: Path) -> None:
    """Only the watcher may write the index, so a command gave up; files written later had the list of the watcher's start."""
    session.index()
    ana = session.as_reader("ana")
    with watched(session):
        assert session.share(["ana"]) == {"owner", "ana"}
        assert ana.search("load user").hits
        (project / "later.py").write_text("def measure_the_harbor():\n    return 1\n")
        until(lambda: bool(ana.search("measure the harbor").hits))
        assert session.unshare(["ana"]) == {"owner"}
        assert not ana.search("load user").hits
