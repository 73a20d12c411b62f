"""A new fact that overtakes an older one in other words: it is contradicted, and nothing is ended for likelihood alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest

from benchmarks import changes
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.remembering.overtaken import SPACES, Told, evidence, overtaken
from contextd.stores.sqlite import memories as queries
from contextd.values.memory import Memory

TOLD = (
    "140 € a week for food shopping", "We rent in Utrecht, near the station", "My team lead is Paul", "I take 75 µg levothyroxine each morning",
    "My laptop runs Debian 12", "My brother drives a 2014 Toyota Corolla", "Piano lessons on Thursdays", "Juno goes to the Montessori school",
)  # fmt: skip


@pytest.fixture
def person(home: Path) -> Iterator[Session]:
    """Somebody who has told some facts, with all models."""
    session = open_session(None, home=home, environment={})
    session.memories.remember_all([session.memories.draft(fact) for fact in TOLD])
    yield session
    session.close()


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("Groceries got dearer, we budget 165 € a week now", TOLD[0]),
        ("We moved to Leiden in May", TOLD[1]),
        ("Ines took over from Paul as my team lead", TOLD[2]),
        ("The doctor raised my levothyroxine to 100", TOLD[3]),
        ("Debian 13 is on my laptop now", TOLD[4]),
    ],
)
def test_a_fact_is_overtaken_in_other_words(person: Session, text: str, old: str) -> None:
    done = person.remember(text)
    assert old in {one.text for one in (*done.replaced, *done.contradicts)}


@pytest.mark.parametrize("text", ["I like strong coffee", "The dentist is closed in August", "We have a cat called Bram"])
def test_what_is_about_something_else_overtakes_nothing(person: Session, text: str) -> None:
    done = person.remember(text)
    assert (done.replaced, done.contradicts) == ((), ())


def test_what_is_only_likely_ends_nothing(person: Session) -> None:
    person.remember("Ines took over from Paul as my team lead")
    assert TOLD[2] in {one.text for one in person.memories.personal_facts()}


def test_facts_of_another_reader_and_with_other_readers_are_not_compared(person: Session) -> None:
    done = person.as_reader("ana").remember("Ines took over from Paul as my team lead")
    assert done.contradicts == ()
    done = person.remember("Ines took over from Paul as my team lead", principals={"ana"})
    assert done.contradicts == ()


def test_without_a_vector_nothing_is_compared() -> None:
    new, old = (Memory("ab", 1, text, frozenset({"owner"}), "owner", 0) for text in ("Ines runs my team now", TOLD[2]))
    vectors = {f"{space}/x": np.ones(4, np.float32) for space in SPACES}
    assert overtaken(Told(new, vectors), [Told(old, vectors)]) == []
    assert overtaken(Told(new, vectors, np.ones(384, np.float32)), [Told(old, {})]) == []
    assert overtaken(Told(new, vectors, np.ones(384, np.float32)), []) == []
    nearest, rows = evidence(Told(new, vectors, np.ones(384, np.float32)), [Told(old, vectors)])
    assert nearest == [0] and np.isfinite(rows).all()


def test_vectors_of_memories_are_found_by_their_documents(person: Session) -> None:
    """Not by reading all vectors for each memory: with 500 memories that took 170 ms."""
    ids = list(person.home.record.memories.ids(person.home.personal))
    connection = apsw.Connection(str(person.home.path / "record.db"), apsw.SQLITE_OPEN_READONLY)
    steps = [row[3] for row in connection.execute(f"explain query plan {queries.VECTORS}", ("[]", 1))]
    assert any("d USING PRIMARY KEY" in step for step in steps) and not any("vector_by_seq" in step for step in steps), steps
    assert len(person.home.record.memories.vectors(person.home.personal, ids)) == len(TOLD)


def test_persons_by_another_hand_are_told_what_is_overtaken(home: Path) -> None:
    """A sample of persons that nothing was learned from: their English facts, told in sequence."""
    path = Path(__file__).parent / "items/changes_held_out.jsonl"
    english = [one for line in path.read_text("utf-8").splitlines() if (one := json.loads(line))["language"] == "en"]
    found = wrong = needed = 0
    for person in english[:3]:
        for then in person["then"]:
            seen = changes.outcome(person["facts"], then["text"])
            needed += len(then["ends"])
            found += len(set(then["ends"]) & (seen.ended | seen.against))
            wrong += bool((seen.ended | seen.against) - set(then["ends"]) - set(then["partly"]))
    assert found >= 0.45 * needed and wrong <= 4, (found, needed, wrong)


def test_what_did_not_happen_overtakes_nothing(person: Session) -> None:
    done = person.remember("we almost moved to Metz in 2014")
    assert (done.replaced, done.contradicts) == ((), ())


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Debian 13 is on my laptop now", "What does my laptop run?"),
        ("Groceries got dearer, we budget 165 € a week now", "What is our weekly food budget?"),
        ("Ines took over from Paul as my team lead", "Who leads my team?"),
    ],
)
def test_an_answer_has_the_newer_fact_before_the_one_that_it_contradicts(person: Session, text: str, question: str) -> None:
    old = next(iter(person.remember(text).contradicts)).text
    told = [hit.chunk.text for hit in person.facets(question).hits]
    assert text in told and (old not in told or told.index(text) < told.index(old)), told


def test_what_a_program_may_not_recall_it_is_not_told_as_contradicted(person: Session) -> None:
    salary = person.remember("My salary is 5200 € a month").memory
    person.memories.mark(salary.id, silent=True)
    said = replace(person, private=False).remember("My salary went up to 5300 € a month", source="some-agent")
    assert salary.id not in {one.id for one in said.contradicts}


def test_another_model_than_before_stops_no_saving(person: Session) -> None:
    old = Memory("ab", 1, TOLD[2], frozenset({"owner"}), "owner", 0)
    new = replace(old, id="cd", text="Ines took over from Paul as my team lead")
    before = {f"{space}/old/8": np.ones(8, np.float32) for space in SPACES}
    now = {f"{space}/new/4": np.ones(4, np.float32) for space in SPACES}
    assert overtaken(Told(new, now, np.ones(384, np.float32)), [Told(old, before)]) == []
    assert overtaken(Told(new, now | before, np.ones(384, np.float32)), [Told(old, before)]) == []
