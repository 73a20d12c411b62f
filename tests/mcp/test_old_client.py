"""The official client of the previous major version, in an environment of its own: it lists and calls every tool. `make campaign` runs it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.mcp.tools import TOOLS
from tests.conftest import SAMPLE, new_home, written
from tests.environments import Environment
from tests.faults.test_sweeps import keep
from tests.http.test_process import Process

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]

PROGRAM = """
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

async def call(session, name, /, **arguments):
    result = await session.call_tool(name, arguments)
    text = "".join(block.text for block in result.content)
    assert not result.isError, (name, text)
    return json.dumps(result.structuredContent) if result.structuredContent is not None else text

async def every_tool(session):
    started = await session.initialize()
    listed = [tool.name for tool in (await session.list_tools()).tools]
    called = {}
    async def ask(name, /, **arguments):
        called[name] = await call(session, name, **arguments)
        return called[name]
    assert "def load_user" in await ask("query_context", query="how are users loaded")
    number = (await ask("remember", text="We deploy on Fridays", project=True, kind="decision")).split("[")[1][:8]
    assert "Fridays" in await ask("recall", query="when do we deploy")
    code = (await ask("forget", memory=number)).rpartition(" ")[2]
    assert (await ask("forget", memory=number, confirm=code)).endswith(("gone", "pending"))
    assert "src/app/store.py" in await ask("find_symbol", name="load_user")
    await ask("find_callers", name="load_user")
    assert "routes.py" in await ask("find_impact", what="src/app/store.py")
    await ask("explain_context", query="load user")
    await ask("set_profile", key="identity.name", values=["Mara"])
    assert "Mara" in await ask("get_profile")
    assert json.loads(await ask("get_context_stats"))["storage"]["totalFiles"] >= 2
    done = json.loads(await ask("refresh_context", paths=["src"], **{"async": False}))
    assert done["status"] == "completed", done
    seen = []
    async def progress(done, total, message):
        seen.append(done)
    result = await session.call_tool("rebuild_context", {"confirm": True, "async": False}, progress_callback=progress)
    called["rebuild_context"] = result.content[0].text
    built = json.loads(result.content[0].text)
    assert built["status"] == "completed" and seen == sorted(set(seen)), (built, seen)
    assert json.loads(await ask("get_rebuild_status", jobId=built["jobId"]))["status"] == "completed"
    refused = await session.call_tool("rebuild_context", {"confirm": False})
    assert refused.isError
    resources = (await session.list_resource_templates()).resourceTemplates
    read = await session.read_resource("context://file/src/app/store.py")
    assert len(resources) == 2 and "def load_user" in read.contents[0].text
    assert {one.name for one in (await session.list_prompts()).prompts} == {"ask", "task"}
    print(json.dumps({"protocol": started.protocolVersion, "listed": listed, "called": sorted(called)}))

async def main():
    if sys.argv[1] == "stdio":
        words = json.loads(sys.argv[2])
        async with stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))) as (read, write):
            async with ClientSession(read, write) as session:
                await every_tool(session)
    else:
        headers = {"Authorization": "Bearer " + os.environ["CONTEXTD_TOKEN"], "X-Contextd-Project": os.environ["CONTEXTD_PROJECT"]}
        async with streamablehttp_client(sys.argv[2] + "/mcp", headers=headers) as (read, write, _):
            async with ClientSession(read, write) as session:
                await every_tool(session)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("client") / "env", "mcp==1.30.0")


@pytest.fixture
def places(tmp_path: Path, weights: Path | None) -> Iterator[tuple[Path, Path]]:
    """A project, and a data directory where all tools are offered."""
    project, home = written(tmp_path / "project", SAMPLE), new_home(tmp_path / "home", weights)
    (home / "config.toml").write_text('[context.mcp]\ntools = ["all"]\n')
    session = open_session(project, home=home, environment={})
    session.index()
    session.close()
    yield project, home


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_client_of_the_previous_major_version_lists_and_calls_every_tool(
    environment: Environment, places: tuple[Path, Path], transport: str
) -> None:
    project, home = places
    variables = {"CONTEXTD_HOME": str(home), "CONTEXTD_PROJECT": str(project), "PYTHONPATH": ""}
    if transport == "stdio":
        words = [sys.executable, "-m", "contextd", "mcp", "--project", str(project)]
        found = environment.run(PROGRAM, "stdio", json.dumps(words), **variables)
    else:
        process = Process(home, watch=True)
        try:
            token = (home / "service" / "token").read_text().strip()
            found = environment.run(PROGRAM, "http", process.url, CONTEXTD_TOKEN=token, **variables)
        finally:
            process.stop(signal.SIGTERM)
    assert found["listed"] == list(TOOLS) and found["called"] == sorted(TOOLS)
    keep(f"mcp, client 1.30 over {transport}", protocol=found["protocol"], tools=len(found["called"]))
