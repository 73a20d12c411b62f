"""The MCP server, asked by the official client, over its own standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import methods

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.models.tokens import O200k
from contextd.values.memory import Recall
from contextd.values.query import Narrow
from mcp import Client
from tests.mcp.talk import HELLO, Server, call, parameters, passed_on

QUESTION = "how is a user loaded from the database"
AGENT = Narrow(recall=Recall(private=False))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_a_client_passes_on_is_the_packed_text_whole_within_the_budget(
    session: Session, project: Path, home: Path, mode: str
) -> None:
    budgets = (60, 150, 400, 4000)
    packed = [session.context(QUESTION, budget=budget, template="markdown", narrow=AGENT).text for budget in budgets]
    count = session.home.tokens.count
    session.close()

    async def ask(budget: int, client: Client) -> str:
        result = await client.call_tool("query_context", {"query": QUESTION, "filters": {"maxTokens": budget}})
        assert not result.is_error
        return passed_on(result)

    async def ask_all() -> list[str]:
        server = parameters(project, home, "--no-watch")
        async with Client(server, mode=mode, read_timeout_seconds=60) as client:  # type: ignore[arg-type]
            tools = await client.list_tools()
            assert tools.tools[0].name == "query_context"
            assert tools.tools[0].output_schema is None, "a client would then expect structured content"
            return [await ask(budget, client) for budget in budgets]

    for budget, whole, text in zip(budgets, packed, anyio.run(ask_all), strict=True):
        assert whole in text and count(text) <= budget
        assert budget < 100 or "def load_user(name):" in text


def test_notes_are_part_of_the_budget(session: Session, project: Path, home: Path) -> None:
    (project / "src/app/store.py").write_text("def load_user(name): ...\n")
    count = session.home.tokens.count
    session.close()
    server = Server(project, home, "--no-watch")
    for budget in range(1, 600, 23):
        text = server.text(query="load_user delete_user", filters={"maxTokens": budget})
        assert count(text) <= budget, budget
        if budget > 200:
            assert text.startswith("Note: src/app/store.py has changed since it was indexed"), text
            assert text.endswith("```")
    server.close()


def test_json_is_one_text_within_the_budget_with_the_fields_of_a_hit(asked: Server) -> None:
    text = asked.text(query=QUESTION, format="json", filters={"maxTokens": 400})
    answer = json.loads(text)
    assert answer["total"] == len(answer["hits"]) > 0 and O200k().count(text) <= 400
    assert answer["hits"][0]["filePath"] == "src/app/store.py" and "def load_user(name):" in answer["hits"][0]["snippet"]
    assert set(answer["hits"][0]) >= {"chunkId", "score", "label", "kind", "language", "offsets", "startLine", "endLine"}
    small = asked.called(2, query=QUESTION, format="json", filters={"maxTokens": 5})["result"]
    assert small["isError"] and "too small for a JSON answer" in small["content"][0]["text"]


def test_a_question_without_an_answer_says_so(asked: Server) -> None:
    assert asked.text(query="recipe for apple pie with cinnamon").startswith("Nothing relevant was found.")


def test_scope_and_filters_narrow_the_answer(asked: Server) -> None:
    text = asked.text(query="user", scope={"paths": ["docs"]}, filters={"minScore": 0})
    assert "src/app" not in text
    assert "load_user" in asked.text(query="load_user", scope={"languages": ["Python"]}, k=1)
    assert "no such" not in asked.text(query="load_user", scope='{"paths": ["src"]}', k="3"), "JSON in a string is read"


def test_a_private_memory_is_not_told_to_an_agent(session: Session, project: Path, home: Path) -> None:
    session.remember("my blood pressure is 140 over 90", private=True)
    session.close()
    server = Server(project, home, "--no-watch")
    assert "140" not in server.text(query="what is my blood pressure", filters={"minScore": 0})
    server.close()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"query": "x", "max_tokens": 5}, "unknown argument 'max_tokens'; did you mean filters.maxTokens?"),
    ({"query": "x", "filters": {"max_tokens": 5}}, "unknown argument 'filters.max_tokens'; did you mean filters.maxTokens?"),
    ({"query": "x", "limit": 5}, "unknown argument 'limit'; did you mean k?"),
    ({"query": "x", "path": "src"}, "unknown argument 'path'; did you mean scope.paths?"),
    ({"query": "x", "paths": ["src"]}, "unknown argument 'paths'; did you mean scope.paths?"),
    ({"query": "x", "exclude": ["tests"]}, "unknown argument 'exclude'; did you mean scope.excludePatterns?"),
    ({"query": "x", "minimumScore": 1}, "unknown argument 'minimumScore'; did you mean filters.minScore?"),
    ({"query": "x", "colour": "red"}, "unknown argument 'colour'; the arguments are query, k, scope.paths"),
    ({"question": "x"}, "unknown argument 'question'; did you mean query?\nargument 'query' is missing"),
    ({}, "argument 'query' is missing"),
    ({"query": None}, "argument 'query' is missing"),
    ({"query": 7}, "argument 'query' must be a string"),
    ({"query": "x", "k": 0}, "argument 'k' must be at least 1"),
    ({"query": "x", "k": 101}, "argument 'k' must be at most 100"),
    ({"query": "x", "k": "many"}, "argument 'k' must be a whole number"),
    ({"query": "x", "k": True}, "argument 'k' must be a whole number"),
    ({"query": "x", "scope": "src"}, "argument 'scope' must be an object"),
    ({"query": "x", "scope": {"paths": "src"}}, "argument 'scope.paths' must be a list of strings"),
    ({"query": "x", "filters": {"minScore": 2}}, "argument 'filters.minScore' must be at most 1"),
    ({"query": "x", "filters": {"maxTokens": 0}}, "argument 'filters.maxTokens' must be at least 1"),
    ({"query": "x", "format": "xml"}, "argument 'format' must be one of text, json"),
]


def test_a_wrong_argument_is_an_error_that_names_the_right_one_and_links_to_nothing(asked: Server) -> None:
    for number, (arguments, message) in enumerate(WRONG, 1):
        result = asked.called(number, **arguments)["result"]
        text = result["content"][0]["text"]
        assert result["isError"] and text.startswith(message), (arguments, text)
        assert "http" not in text and "pydantic" not in text


def test_every_argument_of_the_schema_is_accepted(asked: Server) -> None:
    full = {
        "query": "load_user", "k": 3, "format": "text", "filters": {"minScore": 0.1, "maxTokens": 300, "mmrLambda": 0.5},
        "scope": {"paths": ["src"], "languages": ["python"], "kinds": ["code_block", "code_function"], "excludePatterns": ["docs"]},
    }  # fmt: skip
    schema = asked.asked({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"][0]["inputSchema"]
    assert set(schema["properties"]) == set(full) and schema["additionalProperties"] is False
    assert all(set(schema["properties"][name]["properties"]) == set(full[name]) for name in ("scope", "filters"))  # type: ignore[arg-type]
    assert "load_user" in asked.text(**full)


def test_the_tool_list_holds_no_indexed_text(server: Server, project: Path) -> None:
    listing = json.dumps(server.asked({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
    assert "load_user" in server.text(query="load_user")
    assert "load_user" not in listing and str(project) not in listing
    assert listing == json.dumps(server.asked({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))


def test_answers_fit_the_schema_of_the_revision(server: Server) -> None:
    versions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    for version, (method, params) in product(versions, (
        ("initialize", HELLO), ("tools/list", {}), ("ping", {}), ("tools/call", call(1, query="load_user")["params"])
    )):  # fmt: skip
        params = {**params, "protocolVersion": version} if method == "initialize" else params
        result = server.asked({"jsonrpc": "2.0", "id": 5, "method": method, "params": params})["result"]
        methods.parse_server_result(method, version, result)
        assert method != "initialize" or result["protocolVersion"] == version


def test_answers_fit_the_schema_of_the_revision_without_a_handshake(server: Server) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    for method, params in (("server/discover", {}), ("tools/list", {}), ("tools/call", call(1, query="load_user")["params"])):
        request = {"jsonrpc": "2.0", "id": 5, "method": method, "params": {**params, "_meta": meta}}
        methods.parse_server_result(method, "2026-07-28", server.asked(request)["result"])
    later = {**meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    error = server.asked({"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": {"_meta": later}})["error"]
    assert error["code"] == -32022 and error["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_an_unknown_revision_gets_the_newest_one_with_a_handshake(server: Server) -> None:
    request = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {**HELLO, "protocolVersion": "2099-01-01"}}
    assert server.asked(request)["result"]["protocolVersion"] == "2025-11-25"


def test_a_call_in_flight_at_the_end_of_input_is_answered(session: Session, project: Path, home: Path) -> None:
    session.close()
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO},
        call(1, query="load_user"),
        call("b", query=QUESTION),
    ]  # type: ignore[arg-type]
    done = subprocess.run(
        [sys.executable, "-m", "contextd", "mcp", "--project", str(project), "--no-watch"], timeout=60, capture_output=True,
        input="".join(json.dumps(line) + "\n" for line in lines).encode(), env={**os.environ, "CONTEXTD_HOME": str(home)},
    )  # fmt: skip
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0 and set(answers) == {0, 1, "b"}, done.stderr
    assert all("load_user" in answers[number]["result"]["content"][0]["text"] for number in (1, "b"))


def test_a_cancelled_call_is_not_answered(server: Server) -> None:
    server.send(json.dumps(call(1, query="load_user")).encode())  # answered after the session is opened
    server.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    assert server.called(2, query="load_user")["id"] == 2


def test_a_project_that_cannot_be_opened_is_told_by_the_call(home: Path, tmp_path: Path) -> None:
    (tmp_path / "context.toml").write_text("[context.budget]\nnonsense = 1\n")
    server = Server(tmp_path, home, "--no-watch")
    result = server.called(1, query="x")["result"]
    assert result["isError"] and "unknown setting 'budget.nonsense'" in result["content"][0]["text"]
    (tmp_path / "context.toml").unlink()
    assert "Nothing relevant was found." in server.text(query="x"), "it is tried again"
    server.close()


def test_a_project_that_does_not_exist_is_refused_at_the_start(
    contextd_process: Callable[..., Any], project: Path, home: Path, tmp_path: Path
) -> None:
    for name in (str(tmp_path / "nowhere"), "no-such-name", ""):
        run = contextd_process("mcp", "--project", name)
        assert run.code == 2 and not run.out and run.err.startswith("error: "), name
    (home / "config.toml").write_text(f'[context.projects]\napp = "{project}"\ngone = "{tmp_path / "nowhere"}"\n')
    assert contextd_process("mcp", "--project", "app", cwd=tmp_path).code == 0, "a name is a project, too"
    assert contextd_process("mcp", "--project", "gone", cwd=tmp_path).code == 2


def test_initialize_loads_neither_the_engine_nor_a_library_of_the_protocol() -> None:
    code = "import sys, contextd.surfaces.cli, contextd.surfaces.cli.serve, contextd.surfaces.mcp.server; print([m for m in ('numpy', 'apsw', 'mcp', 'pydantic', 'contextd.app.session', 'asyncio') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("words", ["mcp --help"])
def test_printed_commands_name_the_project_by_the_long_option(contextd: Callable[..., Any], project: Path, words: str) -> None:
    """`claude mcp add NAME -- COMMAND -p X` takes -p for an option of its own in some versions."""
    printed = [line for line in contextd(*words.split(), cwd=project).out.splitlines() if "mcp add" in line]
    assert printed and all(" --project " in line and " -p " not in line for line in printed)


def test_the_answer_says_that_nothing_is_indexed_and_how_far_a_first_run_is(project: Path, home: Path) -> None:
    session = open_session(project, home=home, environment={})
    assert session.project
    warned = session.search("load_user").trace.warnings
    assert "This project is not indexed yet. Run `contextd index`." in warned
    job = session.index_service.request()
    assert any(
        "not indexed yet. Indexing is in progress. Repeat the query" in one
        for one in session.search("load_user").trace.warnings
    )
    assert session.index_service.request() == job, "one run is enough"
    session.project.store.jobs.lease(job)
    session.project.store.jobs.extend(job, 3, 10)
    assert any("3 of 10 files are indexed" in one for one in session.search("load_user").trace.warnings)
    session.project.store.jobs.cancel(job)
    session.index()
    assert session.index_service.request() == ""
    session.close()


def test_in_the_home_directory_facts_are_served_without_a_project(home: Path, tmp_path: Path) -> None:
    """A program of the desktop starts its servers there."""
    own = tmp_path / "somebody"
    own.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "CONTEXTD_HOME": str(home), "HOME": str(own), "USERPROFILE": str(own)}, cwd=own,
    )  # fmt: skip
    params = {"name": "remember", "arguments": {"text": "My bicycle is called Rocinante"}}
    recalled = {"name": "recall", "arguments": {"query": "What is my bicycle called?"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": params},
    ]
    assert process.stdin and process.stdout
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    assert b'"id":1' in process.stdout.readline().replace(b" ", b"") and b"Rocinante" in process.stdout.readline()
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": recalled}).encode() + b"\n")
    process.stdin.flush()
    assert b"Rocinante" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(timeout=30) == 0 and not (home / "projects").exists(), "nothing was indexed"
