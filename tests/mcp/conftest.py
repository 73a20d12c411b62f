"""A server over the indexed sample project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.engine import Engine
from tests.mcp.talk import Server


@pytest.fixture
def server(engine: Engine, project: Path, home: Path) -> Iterator[Server]:
    engine.close()
    one = Server(project, home, "--no-watch")
    yield one
    one.close()
