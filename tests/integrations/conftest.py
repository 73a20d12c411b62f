"""A service process over the sample project, for programs of other projects."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.client.client import Client
from tests.conftest import SAMPLE, new_home, written
from tests.http.test_process import Process


@dataclass
class Served:
    """A running service: how programs reach it."""

    process: Process
    project: Path
    token: str

    @property
    def variables(self) -> dict[str, str]:
        return {"CONTEXTD_URL": self.process.url, "CONTEXTD_TOKEN": self.token, "CONTEXTD_PROJECT": str(self.project)}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Served]:
    """One for the tests of a module, which only ask."""
    folder = tmp_path_factory.mktemp("served")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    session = open_session(project, home=home, environment={})
    session.index()
    session.close()
    process = Process(home)
    Client(home=home, project=project).context("how are users loaded")  # models are loaded
    yield Served(process, project, (home / "service" / "token").read_text().strip())
    process.stop(signal.SIGKILL)
