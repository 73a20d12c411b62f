"""Writes that wait for another writer end when their caller's deadline passes, and change nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import apsw
import pytest

from contextd.app.assemble import open_session
from contextd.errors import TimedOut
from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.record import SqliteRecord
from contextd.values.deadline import remaining, within

LONG = 10.0  # seconds: half of what a write waits without a deadline


def test_a_memory_is_refused_in_time_while_another_process_writes(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    kept = session.remember("I live in Lisbon").memory
    other = apsw.Connection(str(home / "record.db"))
    other.execute("begin immediate")
    began = time.monotonic()
    with pytest.raises(TimedOut, match="nothing was changed"):
        session.remember("I live in Porto", deadline=0.2)
    with pytest.raises(TimedOut):
        session.forget(kept.id, deadline=0.2)
    assert time.monotonic() - began < LONG
    other.execute("rollback")
    assert [hit.chunk.text for hit in session.recall("where do I live").hits] == ["I live in Lisbon"]
    other.execute("begin immediate")
    ending = threading.Timer(1.0, lambda: other.execute("rollback"))
    ending.start()
    assert session.remember("I live in Porto").memory.text == "I live in Porto", "without a deadline the connection waits"
    ending.join()


def test_a_memory_that_is_erased_is_not_said_to_be_unchanged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process begins to write behind the transaction that erases, before the copies are wiped."""
    session = open_session(None, home=home, environment={})
    kept = session.remember("I live in Lisbon").memory
    other, wipe = apsw.Connection(str(home / "record.db")), Database.wipe

    def wiped_late(self: Database) -> bool:
        other.execute("begin immediate")
        return wipe(self)

    monkeypatch.setattr(Database, "wipe", wiped_late)
    began = time.monotonic()
    assert session.forget(kept.id, deadline=0.3) == "pending"
    assert time.monotonic() - began < LONG
    monkeypatch.setattr(Database, "wipe", wipe)
    other.execute("rollback")
    assert session.recall("where do I live").hits == []
    session.close()
    assert open_session(None, home=home, environment={}).recall("where do I live").hits == []
    assert b"Lisbon" not in (home / "record.db").read_bytes()


def test_a_memory_is_refused_in_time_while_another_thread_writes(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    session.remember("I live in Lisbon")
    held, over = threading.Event(), threading.Event()
    record = session.home.record
    assert isinstance(record, SqliteRecord)

    def write() -> None:
        record.database.transact(lambda _: (held.set(), over.wait(30)))

    writer = threading.Thread(target=write)
    writer.start()
    assert held.wait(10)
    began = time.monotonic()
    with pytest.raises(TimedOut):
        session.remember("I live in Porto", deadline=0.2)
    assert time.monotonic() - began < LONG
    over.set()
    writer.join()


def test_the_earlier_of_two_deadlines_holds() -> None:
    assert remaining() is None
    with within(100), within(None):
        outer = remaining()
        assert outer is not None and outer > 50
        with within(0.5):
            assert (remaining() or 1) <= 0.5
            with within(1000):
                assert (remaining() or 1) <= 0.5
        assert (remaining() or 0) > 50
    assert remaining() is None
