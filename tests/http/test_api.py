"""What the routes do, one after another, as a program would use them."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextd.app.tokens import FIRST
from contextd.models import tokens
from contextd.surfaces.http.handlers import engine
from contextd.surfaces.http.openapi import document
from contextd.surfaces.wire.convert import schema
from contextd.surfaces.wire.routes import ROUTES
from tests.http.conftest import Asked

NAMES = sorted({name for route in ROUTES for name in schema(route.request)["properties"]})


def test_search_finds_what_a_session_finds(asked: Asked) -> None:
    found = asked.api("POST", "/search", {"query": "register a handler for a path", "project": str(asked.project), "k": 3})
    assert found["hits"][0]["path"] == "src/app/routes.py" and found["hits"][0]["text"]
    session = asked.service.ask(str(asked.project), ())
    own = session.search("register a handler for a path", k=3)
    assert [hit["path"] for hit in found["hits"]] == [hit.chunk.uri for hit in own.hits]
    assert [hit["score"] for hit in found["hits"]] == [round(hit.score, 4) for hit in own.hits]


def test_context_keeps_the_budget_and_the_hits_have_texts_on_request(asked: Asked) -> None:
    question = {"query": "how are users loaded", "project": str(asked.project), "budget": 120, "template": "xml"}
    answer = asked.api("POST", "/context", question)
    assert 0 < answer["tokens"] <= 120 and "load_user" in answer["text"] and "text" not in answer["hits"][0]
    assert asked.api("POST", "/context", question | {"texts": True})["hits"][0]["text"]
    explained = asked.api("POST", "/explain", question)
    assert explained["context"]["text"] == answer["text"] and {step["name"] for step in explained["trace"]["steps"]} >= {"fuse"}


def test_find_task_and_the_structure_of_code(asked: Asked) -> None:
    project = str(asked.project)
    assert (
        asked.api("POST", "/find", {"query": "def load_user", "project": project})["matches"][0]["path"] == "src/app/store.py"
    )
    assert asked.api("POST", "/find", {"query": "def \\w+_user", "regex": True, "project": project, "limit": 1})["truncated"]
    task = asked.api(
        "POST", "/task", {"title": "Users cannot be deleted", "type": "bugfix", "task_id": "7", "project": project}
    )
    assert "task #7" in task["prompt"] and task["keywords"] and task["context"]["text"] in task["prompt"]
    assert asked.api("GET", "/symbols", name="load_user", project=project)["items"][0]["uri"] == "src/app/store.py"
    assert asked.api("GET", "/callers", name="load_user", project=project)["definitions"]
    assert asked.api("GET", "/impact", what="src/app/store.py", project=project)["known"]
    assert asked.api("GET", "/map", budget=200, project=project)["files"]
    assert asked.api("GET", "/outline", path="src/app/store.py", project=project)["total"] >= 2
    assert asked.call("GET", "/api/v1/outline", path="nope.py", project=project).status_code == 404
    assert asked.call("GET", "/api/v1/history", path="src", project=project).json()["code"] == "not_found"  # no repository


def test_a_memory_is_saved_shown_changed_linked_rated_and_forgotten(fresh: Asked) -> None:
    saved = fresh.api("POST", "/memories", {"text": "Budget for shoes: max 150€"})
    one = saved["memory"]["id"]
    assert saved["memory"]["value"] == "≤ 150" and not saved["known"]
    other = fresh.api("POST", "/memories", {"text": "I run on Sundays", "topics": ["Fitness"], "pinned": True})["memory"]
    assert other["pinned"] and other["topics"] == ["Fitness"]
    assert fresh.api("POST", f"/memories/{one}/links", {"other": other["id"], "kind": "part_of"})["kind"] == "part_of"
    shown = fresh.api("GET", f"/memories/{one[:8]}")
    assert shown["links"][0]["memory"]["id"] == other["id"]
    assert fresh.api("PATCH", f"/memories/{one}", {"text": "Budget for shoes: max 180€"})["memory"]["value"] == "≤ 180"
    assert fresh.api("GET", f"/memories/{one}/versions")["items"][0]["before"]["text"] == "Budget for shoes: max 150€"
    assert fresh.api("PATCH", f"/memories/{one}", {"silent": True})["memory"]["never_recall"]
    assert fresh.api("POST", f"/memories/{one}/verify", {}, token=fresh.token(FIRST, may="admin", private=True))["verified"]
    assert fresh.api("POST", f"/memories/{one}/feedback", {"useful": True})["useful"] == 1
    assert fresh.api("DELETE", f"/memories/{one}/links", other=other["id"])["count"] == 1
    assert fresh.api("DELETE", f"/memories/{one}")["state"] in ("gone", "pending")
    assert fresh.call("GET", f"/api/v1/memories/{one}").status_code == 404
    found = fresh.api("POST", "/search", {"query": "when do I run", "memories_only": True})
    assert [hit["path"] for hit in found["hits"]] == [f"memory:{other['id']}"]


def test_a_long_list_comes_in_pages(fresh: Asked) -> None:
    for number in range(7):
        fresh.api("POST", "/memories", {"text": f"I have visited the island number {number} of Tonga"})
    seen, cursor = [], None
    while True:
        page = fresh.api("GET", "/memories", limit=3, **({"cursor": cursor} if cursor else {}))
        assert page["total"] == 7
        seen += [one["id"] for one in page["items"]]
        if (cursor := page.get("next")) is None:
            break
    assert len(seen) == len(set(seen)) == 7
    assert fresh.call("GET", "/api/v1/memories", cursor="%%%").status_code == 400
    assert fresh.call("GET", "/api/v1/memories", cursor="bm9wZQ").status_code == 400


def test_topics_are_added_renamed_merged_and_deleted(fresh: Asked) -> None:
    fresh.api("POST", "/topics", {"name": "Sailing", "below": "Leisure"})
    assert {"name": "Sailing", "below": "Leisure", "memories": 0} in fresh.api("GET", "/topics")["items"]
    assert fresh.api("PATCH", "/topics/Sailing", {"new": "Boats & more / less"})["count"] == 0
    assert fresh.call("PATCH", "/api/v1/topics/Sailing", {"new": "x"}).status_code == 404
    assert fresh.call("PATCH", "/api/v1/topics/Leisure", {}).status_code == 400
    assert fresh.call("POST", "/api/v1/topics", {"name": "Health"}).status_code == 409


def test_a_chat_is_stored_found_and_erased(fresh: Asked) -> None:
    messages = [
        {"author": "Ana", "text": "Where do you moor the boat?"},
        {"author": "Bo", "text": "At the old harbor in Kiel."},
    ]
    assert fresh.api("POST", "/chats", {"name": "talk-1", "title": "Boat", "messages": messages})["written"] == 1
    assert fresh.api("POST", "/chats", {"name": "talk-1", "title": "Boat", "messages": messages})["unchanged"] == 1
    name = fresh.api("GET", "/chats")["items"][0]["uri"]
    found = fresh.api("POST", "/search", {"query": "where is the boat moored"})
    assert any("Kiel" in hit["text"] for hit in found["hits"])
    assert fresh.api("DELETE", "/chats", name=name)["state"] in ("gone", "pending")
    assert not fresh.api("GET", "/chats")["items"]


def test_a_pushed_document_is_scrubbed_found_kept_by_a_scan_and_erased(fresh: Asked) -> None:
    secret = "hunter2-tz9Kq84"
    text = f'# Rollout\n\nThe zanzibar rollout starts in March.\n\npassword = "{secret}"\n'
    made = fresh.api("POST", "/documents", {"path": "notes/rollout.md", "text": text, "project": str(fresh.project)})
    assert made["chunks"] == 1 and made["embeddings"] == 1 and made["secrets_scrubbed"] == 1
    query = {"query": "when does the zanzibar rollout start", "project": str(fresh.project)}
    assert fresh.api("POST", "/search", query)["hits"][0]["path"] == "notes/rollout.md"
    fresh.service.ask(str(fresh.project), ()).index()
    hit = fresh.api("POST", "/search", query)["hits"][0]
    assert hit["path"] == "notes/rollout.md" and secret not in json.dumps(hit)
    assert [one["path"] for one in fresh.api("GET", "/documents", project=str(fresh.project))["items"]] == ["notes/rollout.md"]
    changed = {"path": "notes/rollout.md", "text": "The quokka rollout starts in May.", "project": str(fresh.project)}
    fresh.api("POST", "/documents", changed)
    assert "quokka" in fresh.api("POST", "/search", query | {"query": "quokka rollout"})["hits"][0]["text"]
    assert fresh.api("DELETE", "/documents", path="notes/rollout.md", project=str(fresh.project))["count"] == 1
    assert fresh.call("DELETE", "/api/v1/documents", path="notes/rollout.md", project=str(fresh.project)).status_code == 404
    assert not fresh.api("POST", "/search", query | {"query": "quokka rollout"})["hits"]
    for path in Path(fresh.service.home.path).glob("record.db*"):
        assert b"quokka" not in path.read_bytes()


def test_jobs_are_started_listed_shown_and_cancelled(fresh: Asked) -> None:
    project = str(fresh.project)
    assert fresh.call("POST", "/api/v1/jobs", {"kind": "rebuild", "project": project}).status_code == 400
    dry = fresh.api("POST", "/jobs", {"kind": "rebuild", "dry_run": True, "project": project})
    assert dry["job"] is None and dry["estimated_files"] >= 2 and "python" in dry["by_language"]
    started = fresh.api("POST", "/jobs", {"kind": "refresh", "paths": ["src"], "project": project})["job"]
    assert started["state"] == "queued"
    assert fresh.api("GET", "/jobs", project=project)["items"][0]["id"] == started["id"]
    assert fresh.api("GET", f"/jobs/{started['id']}", project=project)["job"]["kind"] == "refresh"
    assert fresh.api("DELETE", f"/jobs/{started['id']}", project=project)["state"] == "cancelled"
    events = fresh.call("GET", f"/api/v1/jobs/{started['id']}/events", project=project)
    assert events.headers["content-type"].startswith("text/event-stream") and "event: end" in events.text
    assert fresh.call("POST", "/api/v1/jobs", {"kind": "refresh", "paths": ["../x"], "project": project}).status_code == 400
    assert fresh.call("GET", "/api/v1/jobs/nope/events", project=project).status_code == 404


def test_state_settings_projects_and_tokens(fresh: Asked) -> None:
    project = str(fresh.project)
    assert fresh.api("GET", "/status", project=project)["files"] >= 2
    assert fresh.api("GET", "/stats", project=project)["counts"]["chunks"] > 0
    assert fresh.api("GET", "/failures", project=project)["total"] == 0
    assert fresh.api("GET", "/secrets", project=project)["total"] == 0
    assert fresh.api("GET", "/config")["settings"]["engine.port"] == {"value": 8710, "origin": "default"}
    known = fresh.api("GET", "/projects")["items"][0]
    by_id = fresh.api("POST", "/search", {"query": "load user", "project": known["id"]})
    assert by_id["hits"][0]["path"] == "src/app/store.py"
    made = fresh.api("POST", "/tokens", {"name": "ana", "reader": "ana", "may": "write", "expires": "2w"})
    assert fresh.call("GET", "/api/v1/projects", token=made["token"]).json()["total"] == 0
    assert {"ana"} <= {one["name"] for one in fresh.api("GET", "/tokens")["items"]}
    fresh.api("DELETE", "/tokens/ana")
    assert fresh.call("GET", "/api/v1/projects", token=made["token"]).status_code == 401
    assert fresh.api("DELETE", f"/projects/{known['id']}")["count"] == 1
    assert fresh.api("GET", "/projects")["total"] == 0


def test_a_project_is_added_only_below_a_configured_root(fresh: Asked, tmp_path: Path) -> None:
    other = tmp_path / "code" / "other"
    other.mkdir(parents=True)
    (other / "a.py").write_text("def apple():\n    return 1\n")
    assert fresh.call("POST", "/api/v1/projects", {"path": str(other)}).status_code == 403
    (fresh.service.home.path / "config.toml").write_text(f'[context.engine]\nroots = ["{tmp_path / "code"}"]\n')
    for outside in (str(tmp_path / "codex"), f"{tmp_path}/code/../project", "code/other", "/etc"):
        assert fresh.call("POST", "/api/v1/projects", {"path": outside}).status_code == 403, outside
    (tmp_path / "code" / "link").symlink_to(fresh.project)
    assert fresh.call("POST", "/api/v1/projects", {"path": str(tmp_path / "code" / "link")}).status_code == 403
    assert fresh.api("POST", "/projects", {"path": str(other)})["name"] == "other"


def test_the_flat_routes_have_the_fields_of_their_clients(fresh: Asked) -> None:
    key = {"X-API-Key": fresh.token("agent", may="write")}
    added = fresh.call(
        "POST", "/add_context", {"file_path": "docs/a.md", "content": "# Jwt\n\nTokens expire."}, token=None, headers=key
    )
    assert set(added.json()) == {"file_id", "chunks", "embeddings"} and added.json()["chunks"] == 1
    asked = {"q": "when do tokens expire", "k": 2, "filters": {"lang": "markdown", "path_glob": "docs/*"}, "mmr_lambda": 0.5}
    found = fresh.call("POST", "/query_context", asked, token=None, headers=key).json()
    assert found["total"] == 1 and found["hits"][0]["filePath"] == "docs/a.md" and found["q_embed_model"]
    stats = fresh.call("GET", "/stats", token=None, headers=key).json()
    assert stats["storage"]["totalFiles"] >= 2 and stats["enabled"] and stats["mode"] == "hybrid"
    assert fresh.call("POST", "/delete_context", {"file_path": "docs/a.md"}, token=None, headers=key).json() == {
        "deleted": True
    }
    assert fresh.call("POST", "/delete_context", {"file_path": "docs/a.md"}, token=None, headers=key).json() == {
        "deleted": False
    }
    for path in ("../x.md", "/etc/passwd", "a/../../b.md"):
        assert (
            fresh.call("POST", "/add_context", {"file_path": path, "content": "x"}, token=None, headers=key).status_code == 400
        )


def test_a_file_is_read_again_only_by_its_own_path(fresh: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty path queued a refresh of the whole project, and the caller waited for it."""
    monkeypatch.setattr(engine, "_SECONDS", 0.2)
    for path in ("", ".", "src", "src/"):
        answer = fresh.call("POST", "/add_context", {"file_path": path})
        assert answer.status_code == 400 and "not a file" in answer.text, (path, answer.text)
    assert not fresh.api("GET", "/jobs", project=str(fresh.project))["items"][1:], "nothing was queued"
    late = fresh.call("POST", "/add_context", {"file_path": "src/app/store.py"})
    assert late.status_code == 504 and "later" in late.json()["detail"], "nobody runs jobs here"


def test_requests_that_wait_for_a_job_do_not_delay_queries(fresh: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_SECONDS", 4.0)
    fresh.token("owner", may="admin", private=True)
    one = {"file_path": "src/app/store.py"}
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "add_context", "params": one}]
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(fresh.call, "POST", "/add_context", one) for _ in range(4)]
        waiting += [threads.submit(fresh.call, "POST", "/rpc", batch) for _ in range(4)]
        time.sleep(0.5)
        began = time.monotonic()
        assert fresh.api("POST", "/search", {"query": "load user", "project": str(fresh.project)})["hits"]
        assert time.monotonic() - began < 2 and not any(one.done() for one in waiting)


def test_json_rpc_has_every_route_as_a_method_batches_and_notifications(asked: Asked) -> None:
    project = str(asked.project)

    def rpc(body: object) -> object:
        answer = asked.call("POST", "/rpc", body)
        return answer.json() if answer.content else answer.status_code

    one = rpc({"jsonrpc": "2.0", "id": "a", "method": "symbols", "params": {"name": "load_user", "project": project}})
    assert one["id"] == "a" and one["result"]["total"] == 1  # type: ignore[index]
    batch = rpc([
        {"jsonrpc": "2.0", "id": 1, "method": "nope"}, {"jsonrpc": "2.0", "method": "topics"}, {"id": 2},
        {"jsonrpc": "2.0", "id": 3, "method": "symbols", "params": {"nam": "x"}},
        {"jsonrpc": "2.0", "id": 4, "method": "memory", "params": {"memory": "abcdef"}},
    ])  # fmt: skip
    assert [(one["id"], one["error"]["code"]) for one in batch] == [(1, -32601), (None, -32600), (3, -32602), (4, -32001)]  # type: ignore[union-attr,index]
    assert rpc({"jsonrpc": "2.0", "method": "topics"}) == 204
    assert rpc([])["error"]["code"] == -32600 and rpc([{}] * 51)["error"]["code"] == -32600  # type: ignore[index]
    refused = asked.call("POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "tokens"}, token=asked.token("r")).json()
    assert refused["error"]["data"]["code"] == "forbidden"


def test_a_refused_method_names_all_that_are_possible(asked: Asked) -> None:
    for path in sorted({route.path for route in ROUTES}):
        possible = {route.method for route in ROUTES if route.path == path}
        refused = next(method for method in ("PUT", "PATCH", "DELETE") if method not in possible)
        answer = asked.call(refused, path.replace("{", "").replace("}", ""), {})
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == possible, path


def test_mistakes_are_named_in_problem_documents(asked: Asked) -> None:
    answer = asked.call("POST", "/api/v1/search", {"qeury": "x", "k": "5"})
    assert (
        answer.status_code == 400
        and "did you mean query?" in answer.json()["detail"]
        and "whole number" in answer.json()["detail"]
    )
    assert asked.call("POST", "/api/v1/search", {"query": "x", "since": "yesterday"}).status_code == 400
    assert asked.call("POST", "/api/v1/search", {"query": "x", "project": "relative/path"}).status_code == 404
    assert asked.call("POST", "/api/v1/search", {"query": "x", "timeout": 0.001}).status_code in (200, 504)
    assert asked.call("GET", "/api/v1/search").status_code == 405
    token = asked.token("owner", may="admin", private=True)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for body in (b"[]", b"{", b"\xff", b'{"query": NaN}', b"[" * 100_000, b'{"query": "\\ud800"}', b"null"):
        answer = asked.client.post("/api/v1/search", content=body, headers=headers)
        assert answer.status_code in (200, 400), body[:20]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.dictionaries(
        st.sampled_from(NAMES) | st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_no_body_makes_a_route_fail(asked: Asked, values: dict[str, object]) -> None:
    for route in (route for route in ROUTES if route.has_body):
        answer = asked.call(route.method, route.path.replace("{", "").replace("}", ""), values)
        assert answer.status_code < 500, (route.name, answer.text)


@pytest.mark.parametrize("route, body", [
    ("/search", {"query": "x", "conversation": "\ud800"}), ("/search", {"query": "x", "project": "~nosuchuser/x"}),
    ("/search", {"query": "x", "project": "/\ud800"}), ("/documents", {"path": "a", "text": "b", "language": "\ud800"}),
    ("/jobs", {"kind": "refresh", "paths": ["\ud800"]}), ("/search", {"query": "x", "project": "a\0b"}),
])  # fmt: skip
def test_odd_characters_are_a_mistake_of_the_caller(asked: Asked, route: str, body: dict[str, object]) -> None:
    token = asked.token("owner", may="admin", private=True)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = asked.client.post(f"/api/v1{route}", content=json.dumps(body), headers=headers)
    assert answer.status_code in (400, 404), answer.text


def test_a_message_that_is_request_and_answer_at_once_is_an_error(asked: Asked) -> None:
    for body in (
        {"jsonrpc": "2.0", "id": 1, "result": 1, "method": "ping", "params": [1]},
        {"jsonrpc": "2.0", "id": 1, "method": 3},
    ):
        assert asked.call("POST", "/mcp", body).json()["error"]["code"] == -32600


def test_the_document_of_the_api_names_every_route_and_every_type(asked: Asked) -> None:
    made = asked.api("GET", "/openapi.json")
    assert made["openapi"] == "3.1.0"
    ids = {one["operationId"] for path in made["paths"].values() for one in path.values()}
    assert ids == {route.name for route in ROUTES}
    text = json.dumps(made)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in made["components"]["schemas"]


@pytest.mark.parametrize("route", [route for route in ROUTES if route.method == "GET"], ids=lambda route: route.name)
def test_an_answer_fits_its_schema(asked: Asked, route: object) -> None:
    from jsonschema import Draft202012Validator

    values = {"project": str(asked.project), "name": "load_user", "what": "load_user", "path": "src/app/store.py"}
    whole = document()
    operation = whole["paths"][route.path]["get"]  # type: ignore[attr-defined]
    names = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    answer = asked.call("GET", route.path, **{name: value for name, value in values.items() if name in names})  # type: ignore[attr-defined]
    code = str(answer.status_code)
    content = operation["responses"][code]["content"]
    schema = {**content[answer.headers["content-type"]]["schema"], "components": whole["components"]}
    Draft202012Validator(schema).validate(answer.json())


def test_find_searches_stored_documents_as_far_as_the_reader_may_see_them(fresh: Asked) -> None:
    project = str(fresh.project)
    fresh.service.ask(project, ()).share(["ana"])
    ana = fresh.token("ana", reader="ana")
    for path, principals, place in (("notes/a.md", ["ana"], project), ("notes/b.md", ["owner"], project), ("own.md", [], None)):
        body = {"path": path, "text": f"# {path}\n\nThe quokka() sleeps.\n", "principals": principals}
        fresh.api("POST", "/documents", body | ({"project": place} if place else {}))

    def found(token: str, **more: object) -> list[tuple[str, int]]:
        body = {"query": "quokka()", "project": project, **more}
        return [(one["path"], one["line"]) for one in fresh.api("POST", "/find", body, token=token)["matches"]]

    assert found("") == [("notes/a.md", 3), ("notes/b.md", 3), ("own.md", 3)] and found(ana) == [("notes/a.md", 3)]
    assert found("", paths=["notes/b.md"]) == [("notes/b.md", 3)] and len(found("", limit=2)) == 2


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_query_is_an_error_everywhere(asked: Asked, text: str) -> None:
    project = str(asked.project)
    for route in ("/api/v1/search", "/api/v1/context", "/api/v1/explain", "/api/v1/facets", "/query_context"):
        body = {"q" if route == "/query_context" else "query": text, "project": project}
        answer = asked.call("POST", route, body)
        assert answer.status_code == 400 and answer.json()["code"] == "invalid_input", route
        assert answer.json()["detail"] == "the query is empty; give a question, a name or a path"
    message = {"jsonrpc": "2.0", "id": 1, "method": "search", "params": {"query": text}}
    assert "the query is empty" in asked.call("POST", "/rpc", message).json()["error"]["message"]
    for tool in ("query_context", "recall"):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"query": text}}}
        result = asked.call("POST", f"/mcp?project={project}", message).json()["result"]
        assert result["isError"] and "empty" in result["content"][0]["text"], tool


def test_a_warm_service_has_loaded_the_vocabulary(fresh: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_vocabulary", tokens._Vocabulary())
    fresh.service.warm()
    assert tokens._vocabulary._library is not None


def test_a_document_for_nobody_else_is_for_its_author_alone(fresh: Asked) -> None:
    project = str(fresh.project)
    fresh.service.ask(project, ()).share(["ana"])
    ana = fresh.token("ana", reader="ana")
    for path, more in (("mine.md", {"principals": []}), ("ours.md", {})):
        fresh.api("POST", "/documents", {"path": path, "text": "The quokka sleeps.", "project": project, **more})
    assert [one["path"] for one in fresh.api("GET", "/documents", project=project, token=ana)["items"]] == ["ours.md"]


def test_a_folder_that_is_no_project_gives_one_warning(asked: Asked, tmp_path: Path) -> None:
    for route in ("search", "context"):
        found = asked.api("POST", f"/{route}", {"query": "tea", "project": str(tmp_path)})
        warned = [one for one in found["warnings"] if "project" in one]
        assert warned == ["This project is not indexed yet. Run `contextd index`."]
    assert any("no project is named" in one for one in asked.api("POST", "/search", {"query": "tea"})["warnings"])
