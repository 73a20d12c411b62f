"""What is recorded of queries, and what the reports make of it."""

from __future__ import annotations

import json
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app.metrics import metrics_of
from contextd.app.prompts import Given, for_prompt
from contextd.app.session import Session
from contextd.app.tasks import Task
from contextd.errors import InvalidInput
from contextd.settings.defaults import MetricsSettings
from contextd.stores.usage_files import UsageFiles
from contextd.values.usage import AgentUsage, QueryUsage, unrecorded

DAY = 86_400_000_000


def rows_of(session: Session) -> list[QueryUsage | AgentUsage]:
    return list(session.home.usage.log.rows())


def with_metrics(session: Session, **settings: object) -> Session:
    chosen = replace(session.settings, metrics=MetricsSettings(**settings))  # type: ignore[arg-type]
    return replace(session, setup=replace(session.setup, settings=chosen))


def test_every_kind_of_query_leaves_one_row(session: Session) -> None:
    session.search("load_user")
    session.context("how is a user loaded", budget=300)
    session.recall("what do I drink")
    session.facets("Help me find shoes")
    session.task(Task("Load users faster", id="T-1"))
    rows = rows_of(session)
    assert [row.operation for row in rows] == ["search", "context", "recall", "facets", "task"]
    assert [row.task for row in rows] == ["", "", "", "", "T-1"]


def test_a_row_has_tokens_times_retrievers_and_no_text(session: Session) -> None:
    answer = session.context("how is a user loaded", budget=300)
    (row,) = rows_of(session)
    assert isinstance(row, QueryUsage) and row.tokens == answer.tokens and row.budget == 300
    assert row.hits == len(answer.hits) > 0 and sum(row.languages.values()) == row.hits
    assert row.milliseconds >= sum(row.steps.values()) > 0 and {"retrieve", "pack"} <= set(row.steps)
    assert row.survived["full_text"] >= 1 and all(row.survived[name] <= row.proposed[name] for name in row.proposed)
    (path,) = (session.home.path / "usage").iterdir()
    assert row.text == "" and "user" not in path.read_text()


def test_file_tokens_are_those_of_the_quoted_files(session: Session, project: Path) -> None:
    answer = session.context("how is a user loaded", budget=300)
    (row,) = rows_of(session)
    files = {hit.chunk.uri for hit in answer.hits}
    true = sum(session.count_tokens((project / uri).read_text()) for uri in files)
    assert isinstance(row, QueryUsage) and row.file_tokens == pytest.approx(true, rel=0.2)


def test_an_answer_from_the_cache_is_recorded_as_such(session: Session) -> None:
    session.search("load_user")
    session.search("load_user")
    first, second = rows_of(session)
    assert isinstance(first, QueryUsage) and isinstance(second, QueryUsage)
    assert (first.cache, second.cache) == ("", "exact") and first.steps and not second.steps


def test_nothing_is_recorded_when_it_is_switched_off(session: Session) -> None:
    with_metrics(session, enabled=False).search("load_user")
    assert rows_of(session) == [] and not (session.home.path / "usage").exists()


def test_texts_are_recorded_on_request_scrubbed_and_erased_by_forget(session: Session) -> None:
    told = with_metrics(session, log_text=True)
    told.search("why does AKIAQ4ZJ7XWV2M3TPLKD fail")
    (row,) = rows_of(session)
    assert len(list((session.home.path / "usage").iterdir())) == 2
    assert isinstance(row, QueryUsage) and row.text.startswith("why does") and "AKIA" not in row.text
    session.metrics.add("chat", notes="about the peanut")
    session.forget(session.remember("I am allergic to peanuts").memory.id)
    stored = b"".join(path.read_bytes() for path in (session.home.path / "usage").iterdir())
    assert b"why does" not in stored and b"peanut" not in stored and len(rows_of(session)) == 2


def test_forgetting_a_chat_or_a_document_erases_texts_too(session: Session) -> None:
    told = with_metrics(session, log_text=True)
    told.search("the secret plan")
    session.documents().add("plan.txt", "We leave at dawn.")
    session.documents().delete("plan.txt")
    assert all(not row.text for row in rows_of(session) if isinstance(row, QueryUsage))


def test_the_log_is_for_its_owner_alone(session: Session) -> None:
    session.search("load_user")
    folder = session.home.path / "usage"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())


def test_a_line_that_was_cut_off_costs_itself_alone(tmp_path: Path) -> None:
    log, now = UsageFiles(tmp_path), time.time_ns() // 1000
    log.add(QueryUsage(now, "search", "owner"))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"kind":"query","at":1')
    log.add(QueryUsage(now + 1, "context", "owner"))
    assert [row.operation for row in log.rows()] == ["search", "context"]


def test_rows_of_another_version_are_read_as_far_as_they_are_known(tmp_path: Path) -> None:
    row = {"kind": "query", "at": 1, "operation": "search", "reader": "owner", "new": 5}
    (tmp_path / "1970-01-01.jsonl").write_text(f"{json.dumps(row)}\n[]\n{json.dumps({'kind': 'other'})}\n")
    assert [one.operation for one in UsageFiles(tmp_path).rows()] == ["search"]


def test_a_file_that_cannot_be_deleted_costs_no_answer(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.home.usage.log.add(QueryUsage(time.time_ns() // 1000 - 100 * DAY, "search", "owner"))

    def denied(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", denied)
    assert session.search("load_user").hits


def test_of_several_queries_for_one_purpose_the_last_is_recorded(session: Session) -> None:
    given = Given()
    for _ in range(2):
        for_prompt(session, "how are users loaded from the store", "talk", given)
    assert [row.operation for row in rows_of(session)] == ["hook", "hook"]


def test_nobody_received_what_is_measured_or_explained(session: Session) -> None:
    with unrecorded():
        session.context("how is a user loaded")
    session.preview("how is a user loaded")
    assert [row.operation for row in rows_of(session)] == ["explain"] and session.metrics.report().saved.contexts == 0


def test_old_days_are_deleted(tmp_path: Path) -> None:
    log, now = UsageFiles(tmp_path), time.time_ns() // 1000
    for days in (0, 89, 91, 400):
        log.add(QueryUsage(now - days * DAY, "search", "owner"))
    log.keep(90)
    assert sorted(round((now - row.at) / DAY) for row in log.rows()) == [0, 89]


def test_a_query_removes_rows_that_are_too_old(session: Session) -> None:
    session.home.usage.log.add(QueryUsage(time.time_ns() // 1000 - 100 * DAY, "search", "owner"))
    session.search("load_user")
    assert len(rows_of(session)) == 1


def test_a_log_that_cannot_be_written_costs_no_answer(session: Session) -> None:
    (session.home.path / "usage").write_text("a file in the way")
    assert session.search("load_user").hits and rows_of(session) == []


def test_a_report_shows_a_reader_their_own_queries(session: Session) -> None:
    session.search("load_user")
    ana = session.as_reader("ana")
    assert ana.metrics.report().queries == 0 and session.metrics.report().queries == 1
    assert ana.metrics.report(all_readers=True).queries == 1


def test_a_report_sums_up_tokens_days_tasks_and_retrievers() -> None:
    rows = [
        QueryUsage(1 * DAY, "context", "owner", task="T", milliseconds=10, tokens=100, file_tokens=1000, proposed={"symbol": 4}, survived={"symbol": 1}),
        QueryUsage(2 * DAY, "task", "owner", cache="exact", milliseconds=30, tokens=300, file_tokens=1000, proposed={"symbol": 4}, survived={"symbol": 3}),
        QueryUsage(2 * DAY, "search", "owner", milliseconds=5),
    ]  # fmt: skip
    found = metrics_of(rows, 0)
    assert found.queries == 3 and found.cache == {"none": 2, "exact": 1} and found.operations["search"] == 1
    assert (found.saved.contexts, found.saved.tokens, found.saved.file_tokens, found.saved.share) == (2, 400, 2000, 0.8)
    assert [(day.day, day.queries, day.saved.share) for day in found.days] == [("1970-01-02", 1, 0.9), ("1970-01-03", 2, 0.7)]
    assert (found.retrievers["symbol"].proposed, found.retrievers["symbol"].survived, found.retrievers["symbol"].share) == (
        8,
        4,
        0.5,
    )
    assert found.tasks["T"].share == 0.9 and found.times["task"].p95 == 30


def test_what_agents_report_is_averaged_with_and_without_context(session: Session) -> None:
    session.metrics.add("chat", agent="claude-code", tokens_in=700, tokens_out=100, with_context=True)
    session.metrics.add("chat", agent="claude-code", tokens_in=5000, tokens_out=1000, with_context=False)
    (agent,) = session.metrics.report().agents
    assert (agent.agent, agent.tokens_with, agent.tokens_without) == ("claude-code", 800, 6000)
    with pytest.raises(InvalidInput, match="tokens_in"):
        session.metrics.add("chat", tokens_in=-1)
    with pytest.raises(InvalidInput, match="days"):
        session.metrics.report(0)
    with pytest.raises(InvalidInput, match="operation"):
        session.metrics.add("")


def test_reported_usage_is_scrubbed_and_not_recorded_when_it_is_switched_off(session: Session) -> None:
    session.metrics.add("chat", agent="AKIAQ4ZJ7XWV2M3TPLKD", notes="key AKIAQ4ZJ7XWV2M3TPLKD")
    with_metrics(session, enabled=False).metrics.add("chat")
    stored = b"".join(path.read_bytes() for path in (session.home.path / "usage").iterdir())
    assert b"AKIA" not in stored and len(rows_of(session)) == 1
