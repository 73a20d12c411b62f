"""An answer is given again only while nothing that it depends on has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.values.query import Narrow, Reader


def hits(session: Session) -> int:
    return session.home.answers.hits


def test_the_same_question_is_answered_from_memory_and_the_same(session: Session) -> None:
    first, before = session.context("how are users loaded", budget=200), hits(session)
    again = session.context("how  are users\nloaded", budget=200)
    assert hits(session) == before + 1 and again.text == first.text and again.hits == first.hits
    again.trace.warn("mine")
    assert "mine" not in session.context("how are users loaded", budget=200).trace.warnings
    session.context("how are users loaded", budget=200, cache=False)
    assert hits(session) == before + 2


@pytest.mark.parametrize("change", [
    lambda s: s.context("how are users loaded", budget=201), lambda s: s.context("How are users loaded", budget=200),
    lambda s: s.context("how are users loaded", budget=200, template="xml"), lambda s: s.context("how are users loaded", budget=200, k=3),
    lambda s: s.context("how are users loaded", budget=200, narrow=Narrow(paths=["src"])),
    lambda s: s.context("how are users loaded", budget=200, history=["x"]), lambda s: s.search("how are users loaded"),
    lambda s: s.as_reader("ana").context("how are users loaded", budget=200),
    lambda s: replace(s, reader=Reader("owner", frozenset({"team"}))).context("how are users loaded", budget=200),
    lambda s: replace(s, private=False).context("how are users loaded", budget=200),
    lambda s: s.context("how are users loaded", budget=200, ranker=lambda hit, now: 1.0),
])  # fmt: skip
def test_another_question_is_another_answer(session: Session, change: Callable[[Session], object]) -> None:
    session.context("how are users loaded", budget=200)
    before = hits(session)
    change(session)
    assert hits(session) == before


def test_every_kind_of_write_is_seen(session: Session, project: Path, home: Path) -> None:
    memory = session.remember("The deploy key of the users service is in the vault").memory

    def ask() -> bool:
        """Whether the answer came from memory."""
        before = hits(session)
        session.search("where is the deploy key of the users service")
        return hits(session) > before

    other = session.remember("Users are stored in Postgres").memory
    writes: list[Callable[[], object]] = [
        lambda: session.memories.mark(memory.id, pinned=True),
        lambda: session.memories.feedback(memory.id, useful=True),
        lambda: session.memories.link(memory.id, other.id),
        lambda: session.memories.add_topic("Keys"),
        lambda: session.share(["ana"]),
        lambda: (project / "src/app/more.py").write_text("def deploy_key(): ...\n") and session.index(),
        lambda: session.documents().add("a.md", "The deploy key."),
        lambda: session.forget(memory.id),
        lambda: subprocess.run(
            [sys.executable, "-m", "contextd", "remember", "--embedded", "another process"], check=True, capture_output=True,
            env={**os.environ, "CONTEXTD_HOME": str(home)},
        ),
    ]  # fmt: skip
    for number, write in enumerate(writes):
        ask()
        assert ask(), number
        write()
        assert not ask(), number


def test_a_forgotten_memory_is_not_given_from_memory(session: Session) -> None:
    memory = session.remember("My locker code is 4711").memory
    assert session.recall("what is my locker code").hits
    session.forget(memory.id)
    assert not session.recall("what is my locker code").hits


def test_changed_settings_and_staleness_are_seen(session: Session, project: Path, home: Path) -> None:
    assert not session.search("load user").trace.warnings
    (project / "src/app/store.py").write_text("def load_user(name): ...\n")
    assert any("store.py" in one for one in session.search("load user").trace.warnings), "staleness is looked at each time"
    (home / "config.toml").write_text("[context.query]\ndefault_k = 1\n")
    again = open_session(project, home=home, environment={})
    assert len(again.search("load user").hits) == 1


def semantic(session: Session, **more: object) -> Session:
    cache = replace(session.settings.cache, semantic=True, **more)  # type: ignore[arg-type]
    return replace(session, setup=replace(session.setup, settings=replace(session.settings, cache=cache)))


def test_a_rephrased_question_is_answered_from_memory_on_request_only(session: Session) -> None:
    session.search("how are users loaded")
    assert not session.search("How are the users loaded?").trace.cache
    asked = semantic(session)
    first = asked.search("how are users loaded")
    again = asked.search("How are the users loaded?")
    assert again.trace.cache == "semantic" and again.hits == first.hits and asked.home.answers.rephrased == 1
    assert not asked.search("how are users not loaded").trace.cache and not asked.search("who loads users").trace.cache


def test_C2_the_semantic_level_keeps_readers_budgets_and_writes_apart(session: Session) -> None:
    asked = semantic(session)
    asked.context("how are users loaded", budget=200)
    for other in (asked.as_reader("ana"), replace(asked, private=False)):
        assert not other.context("how are the users loaded", budget=200).trace.cache
    assert not asked.context("how are the users loaded", budget=201).trace.cache
    asked.remember("Users are loaded lazily")
    assert not asked.context("how are the users loaded", budget=200).trace.cache


def test_a_rephrased_question_must_be_near_and_recent(session: Session) -> None:
    strict = semantic(session, semantic_threshold=1.1)
    strict.search("how are users loaded")
    assert not strict.search("how are the users loaded").trace.cache
    short = semantic(session, semantic_ttl_seconds=-1)
    short.search("how are users loaded")
    assert not short.search("how are the users loaded").trace.cache


def test_the_semantic_level_does_not_prolong_the_exact_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = semantic(session)
    asked.search("how are users loaded")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 400)
    assert not asked.search("how are users loaded").trace.cache
