"""What is no message of JSON-RPC is answered with an error; standard output is the wire and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.surfaces.mcp import offers
from tests.mcp.talk import Server

NOISE = [b"not json\n", b"{}\n", b"[]\n", b'{"jsonrpc":"2.0","id":{},"method":"x"}\n', b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}\n',
         b'{"jsonrpc":"2.0","id":7,"method":"no/such"}\n', b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"evil"}}\n']  # fmt: skip


def test_M5_nothing_but_json_rpc_reaches_standard_output(session: Session, project: Path, home: Path) -> None:
    session.close()
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    stdin = json.dumps(hello).encode() + b"\n" + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + b"".join(NOISE)
    stdin += (
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"query_context","arguments":{"query":"load_user"}}}\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", "mcp", "--project", str(project), "--no-watch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "CONTEXTD_HOME": str(home)},
    )  # fmt: skip
    assert process.stdin and process.stdout
    process.stdin.write(stdin)
    process.stdin.flush()
    answers = {}
    while 9 not in answers:
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        answers[message.get("id")] = message
    process.stdin.close()
    process.wait(timeout=20)
    assert "result" in answers[0] and "error" in answers[7]
    assert "load_user" in answers[9]["result"]["content"][0]["text"]


MALFORMED: list[tuple[bytes, list[tuple[Any, int]]]] = [
    (b"not json", [(None, -32700)]),
    (b"{", [(None, -32700)]),
    (b"\xff\xfe{}", [(None, -32700)]),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":NaN}}', [(None, -32700)]),
    (b'{"jsonrpc":"2.0","id":1' + b"0" * 5000 + b',"method":"tools/list"}', [(None, -32700)]),
    (b"{}", [(None, -32600)]),
    (b"17", [(None, -32600)]),
    (b'"x"', [(None, -32600)]),
    (b"[]", [(None, -32600)]),
    (b'[{"jsonrpc":"2.0","id":3,"method":"tools/list"},{"jsonrpc":"2.0","id":4,"method":"x"}]', [(3, -32600), (4, -32600)]),
    (b'{"jsonrpc":"2.0","id":{},"method":"x"}', [(None, -32600)]),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}', [(None, -32600)]),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', [(None, -32600)]),
    (b'{"jsonrpc":"2.0","id":null,"method":"x"}', [(None, -32600)]),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', [(1, -32600)]),
    (b'{"id":"a","method":"tools/list"}', [("a", -32600)]),
    (b'{"jsonrpc":"2.0","id":2}', [(2, -32600)]),
    (b'{"jsonrpc":"2.0","id":2,"method":7}', [(2, -32600)]),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[1]}', [(2, -32600)]),
    (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"query_context","arguments":{"query":"\\ud800"}}}', [(5, -32600)]),
    (b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":' + b'{"a":' * 900 + b"1" + b"}" * 901, [(6, -32600)]),
    (b'{"jsonrpc":"2.0","id":6,"method":"x","params":' + b"[" * 100_000, [(None, -32600)]),
    (b'{"jsonrpc":"2.0","id":6,"method":"x","params":{"x":"' + b"a" * 4_000_000 + b'"}}', [(None, -32600)]),
]  # fmt: skip


def test_M5_what_is_no_request_is_answered_with_an_error_and_the_server_goes_on(server: Server) -> None:
    for number, (line, expected) in enumerate(MALFORMED, 1000):
        server.send(line)
        answers = [server.answer() for _ in expected]
        assert [(one["id"], one["error"]["code"]) for one in answers] == expected, line[:80]
        assert "result" in server.asked({"jsonrpc": "2.0", "id": number, "method": "ping"}), line[:80]
    server.send(b"")
    assert server.asked({"jsonrpc": "2.0", "id": 7, "method": "no/such"})["error"]["code"] == -32601
    assert "load_user" in server.called(8, query="load_user")["result"]["content"][0]["text"]


TOO_MUCH: list[tuple[dict[str, Any], str]] = [
    ({"query": "a", "scope": {"paths": ["src/app"] * 200_000}}, "paths: too many entries: 200,000 (maximum 200)"),
    ({"query": "a", "scope": {"paths": ["*a*"] * 21}}, "paths with wildcards: too many entries: 21 (maximum 20)"),
    ({"query": "a", "scope": {"languages": ["x"] * 10_000}}, "languages: too many entries: 10,000 (maximum 100)"),
    ({"query": "a", "scope": {"kinds": ["x" * 10_000]}}, "kinds: too many characters: 10,000 (maximum 100)"),
    ({"query": "a " * 100_000}, "query: too many characters: 200,000 (maximum 100,000)"),
    ({"query": "a", "filters": {"maxTokens": 10**12}}, "budget: value too large: 1,000,000,000,000 (maximum 1,000,000,000)"),
]


def test_M5_a_field_that_is_too_large_is_refused_by_name_and_limit(server: Server) -> None:
    for number, (arguments, message) in enumerate(TOO_MUCH, 1):
        answer = server.called(number, **arguments)
        assert answer["result"]["isError"] and message in answer["result"]["content"][0]["text"], answer


def test_a_resource_has_no_invisible_characters(project: Path, home: Path) -> None:
    (project / "trap.md").write_text("# Trap\n\nplain\u202etext\u200b and \x1b[31m red \U000e0041\n")
    session = open_session(project, home=home, environment={})
    session.index()
    fact = session.remember("the mast\u202e is \u200btall").memory.id
    for uri in ("context://file/trap.md", f"context://memory/{fact}"):
        (found,) = offers.read(session, {"uri": uri})["contents"]
        assert "\\u{202e}" in found["text"] and "\\u{200b}" in found["text"]
        assert not set("\u202e\u200b\x1b\U000e0041") & set(found["text"])
    assert "\\u{1b}" in offers.read(session, {"uri": "context://file/trap.md"})["contents"][0]["text"]
    session.close()
