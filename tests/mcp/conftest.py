"""Servers over the indexed sample project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from tests.conftest import SAMPLE, new_home, written
from tests.mcp.talk import Server


@pytest.fixture
def server(session: Session, project: Path, home: Path) -> Iterator[Server]:
    session.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Server]:
    """One for all tests of a module that do nothing but ask."""
    folder = tmp_path_factory.mktemp("asked")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    session = open_session(project, home=home, environment={})
    session.index()
    session.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()
