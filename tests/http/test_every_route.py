"""Tokens that have ended, readers and projects that are not the caller's, and paths that lead elsewhere: every route is tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.surfaces.http.api import Api
from contextd.surfaces.http.guard import OPEN
from contextd.surfaces.http.handlers import engine
from contextd.surfaces.wire.convert import schema
from contextd.surfaces.wire.routes import ROUTES, Route
from tests.conftest import SAMPLE, new_home, written
from tests.http.conftest import Asked, serving
from tests.http.test_guard import EVERY

# Values of required fields, so that a request is refused for the token and not for its form.
VALUES: dict[str, Any] = {
    "values": ["x"], "key": "identity.name", "query": "load user", "q": "load user", "title": "Delete users", "prompt": "how are users loaded", "directory": "/", "name": "x", "what": "x",
    "path": "src/app/store.py", "line": 1, "text": "x", "memory": "abcdef12", "other": "abcdef12", "kind": "index", "useful": True, "job": "abcdef12",
    "id": "0123456789abcdef", "file_path": "src/app/store.py", "content": "x", "messages": [{"author": "Ana", "text": "x"}], "new": "y",
}  # fmt: skip
OF_PROJECTS = [route for route in ROUTES if "project" in schema(route.request)["properties"] and route.name not in ("rebuild",)]


def arguments(route: Route, **more: Any) -> dict[str, Any]:
    """A valid request of a route."""
    known = schema(route.request)["properties"]
    wanted = {**{name: VALUES.get(name, "x") for name in schema(route.request)["required"]}, **more}
    if "in_project" in known:
        wanted["in_project"] = True
    return {name: value for name, value in wanted.items() if name in known}


def asked_of(asked: Asked, route: Route, token: str, values: dict[str, Any]) -> Any:
    """The answer of a route."""
    path = route.path
    for name in [part for part in values if f"{{{part}}}" in path]:
        path = path.replace(f"{{{name}}}", str(values.pop(name)))
    if route.has_body:
        return asked.call(route.method, path, values, token=token)
    return asked.call(route.method, path, token=token, **values)


def test_every_route_of_the_application_is_in_the_tables(asked: Asked) -> None:
    """A new route is tried with wrong hosts, origins and tokens only if it stands there."""
    there = {path.replace("{", "").replace("}", "") for _, path in EVERY} | {"/api/v1/jobs/job/events"}
    assert {one.path.replace("{", "").replace("}", "") for one in Api(asked.service).app().routes} <= there  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[tuple[Asked, dict[str, str]]]:
    """A service with tokens of an administrator that have ended: one is expired, one revoked, one was made again."""
    folder = tmp_path_factory.mktemp("ended")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    open_session(project, home=home, environment={}).index()
    service, client = serving(home)
    with client:
        one, tokens = Asked(service, client, project, {}), service.tokens
        made = {
            "expired": replace(tokens, clock=lambda: tokens.clock() - 7_200_000_000).create("old", may="admin", expires="1h"),
            "revoked": tokens.create("gone", may="admin"),
            "made again": tokens.create("again", may="admin"),
        }
        for name in made.values():
            assert name
        assert one.call("GET", "/api/v1/projects", token=made["revoked"]).status_code == 200
        for name in ("gone", "again"):
            tokens.revoke(name)
        tokens.create("again", may="admin")
        yield one, made


@pytest.mark.parametrize("method, path", [one for one in EVERY if one[1] not in OPEN])
def test_a_token_that_has_ended_reaches_no_route(ended: tuple[Asked, dict[str, str]], method: str, path: str) -> None:
    asked, tokens = ended
    for state, token in tokens.items():
        answer = asked.call(method, path, token=token)
        assert answer.status_code == 401 and answer.json()["code"] == "unauthorized", (state, answer.text)
        keyed = asked.call(method, path, token=None, headers={"X-API-Key": token})
        assert keyed.status_code == 401, (state, keyed.text)


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[tuple[Asked, Path, dict[str, str]]]:
    """A service with two projects, and tokens that may not use the first: of another reader, and limited to the second."""
    folder = tmp_path_factory.mktemp("strangers")
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    other = written(folder / "other", {"b.py": "def banana():\n    return 2\n"})
    open_session(project, home=home, environment={}).index()
    session = open_session(other, home=home, environment={})
    session.index()
    session.share(["ana"])
    assert session.project is not None
    service, client = serving(home)
    with client:
        reader = service.tokens.create("ana", reader="ana", may="write")
        narrow = service.tokens.create("narrow", may="write", workspaces=[session.project.workspace])
        known = Asked(service, client, project, {})
        yield known, folder / "nothing", {"another reader": reader, "another project": narrow}


@pytest.mark.parametrize("route", OF_PROJECTS, ids=lambda route: route.name)
def test_a_project_of_others_is_answered_as_one_that_does_not_exist(
    strangers: tuple[Asked, Path, dict[str, str]], route: Route
) -> None:
    asked, nothing, tokens = strangers
    known = f"{next(one.workspace for one in asked.service.catalog.all() if str(asked.project) in one.roots):016x}"
    for who, token in tokens.items():
        told = set()
        for place in (str(asked.project), known, str(nothing)):
            answer = asked_of(asked, route, token, arguments(route, project=place))
            detail = answer.json().get("detail", "")
            told.add((answer.status_code, detail.replace(place, "")))
        (only,) = told
        assert only[0] == 404 or (only[0] == 403 and route.may == "admin"), (route.name, who, only)


@pytest.mark.parametrize("who", ["another reader", "another project"])
def test_a_project_of_others_does_not_exist_for_rpc_events_hooks_and_mcp(
    strangers: tuple[Asked, Path, dict[str, str]], who: str
) -> None:
    asked, nothing, tokens = strangers
    token, told = tokens[who], list[list[Any]]()
    for place in (str(asked.project), str(nothing)):
        call = {"jsonrpc": "2.0", "id": 1, "method": "search", "params": {"query": "load user", "project": place}}
        tool = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "query_context", "arguments": {"query": "load user"}},
        }
        read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "context://file/src/app/store.py"}}
        answers = [
            asked.call("POST", "/rpc", call, token=token),
            asked.call("GET", "/api/v1/jobs/abcdef12/events", token=token, project=place),
            asked.call("POST", "/api/v1/hook", {"prompt": "how are users loaded", "directory": place}, token=token),
            asked.call("POST", f"/mcp?project={place}", tool, token=token),
            asked.call("POST", "/mcp", tool, token=token, headers={"X-Contextd-Project": place}),
            asked.call("POST", f"/mcp?project={place}", read, token=token),
        ]
        texts = [(one.status_code, {**one.json(), "trace_id": ""}) for one in answers]
        told.append([(code, json.dumps(body).replace(place, "")) for code, body in texts])
        assert not any("def load_user" in one.text for one in answers)
    assert told[0] == told[1]


# M-8: what CVE-2025-53109 and 53110 were about, and more. `{outside}` and `{twin}` have a file with the word `periwinkle`.
PATHS = [
    "../outside/secret.md", "{outside}/secret.md", "file://{outside}/secret.md", "%2e%2e/outside/secret.md", "..%2foutside%2fsecret.md",
    "src/../../outside/secret.md", "{twin}/secret.md", "../projectX/secret.md", "link.md", "folder/secret.md", "src/linked/secret.md",
    "src/app/../../../outside/secret.md", "....//outside/secret.md", "..\\outside\\secret.md", "\\\\?\\{outside}\\secret.md", "/proc/self/root{outside}/secret.md",
    "link.md\0.py", "./link.md", "folder/../folder/secret.md", "src/app/store.py/../../../../outside/secret.md", "{project}/../outside/secret.md",
]  # fmt: skip


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory, weights: Path | None) -> Iterator[Asked]:
    """A project with links that lead out, beside a folder whose name begins with its own."""
    folder = tmp_path_factory.mktemp("trapped")
    secret = {"secret.md": "# Secret\n\nThe periwinkle code is plumjasper.\n"}
    written(folder / "outside", secret)
    written(folder / "projectX", secret)
    project, home = written(folder / "project", SAMPLE), new_home(folder / "home", weights)
    (project / "link.md").symlink_to(folder / "outside" / "secret.md")
    (project / "folder").symlink_to(folder / "outside")
    (project / "src" / "linked").symlink_to(folder / "outside")
    session = open_session(project, home=home, environment={})
    session.index()
    service, client = serving(home)
    with client:
        yield Asked(service, client, project, {})


@pytest.mark.parametrize("path", PATHS)
def test_M8_no_path_shows_what_is_outside(trapped: Asked, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_SECONDS", 0.05)  # nobody runs jobs here until the end
    folder, project = trapped.project.parent, str(trapped.project)
    path = path.format(outside=folder / "outside", twin=folder / "projectX", project=project)
    answers = [trapped.call("GET", f"/api/v1/{route}", project=project, path=path) for route in ("outline", "history")]
    answers.append(trapped.call("GET", "/api/v1/why", project=project, path=path, line=1))
    answers.append(trapped.call("GET", "/api/v1/impact", project=project, what=path))
    answers.append(trapped.call("POST", "/api/v1/jobs", {"kind": "refresh", "paths": [path], "project": project}))
    answers += [trapped.call("POST", "/add_context", {"file_path": path, "project": project})]
    for body in ({"paths": [path]}, {"project": path}, {"also": [path]}):
        answers.append(
            trapped.call("POST", "/api/v1/search", {"query": "periwinkle code", "min_score": 0, "project": project, **body})
        )
    answers.append(trapped.call("POST", "/api/v1/hook", {"prompt": "what is the periwinkle code", "directory": path}))
    for name, arguments in (("refresh_context", {"paths": [path]}), ("query_context", {"query": path})):
        tool = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answers.append(trapped.call("POST", f"/mcp?project={project}", tool))
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": f"context://file/{path}"}}
    answers.append(trapped.call("POST", f"/mcp?project={project}", read))
    for answer in answers:
        assert answer.status_code in (200, 400, 404, 504) and "plumjasper" not in answer.text, answer.text
    trapped.service.ask(project, ()).index()
    found = trapped.api("POST", "/search", {"query": "periwinkle code plumjasper", "min_score": 0, "project": project})
    assert "plumjasper" not in json.dumps(found["hits"])


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "a/../../x.md", "a\0b", "", "a/../..", "~/x.md", "C:\\x.md", "..\\x.md"]
)
def test_M8_a_pushed_document_has_a_path_inside(trapped: Asked, path: str) -> None:
    for body in ({"path": path, "text": "x"}, {"path": path, "text": "x", "project": str(trapped.project)}):
        answer = trapped.call("POST", "/api/v1/documents", body)
        assert answer.status_code in (200, 400), answer.text
    assert not list(trapped.project.parent.rglob("x.md")), "nothing is written to the disk"
