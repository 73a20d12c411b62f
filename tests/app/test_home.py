"""One Home for many sessions: what is shared, what is not, and many threads at the same time."""

from __future__ import annotations

import random
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import contextd
from contextd.app.assemble import open_home, open_session
from contextd.app.home import OpenStores
from contextd.app.session import Session
from contextd.errors import InvalidInput
from tests.faults.test_sweeps import keep

READERS = [f"reader{number}" for number in range(8)]
linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors by /proc")
QUESTIONS = [
    "where is a user loaded",
    "load_user",
    "how long is a token valid",
    "what was told about the harbor",
    "berth number",
]


def test_sessions_of_one_data_directory_share_its_record_and_indexes(session: Session, home: Path, project: Path) -> None:
    other = open_session(project, home=home, environment={}, reader="ana")
    assert other.home is session.home is open_home(home)
    assert other.project is not None and session.project is not None and other.project.store is session.project.store
    assert other.reader.name == "ana" and session.reader.name == "owner"


def test_a_session_for_another_reader_is_made_for_nothing_and_has_that_readers_rights(session: Session) -> None:
    session.remember("the spare key is under the third stone")
    ana = session.as_reader("ana")
    assert ana.home is session.home and not ana.recall("where is the spare key", min_score=0).hits
    assert session.recall("where is the spare key", min_score=0).hits
    for name in ("", "everyone", "a\nb"):
        with pytest.raises(InvalidInput):
            session.as_reader(name)


def test_a_session_cannot_be_changed(session: Session) -> None:
    with pytest.raises(FrozenInstanceError):
        session.reader = contextd.Reader("ana")  # type: ignore[misc]


def test_the_old_name_of_a_session_is_still_there() -> None:
    assert contextd.Engine is contextd.Session


def test_a_session_whose_home_was_closed_goes_on(session: Session, home: Path) -> None:
    before = [hit.chunk.uri for hit in session.search("load_user").hits]
    session.close()
    assert before and [hit.chunk.uri for hit in session.search("load_user").hits] == before
    assert open_home(home) is not session.home, "whoever opens it next gets what is on disk now"


@linux
def test_a_home_whose_last_session_is_gone_holds_no_file(project: Path, home: Path) -> None:
    def databases() -> int:
        found = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
        return sum(".db" in name and name.startswith(str(home)) for name in found)

    session = open_session(project, home=home, environment={})
    session.remember("the boat is green")
    assert databases()
    del session
    assert not databases()


def test_what_is_registered_by_one_session_is_known_to_the_others(session: Session) -> None:
    session.register_template("plain", "{{content}}")
    assert session.as_reader("owner").context("load_user", template="plain").text


def test_the_index_that_was_used_longest_ago_is_closed_first(tmp_path: Path) -> None:
    closed: list[str] = []

    class Store:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)

    stores = OpenStores(most=2)

    def get(name: str) -> object:
        (tmp_path / name).mkdir(exist_ok=True)
        return stores.get(tmp_path / name, lambda: (Store(name), ""))[0]  # type: ignore[arg-type, return-value]

    first = get("a")
    get("b")
    assert get("a") is first and not closed
    get("c")
    assert closed == ["b"] and get("a") is first


# Many threads


def asked(session: Session, question: str) -> tuple[tuple[str, float], ...]:
    """What a reader gets, as far as it must be the same in every thread."""
    hits = session.search(question, min_score=0).hits
    return tuple((hit.chunk.uri, round(hit.score, 6)) for hit in hits)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def resident() -> int:
    """Megabytes of this process."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


class Writer:
    """Turns a file of the project back and forth, and keeps and forgets facts that nobody else may read."""

    STATES = ("def berth():\n    return 7\n", "def berth():\n    return 8\n\n\ndef mooring():\n    return 'harbor'\n")

    def __init__(self, session: Session, root: Path) -> None:
        self.session, self.file, self.writes = session, root / "berth.py", 0

    def turn(self) -> None:
        """The next state of the project."""
        self.file.write_text(self.STATES[self.writes % 2])
        self.session.index()
        self.session.forget(self.session.remember(f"private note {self.writes} about the harbor").memory.id)
        self.writes += 1


def many_threads(session: Session, root: Path, seconds: float) -> dict[str, object]:
    """16 threads ask as 8 readers while one writes; every answer is one of those that a single thread gets."""
    session.share(READERS)
    for name in READERS:
        session.as_reader(name).remember(f"the berth number of {name} is {len(name)}{name[-1]}")
    writer, expected = Writer(session, root), {(name, question): set() for name in READERS for question in QUESTIONS}
    for _ in Writer.STATES:
        writer.turn()
        for name, question in expected:
            expected[name, question].add(asked(session.as_reader(name), question))
    files, size = open_files(), resident()
    end, counts, failures = time.monotonic() + seconds, [0] * 16, list[str]()

    def read(number: int) -> None:
        choice = random.Random(number)
        while time.monotonic() < end and not failures:
            name, question = choice.choice(READERS), choice.choice(QUESTIONS)
            try:
                found = asked(session.as_reader(name), question)
                if found not in expected[name, question]:
                    failures.append(f"{name} asked {question!r}: {found} is none of {expected[name, question]}")
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
            counts[number] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end and not failures:
        writer.turn()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert min(counts) > 0 and writer.writes > 2
    return {
        "answers": sum(counts),
        "writes": writer.writes - 2,
        "descriptors_more": open_files() - files,
        "megabytes_more": resident() - size,
    }


@linux
def test_sixteen_threads_get_the_answers_of_one_while_another_writes(session: Session, project: Path) -> None:
    figures = many_threads(session, project, 4.0)
    assert int(str(figures["descriptors_more"])) <= 16 * 2 * 3, figures


@linux
@pytest.mark.campaign
def test_sixteen_threads_for_a_minute(session: Session, project: Path) -> None:
    many_threads(session, project, 10.0)  # until everything is loaded once
    figures = many_threads(session, project, 60.0)
    keep("16 threads as 8 readers and a writer for 60 s", **figures)
    assert int(str(figures["descriptors_more"])) <= 8 and int(str(figures["megabytes_more"])) <= 50, figures


@linux
def test_a_further_reader_costs_less_than_a_megabyte(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"pkg/m{n}.py": f"def load_{n}(user):\n    return user + {n}\n" for n in range(500)})
    session = open_session(root, home=home, environment={})
    session.index()
    session.share(["ana", "bob"])
    assert asked(session, "load user") and asked(session.as_reader("ana"), "load user")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    bob = session.as_reader("bob")
    assert asked(bob, "load user")
    more = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    session.close()
    assert more < 1_000_000


# Deadlines


def test_a_deadline_is_kept_while_another_thread_loads_the_index(session: Session) -> None:
    session.remember("the harbor opens at six")
    assert session.project is not None
    current = session.project.store.current  # type: ignore[attr-defined]
    current.forget()
    with current._lock:  # as a thread does that reads a large base from disk
        began = time.monotonic()
        found = session.search("when does the harbor open", deadline=2, min_score=0)
        assert time.monotonic() - began < 3
    assert [hit.chunk.text for hit in found.hits] == ["the harbor opens at six"], "what could be searched"
    assert any("being loaded" in warning for warning in found.trace.warnings)


def test_a_reader_does_not_wait_for_a_thread_that_loads_what_is_newer(session: Session) -> None:
    assert session.project is not None
    session.search("load_user")
    with session.project.store.current._lock:  # type: ignore[attr-defined]
        assert session.search("load_user").hits
