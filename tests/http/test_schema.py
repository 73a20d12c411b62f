"""schemathesis over the OpenAPI document of a running service: no answer that the document does not have. `make campaign` runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.client.client import Client
from tests.conftest import SAMPLE, new_home, written
from tests.environments import Environment
from tests.faults.test_sweeps import keep
from tests.http.test_process import Process

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance", "allow_header_conformance", "use_after_free", "ignored_auth",
)  # fmt: skip
# 504 is the answer to a `timeout` of a millisecond, which the document allows.
CONFIG = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 504]\n'
WHOLE_MACHINE = ("tokens", "create_token", "revoke_token", "projects", "add_project", "remove_project")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("schemathesis") / "env", "schemathesis>=4.32,<5")


@pytest.fixture
def process(tmp_path: Path, weights: Path | None) -> Iterator[Process]:
    project, home = written(tmp_path / "project", SAMPLE), new_home(tmp_path / "home", weights)
    for words in ("init -q", "add .", "-c user.name=Ana -c user.email=ana@example.org commit -qm Users"):
        subprocess.run(["git", *words.split()], cwd=project, check=True)
    session = open_session(project, home=home, environment={})
    session.index()
    session.remember("Budget for shoes: max 150€")
    session.close()
    one = Process(home)
    yield one
    one.stop(signal.SIGKILL)


@pytest.mark.parametrize("reach", ["one project", "the whole machine"])
def test_no_request_gets_an_answer_that_the_document_does_not_have(
    process: Process, environment: Environment, tmp_path: Path, reach: str
) -> None:
    client = Client(home=process.home)
    (tmp_path / "openapi.json").write_text(json.dumps(client.connection.get("/openapi.json", {})))
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    known = client.connection.get("/projects", {})["items"][0]
    if reach == "one project":  # requests that name no project are about this one
        asked = {"name": "narrow", "may": "admin", "private": True, "projects": known["roots"]}
        token = client.connection.post("/tokens", asked)["token"]
        chosen = ["--exclude-operation-id", "remove_project"]
    else:
        token = client.connection.token
        chosen = [word for name in WHOLE_MACHINE for word in ("--include-operation-id", name)]
    command = [
        environment.folder / "bin" / "schemathesis", "--config-file", "schemathesis.toml", "run", "openapi.json", "--url", process.url,
        "--header", f"Authorization: Bearer {token}", "--phases", "coverage,fuzzing", "--max-examples", "60", "--continue-on-failure",
        "--checks", ",".join(CHECKS), "--no-color", "--request-timeout", "65", *chosen,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert process.process.poll() is None
    cases, operations = (int(re.findall(pattern, done.stdout)[0]) for pattern in (r"(\d+) generated", r"Tested: (\d+)"))
    keep(
        f"schemathesis, token for {reach}",
        version=environment.version("schemathesis"),
        operations=operations,
        requests=cases,
        failures=0,
    )
