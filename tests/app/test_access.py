"""Who may read a project, and who decides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.session import Session
from contextd.errors import InvalidInput
from tests.conftest import Run


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
