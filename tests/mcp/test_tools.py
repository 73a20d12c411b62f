"""Every tool by the official client, over standard input and over HTTP, in both forms of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from contextd import __version__
from contextd.app.assemble import open_service, open_session
from contextd.models.tokens import O200k
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import Guard
from contextd.surfaces.mcp.tools import DEFAULT, TOOLS
from tests.mcp.talk import parameters, passed_on

Ask = Callable[[Client], Awaitable[None]]


@pytest.fixture
def served(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """URL of a service on a socket of this process, and the service. It runs the jobs of projects, too."""
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    open_session(project, home=home, environment={}).index()
    (home / "config.toml").write_text('[context.mcp]\ntools = ["all"]\n')
    service = open_service({"CONTEXTD_HOME": str(home)})
    server = uvicorn.Server(uvicorn.Config(Guard(Api(service).app(), service.tokens), port=0, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", service
    server.should_exit = True
    thread.join(15)


async def over_http(url: str, token: str, project: Path, mode: str, ask: Ask) -> None:
    headers = {"Authorization": f"Bearer {token}", "X-Contextd-Project": str(project)}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=90) as client:  # type: ignore[arg-type]
            await ask(client)


async def called(client: Client, name: str, /, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, passed_on(result)
    return passed_on(result)


async def every_tool(client: Client) -> None:
    """Each tool once, as an agent would use it."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == list(TOOLS)
    assert "def load_user" in await called(client, "query_context", query="how are users loaded")
    saved = await called(client, "remember", text="We deploy on Fridays", project=True, kind="decision")
    number = saved.split("[")[1][:8]
    assert "Fridays" in await called(client, "recall", query="when do we deploy")
    first = await called(client, "forget", memory=number)
    code = first.rpartition(" ")[2]
    wrong = await client.call_tool("forget", {"memory": number, "confirm": code[:-1] + "z"})
    assert wrong.is_error and "Fridays" in await called(client, "recall", query="when do we deploy")
    assert (await called(client, "forget", memory=number, confirm=code)).endswith(("gone", "pending"))
    assert "No fact" in await called(client, "recall", query="when do we deploy")
    assert "src/app/store.py" in await called(client, "find_symbol", name="load_user")
    assert "defined at" in await called(client, "find_callers", name="load_user")
    assert "routes.py" in await called(client, "find_impact", what="src/app/store.py")
    assert "retrieve" in await called(client, "explain_context", query="load user")
    stats = json.loads(await called(client, "get_context_stats"))
    assert stats["storage"]["totalFiles"] >= 2 and {one["id"] for one in stats["providers"]} >= {"semantic", "symbol"}
    dry = json.loads(await called(client, "rebuild_context", confirm=True, options={"validateOnly": True}))
    assert dry["estimatedFiles"] >= 2 and dry["details"]["byLanguage"]["python"] >= 2 and dry["scope"] == "full"
    refused = await client.call_tool("rebuild_context", {"confirm": False})
    assert refused.is_error and "confirm" in passed_on(refused)
    done = json.loads(await called(client, "refresh_context", paths=["src"], **{"async": False}))
    assert done["status"] == "completed" and done["filesQueued"] >= 2
    built = json.loads(await called(client, "rebuild_context", confirm=True, **{"async": False}))
    assert built["status"] == "completed", built
    status = json.loads(await called(client, "get_rebuild_status", jobId=built["jobId"], includeLogs=True))
    assert status["status"] == "completed" and status["result"] and isinstance(status["logs"], list)
    for path in ("../../etc/passwd", "/etc/passwd"):
        outside = await client.call_tool("refresh_context", {"paths": [path]})
        assert outside.is_error


async def resources_and_prompts(client: Client) -> None:
    templates = (await client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == ["context://file/{+path}", "context://memory/{id}"]
    read = await client.read_resource("context://file/src/app/store.py")
    assert "def load_user" in read.contents[0].text  # type: ignore[union-attr]
    for uri in (
        "context://file/../../etc/passwd",
        "context://file//etc/passwd",
        "file:///etc/passwd",
        "context://memory/abcdef",
    ):
        with pytest.raises(Exception, match="no such"):
            await client.read_resource(uri)
    assert {one.name for one in (await client.list_prompts()).prompts} == {"ask", "task"}
    got = await client.get_prompt("task", {"title": "Delete users"})
    assert "Delete users" in got.messages[0].content.text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_over_http(served: tuple[str, Any], project: Path, mode: str) -> None:
    url, service = served
    token = service.tokens.create("agent", may="admin")

    async def both(client: Client) -> None:
        await every_tool(client)
        await resources_and_prompts(client)

    anyio.run(over_http, url, token, project, mode, both)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_over_standard_input(session: Any, project: Path, home: Path, mode: str) -> None:
    session.close()
    (home / "config.toml").write_text('[context.mcp]\ntools = ["all"]\n')

    async def ask() -> None:
        async with Client(parameters(project, home), mode=mode, read_timeout_seconds=90) as client:  # type: ignore[arg-type]
            await every_tool(client)
            await resources_and_prompts(client)

    anyio.run(ask)


def test_a_local_client_is_answered_by_the_running_service_without_private_facts(
    served: tuple[str, Any], project: Path, home: Path
) -> None:
    from contextd.app.serving import announced, folder_of

    url, service = served
    service.tokens.own(folder_of(home))
    session = open_session(project, home=home, environment={})
    session.remember("My salary is 4242", private=True)

    async def ask() -> None:
        async with Client(parameters(project, home), read_timeout_seconds=60) as client:
            assert "def load_user" in await called(client, "query_context", query="how are users loaded")
            assert "4242" not in await called(client, "recall", query="what is my salary")

    with announced(home, url, __version__):
        before = len(service._kept)
        anyio.run(ask)
        assert len(service._kept) > before, "the service opened the project for it"


def test_a_token_is_offered_what_it_may_do(served: tuple[str, Any], project: Path) -> None:
    url, service = served

    async def names(client: Client) -> None:
        found = [tool.name for tool in (await client.list_tools()).tools]
        assert found == [name for name, tool in TOOLS.items() if tool.may == "read"]
        refused = None
        try:
            refused = await client.call_tool("remember", {"text": "x"})
        except Exception as error:
            assert "no tool" in str(error)
        assert refused is None

    anyio.run(over_http, url, service.tokens.create("reader"), project, "auto", names)


def test_progress_comes_while_a_rebuild_is_awaited(served: tuple[str, Any], project: Path) -> None:
    url, service = served
    for number in range(60):
        (project / f"src/app/more{number}.py").write_text(f"def more{number}():\n    return {number}\n")
    seen: list[float] = []

    async def ask(client: Client) -> None:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        result = await client.call_tool("rebuild_context", {"confirm": True, "async": False}, progress_callback=on_progress)
        assert json.loads(passed_on(result))["status"] == "completed"

    anyio.run(over_http, url, service.tokens.create("agent", may="admin"), project, "auto", ask)
    assert seen and seen == sorted(set(seen)), "progress increases"


def _post(url: str, token: str, project: Path, body: object, **headers: str) -> Any:
    own = {
        "Authorization": f"Bearer {token}",
        "X-Contextd-Project": str(project),
        "Content-Type": "application/json",
        **headers,
    }
    return httpx2.post(f"{url}/mcp", content=json.dumps(body), headers=own, trust_env=False, timeout=60)


def test_a_client_that_knows_tasks_gets_one_for_a_rebuild(served: tuple[str, Any], project: Path) -> None:
    url, service = served
    token, prefix = service.tokens.create("agent", may="admin"), "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {"extensions": {f"{prefix}tasks": {}}}}

    def ask(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return _post(url, token, project, body).json()

    answer = ask("tools/call", name="rebuild_context", arguments={"confirm": True})
    made = answer.get("result") or pytest.fail(str(answer))
    assert made["resultType"] == "task" and made["status"] == "working" and made["ttlMs"] is None
    end = 0
    while (found := ask("tasks/get", taskId=made["taskId"])["result"])["status"] == "working":
        end += 1
        assert end < 300
        anyio.run(anyio.sleep, 0.2)
    assert found["status"] == "completed" and "completed" in found["result"]["content"][0]["text"]
    assert ask("tasks/get", taskId="f" * 32)["error"]["code"] == -32602
    assert ask("tasks/get", taskId=made["taskId"][:4])["error"]["code"] == -32602


def test_M5_malformed_messages_get_the_errors_of_the_protocol(served: tuple[str, Any], project: Path) -> None:
    url, service = served
    token = service.tokens.create("agent")
    for body, code in (
        ([], -32600), ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "nope"}, -32601), ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": []}}, -32602),
    ):  # fmt: skip
        assert _post(url, token, project, body).json()["error"]["code"] == code, body
    assert _post(url, token, project, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
    own = {"Authorization": f"Bearer {token}"}
    for method in ("GET", "DELETE", "PUT"):
        assert httpx2.request(method, f"{url}/mcp", headers=own, trust_env=False).status_code in (405, 415)
    assert httpx2.post(f"{url}/mcp", content=b"{}", headers={"Content-Type": "application/json"}).status_code == 401


def test_the_default_tools_cost_at_most_900_tokens_and_no_list_has_indexed_text() -> None:
    count = O200k().count
    listed = [TOOLS[name].listed() for name in DEFAULT]
    assert sum(count(one["name"] + one["description"] + json.dumps(one["inputSchema"])) for one in listed) <= 900


def test_an_unknown_tool_in_the_settings_is_told_at_the_start(home: Path, project: Path) -> None:
    (home / "config.toml").write_text('[context.mcp]\ntools = ["query_contxt"]\n')
    done = subprocess.run(
        [sys.executable, "-m", "contextd", "mcp", "--project", str(project)], input=b"", capture_output=True,
        env={**os.environ, "CONTEXTD_HOME": str(home)}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and b"query_contxt" in done.stderr
