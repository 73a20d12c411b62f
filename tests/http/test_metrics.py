"""Reports on usage over HTTP."""

from __future__ import annotations

import re

from tests.http.conftest import Asked, serving

SAMPLE_LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? \d+(\.\d+)?(e-?\d+)?')


def test_a_reader_sees_their_own_usage_and_an_admin_that_of_all(asked: Asked) -> None:
    ana = asked.token("ana", reader="ana", may="read")
    asked.api("POST", "/search", {"query": "load_user", "project": str(asked.project)})
    own = asked.api("GET", "/metrics")
    assert own["operations"] == {"search": 1} and own["times"]["search"]["count"] == 1
    assert asked.api("GET", "/metrics", token=ana)["queries"] == 0
    assert asked.call("GET", "/api/v1/metrics", token=ana, all_readers="true").status_code == 403
    assert asked.api("GET", "/metrics", all_readers="true")["queries"] >= 1


def test_an_agent_reports_its_tokens(asked: Asked) -> None:
    body = {"operation": "task", "agent": "codex", "task": "T-9", "tokens_in": 900, "tokens_out": 100, "with_context": False}
    assert asked.api("POST", "/usage", body) == {"count": 1}
    (agent,) = asked.api("GET", "/metrics")["agents"]
    assert agent["agent"] == "codex" and agent["tokens_without"] == 1000
    assert asked.call("POST", "/api/v1/usage", {"operation": "task", "tokens_in": -1}).status_code == 400
    reader = asked.token("only reads", may="read")
    assert asked.call("POST", "/api/v1/usage", body, token=reader).status_code == 403


def test_prometheus_reads_the_totals(asked: Asked) -> None:
    for _ in range(2):
        asked.api("POST", "/context", {"query": "how is a user loaded", "project": str(asked.project)})
    answer = asked.call("GET", "/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert all(line.startswith("# ") or SAMPLE_LINE.fullmatch(line) for line in lines)
    assert 'contextd_queries_total{operation="context",cache="none"} 1' in lines
    assert 'contextd_queries_total{operation="context",cache="exact"} 1' in lines
    assert 'contextd_query_seconds_bucket{operation="context",le="+Inf"} 2' in lines


def test_totals_of_all_readers_need_an_admin(asked: Asked) -> None:
    assert asked.call("GET", "/metrics", token=None).status_code == 401
    assert asked.call("GET", "/metrics", token=asked.token("only reads", may="read")).status_code == 403
    (project,) = asked.api("GET", "/projects")["items"]
    limited = asked.token("limited", may="admin", workspaces=[int(project["id"], 16)])
    assert asked.call("GET", "/metrics", token=limited).status_code == 403
    assert asked.call("GET", "/api/v1/metrics", token=limited, all_readers="true").status_code == 403


def test_a_token_for_one_project_sees_the_usage_of_that_project_alone(asked: Asked) -> None:
    (project,) = asked.api("GET", "/projects")["items"]
    asked.api("POST", "/search", {"query": "load_user", "project": str(asked.project)})
    asked.api("POST", "/usage", {"operation": "chat", "agent": "elsewhere"})
    before = asked.api("GET", "/metrics")
    here = asked.token("here", may="write", workspaces=[int(project["id"], 16)])
    other = asked.token("other", may="write", workspaces=[12345])
    seen = asked.api("GET", "/metrics", token=here)
    assert seen["queries"] == before["queries"] > 0 and "elsewhere" not in str(seen["agents"])
    assert asked.api("GET", "/metrics", token=other)["queries"] == 0


def test_tasks_of_private_tokens_are_shown_to_those_alone(fresh: Asked) -> None:
    tokens = {name: fresh.token(name, may="admin", private=name == "me") for name in ("me", "agent")}
    for name, token in tokens.items():
        body = {"title": "load a user", "task_id": f"{name}-1", "project": str(fresh.project)}
        fresh.api("POST", "/task", body, token=token)
    for readers in ("false", "true"):
        seen = {name: fresh.api("GET", "/metrics", token=token, all_readers=readers) for name, token in tokens.items()}
        assert set(seen["me"]["tasks"]) == {"me-1", "agent-1"} and set(seen["agent"]["tasks"]) == {"agent-1"}
        assert seen["me"]["queries"] == seen["agent"]["queries"] == 2


def test_no_secret_reaches_the_log_by_a_task_an_agent_or_a_note(fresh: Asked) -> None:
    home = fresh.service.home.path
    with (home / "config.toml").open("a") as file:
        file.write('[context.security]\nsecret_patterns = ["corp-[0-9]{8}"]\n[context.metrics]\nlog_text = true\n')
    known, own = "ghp_" + "x7Kq2LmN9pRs4TuV6wXy8ZaB1cDe3FgH5iJk", "corp-12345678"
    service, client = serving(home)
    with client:
        changed = Asked(service, client, fresh.project, {})
        where = {"project": str(fresh.project)}
        for secret in (known, own):
            changed.api("POST", "/task", {"title": f"load a user with {secret}", "task_id": secret, **where})
            changed.api("POST", "/search", {"query": f"why does {secret} fail", **where})
            changed.api("POST", "/usage", {"operation": "chat", "agent": secret, "task": secret, "notes": f"with {secret}"})
        logged = "".join(path.read_text() for path in (home / "usage").iterdir()) + str(changed.api("GET", "/metrics"))
    assert logged.count('"task"') >= 4 and "why does" in logged
    assert known not in logged and own not in logged
