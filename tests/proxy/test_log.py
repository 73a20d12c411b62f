"""The interaction log: what it keeps, what it shows, and what it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.interactions import found, shown
from contextd.app.profiles import profile_service
from contextd.app.session import Session
from contextd.errors import InvalidInput, NotFound
from contextd.stores.sqlite.interactions import SqliteInteractions
from contextd.values.interaction import Interaction
from tests.conftest import Run
from tests.proxy.conftest import HELLO, Proxied
from tests.proxy.upstream import RESET, chunked, events

QUESTION = "How is a user loaded by name from the database?"


@pytest.fixture
def session(proxied: Proxied) -> Session:
    session = open_session(None, home=proxied.home, environment={})
    session.home.interactions.clear("owner")
    return session


def asked(proxied: Proxied, text: str = QUESTION, **more: str) -> Interaction:
    """Ask through the proxy, and return the entry of the log."""
    headers = {"x-contextd-project": str(proxied.project), **more}
    answer = proxied.post(body={"model": "m", "messages": [{"role": "user", "content": text}]}, headers=headers)
    return entry(proxied, answer.headers["x-contextd-trace-id"])


def entry(proxied: Proxied, number: str) -> Interaction:
    log, end = proxied.service.home.interactions, time.monotonic() + 10
    while not (known := log.get("owner", number)):
        assert time.monotonic() < end
        time.sleep(0.01)
    return known[0]


def test_an_entry_has_counts_and_places_but_no_texts(proxied: Proxied, session: Session) -> None:
    one = asked(proxied)
    assert (one.status, one.model, one.upstream, one.http_status, one.complete, one.cache) == (
        "enriched",
        "m",
        "fake",
        200,
        True,
        "",
    )
    assert one.tokens > 0 and one.total_ms >= one.enrich_ms > 0 and one.project == str(proxied.project)
    assert [piece.uri for piece in one.pieces][:1] == ["src/app/store.py"] and len(one.pieces[0].digest) == 32
    assert one.question == one.block == ""
    assert QUESTION.encode() not in (proxied.home / "log.db").read_bytes() + (proxied.home / "log.db-wal").read_bytes()
    assert asked(proxied).cache == "exact"


def test_the_block_is_made_again_if_nothing_has_changed(proxied: Proxied, session: Session) -> None:
    fact = session.remember("My favorite database is SQLite").memory
    one = asked(proxied, "Which database is my favorite, and how is a user loaded by name from the database?")
    sent = proxied.upstream.got[-1].json["messages"][0]["content"]
    here = open_session(proxied.project, home=proxied.home, environment={})
    again = shown(here, one)
    assert [piece.label for piece in one.pieces if piece.uri == f"memory:{fact.id}"] == [""]  # an attribute is text, too
    assert set(again.states) == {"unchanged"} and again.block and sent.endswith(again.block)
    session.forget(fact.id)
    one = found(session.home.interactions, "owner", one.id)
    assert all(piece.uri != f"memory:{fact.id}" for piece in one.pieces)
    profile_service(session).set("communication.tone", ["dry"])
    assert shown(here, one).block == "" or "SQLite" not in shown(here, one).block


def test_texts_are_kept_on_request_and_forgotten_with_the_fact(proxied: Proxied, session: Session) -> None:
    proxied.configure(log_text=True)
    canary = "My boat is called Quetzalcoatl the Third"
    fact = session.remember(canary).memory
    one = asked(proxied, "What is my boat called?")
    assert one.question == "What is my boat called?" and "Quetzalcoatl" in one.block
    other = asked(proxied, f"Translate: {canary}")
    session.forget(fact.id)
    for before in (one, other):
        after = entry(proxied, before.id)
        assert after.question == after.block == "" and not any("memory" in piece.uri for piece in after.pieces)
    data = b"".join(path.read_bytes() for path in proxied.home.glob("log.db*"))
    assert b"Quetzalcoatl" not in data


def test_no_key_or_token_is_in_the_log(proxied: Proxied, session: Session) -> None:
    proxied.configure(log_text=True)
    token = proxied.service.tokens.create(f"log{time.time_ns()}")
    answer = proxied.post(
        f"/t/{token}/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "My key is AKIAIOSFODNN7QWERTYU, does it work?"}]},
        headers={"authorization": "Bearer sk-canary-1234567890", "x-contextd-token": token},
    )
    entry(proxied, answer.headers["x-contextd-trace-id"])
    data = b"".join(path.read_bytes() for path in proxied.home.glob("log.db*"))
    assert not [canary for canary in (token.encode(), b"sk-canary", b"AKIAIOSFODNN7QWERTYU") if canary in data]


def test_P1_a_stream_that_was_cut_is_logged_as_incomplete(proxied: Proxied, session: Session) -> None:
    proxied.upstream.answer = lambda got: [*list(chunked(events()))[:3], RESET]
    answer = proxied.post(body={**HELLO, "stream": True})
    one = entry(proxied, answer.headers["x-contextd-trace-id"])
    assert (one.http_status, one.complete) == (200, False)


def test_an_upstream_that_cannot_be_reached_is_logged(proxied: Proxied, session: Session) -> None:
    proxied.configure(upstreams={"gone": {"url": "http://127.0.0.1:9"}})
    answer = proxied.post()
    one = entry(proxied, answer.headers["x-contextd-trace-id"])
    assert (answer.status_code, one.http_status, one.complete) == (502, 0, False)


def test_entries_expire_by_age_and_number(tmp_path: Path) -> None:
    log = SqliteInteractions(tmp_path / "log.db")
    log.expire(10, 10)
    assert not (tmp_path / "log.db").exists() and log.recent("owner", 5) == [] and log.clear("owner") == 0
    for at in range(10):
        log.add(Interaction(f"{at:016x}", at, "owner" if at % 2 else "ana", "bypassed", "e", "m", "u", False))
    log.expire(4, 4)
    assert [one.at for one in log.recent("owner", 10)] == [9, 7] and [one.at for one in log.recent("ana", 10)] == [8, 6]
    assert log.clear("ana") == 2 and not log.recent("ana", 10)
    with pytest.raises(NotFound):
        found(log, "ana", "0000")
    with pytest.raises(InvalidInput):
        found(log, "owner", "0000")


def test_a_log_that_cannot_be_written_costs_no_request(
    proxied: Proxied, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextd.errors import StorageError

    def fail(interaction: Interaction) -> None:
        raise StorageError("disk full", code="storage_full")

    monkeypatch.setattr(proxied.service.home.interactions, "add", fail)
    assert proxied.post().status_code == 200


def test_the_command_lists_shows_and_clears(
    proxied: Proxied, session: Session, contextd: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lambda *words: contextd(*words, CONTEXTD_HOME=str(proxied.home))  # noqa: E731
    one = asked(proxied)
    listed = run("log")
    assert listed.code == 0 and one.id[:8] in listed.out and "enriched" in listed.out
    told = run("log", "show", one.id[:8])
    assert told.code == 0 and "src/app/store.py" in told.out and "def load_user(name):" in told.out
    assert run("log", "show", "ffff").code == 2
    assert run("log", "clear").out.startswith("deleted ") and run("log").code == 1
