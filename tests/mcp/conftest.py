"""A server over the indexed sample project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.session import Session
from tests.mcp.talk import Server


@pytest.fixture
def server(session: Session, project: Path, home: Path) -> Iterator[Server]:
    session.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()
