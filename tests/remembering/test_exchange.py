"""Memories between the devices of one person, and between people: clocks, conflicts, rights, and what was removed."""

from __future__ import annotations

import json
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.querying import pipeline as querying
from contextd.stores.sqlite.connect import migrations
from contextd.stores.sqlite.record import SqliteRecord
from tests.faults.test_sweeps import keep

pytestmark = pytest.mark.usefixtures("read_here")

YEAR = 365 * 86_400
DAY = 86_400


class Wall:
    """The wall clock of the process, which can be set."""

    def __init__(self) -> None:
        self.real, self.off = time.time_ns, 0

    def __call__(self) -> int:
        return self.real() + self.off

    def set(self, seconds: float) -> None:
        """Let the clock be ahead of the real one, or behind it."""
        self.off = int(seconds * 1e9)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr(time, "time_ns", clock)
    return clock


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Opens the record of a device; without models, which play no part here."""
    opened: list[Session] = []

    def open_one(name: str, reader: str = "owner") -> Session:
        (tmp_path / name).mkdir(exist_ok=True)
        opened.append(open_session(None, home=tmp_path / name, environment={}, reader=reader))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


Device = Callable[..., Session]


def send(source: Session, target: Session) -> portability.Imported:
    return portability.imported(target, json.dumps(portability.exported(source)))


def texts(session: Session) -> list[str]:
    return sorted(one.text for one in session.memories.all())


def state(session: Session) -> dict[str, Any]:
    """All that an export says but when it was made, and which clocks were once ahead."""
    whole = portability.exported(session)
    return {name: entries for name, entries in whole.items() if name not in ("contextd", "clocks")}


# Rights


def shared(device: Device) -> tuple[Session, Session, dict[str, Any]]:
    """The owner's memory that ana may read, and an entry as a reader could make it of what they see."""
    owner, ana = device("a"), device("a", "ana")
    memory = owner.remember("the boat is at the north pier", principals=["ana"]).memory
    owner.memories.update(memory.id, text="the boat is at the south pier")
    (entry,) = portability.exported(owner)["memories"]
    entry |= {"text": "the boat is mine", "clock": f"{time.time_ns() // 1_000_000 + 60_000:012x}-0000-00000000"}
    return owner, ana, entry


def crafted(**sections: list[dict[str, Any]]) -> str:
    return json.dumps({"contextd": {"format": 2}, **sections})


@pytest.mark.parametrize("author", ["ana", "owner"])
def test_F23_an_import_does_not_take_over_a_memory_that_was_shared(device: Device, author: str) -> None:
    owner, ana, entry = shared(device)
    before = state(owner)
    done = portability.imported(ana, crafted(memories=[{**entry, "author": author, "principals": ["ana", "owner"]}]))
    assert state(owner) == before and not portability.exported(ana)["memories"]
    assert len(done.problems) == 1 and "alone can" in done.problems[0]


def test_F23_forged_history_of_another_author_is_not_taken(device: Device) -> None:
    owner, ana, entry = shared(device)
    (memory,) = owner.memories.all()
    forged = {**entry, "at": 1, "by": "owner", "text": "a forged word", "clock": "0123456789ab-0000-00000000"}
    portability.imported(ana, crafted(memories=[{**entry, "author": "ana", "history": [forged]}]))
    assert "a forged word" not in {one.before.text for one in owner.memories.history(memory.id)}
    own = ana.remember("the oars are in the shed").memory
    (mine,) = portability.exported(ana)["memories"]
    versions = [{**mine, "at": 1, "clock": "0123456789ab-0000-00000000", **names} for names in (
        {"by": "owner", "text": "said by the owner"}, {"by": "ana", "author": "owner", "text": "written by the owner"},
        {"by": "ana", "text": "an older text", "clock": "0123456789ab-0001-00000000"},
    )]  # fmt: skip
    assert not portability.imported(ana, crafted(memories=[{**mine, "history": versions}])).problems
    assert [one.before.text for one in ana.memories.history(own.id)] == ["an older text"]


def test_F23_a_tombstone_buries_only_the_readers_own(device: Device) -> None:
    owner, ana, entry = shared(device)
    mine = ana.remember("the oars are in the shed").memory
    stones = [{"in": "personal", "id": one, "clock": entry["clock"]} for one in (entry["id"], mine.id, "0" * 32)]
    assert portability.imported(ana, crafted(tombstones=stones)).counts["buried"] == 1
    assert texts(owner) == ["the boat is at the south pier"] and texts(ana) == texts(owner)
    other = {**entry, "id": "0" * 32, "text": "the owner's, from another device", "clock": "0123456789ab-0000-00000000"}
    assert portability.imported(owner, crafted(memories=[other])).counts["added"] == 1, "ana's tombstone does not hold for it"


def test_F23_links_start_at_a_memory_of_ones_own_and_end_at_one_that_may_be_read(device: Device) -> None:
    owner, ana, entry = shared(device)
    mine = ana.remember("the oars are in the shed").memory
    hidden = owner.remember("the key is under the mat").memory
    clock = entry["clock"]
    links = [
        {"in": "personal", "start": start, "end": end, "kind": "near", "clock": clock}
        for start, end in ((entry["id"], mine.id), (mine.id, hidden.id), (mine.id, entry["id"]), (mine.id, mine.id))
    ]
    portability.imported(ana, crafted(links=links))
    found = owner.home.record.relations.links(owner.home.personal, [entry["id"], mine.id, hidden.id])
    assert [(one.start, one.end) for one in found] == [(mine.id, entry["id"])]
    owner.memories.link(hidden.id, entry["id"], "opens")
    later = {"in": "personal", "start": hidden.id, "end": entry["id"], "kind": "opens", "clock": clock}
    portability.imported(ana, crafted(unlinked=[later]))
    assert len(owner.memories.links(hidden.id)) == 1


def test_an_export_lists_the_tombstones_of_its_reader_alone(device: Device) -> None:
    owner, ana = device("a"), device("a", "ana")
    gone = {one.reader.name: one.remember(f"said by {one.reader.name}").memory.id for one in (owner, ana)}
    for one in (owner, ana):
        one.forget(gone[one.reader.name])
        assert [entry["id"] for entry in portability.exported(one)["tombstones"]] == [gone[one.reader.name]]


def test_tombstones_of_an_older_record_are_the_owners(tmp_path: Path) -> None:
    steps = {number: text for number, text in migrations(("index", "record")).items() if number < 8}
    old = apsw.Connection(str(tmp_path / "record.db"))
    for number in sorted(steps):
        old.execute(steps[number])
    old.execute(f"pragma user_version = {max(steps)}")
    old.execute(
        "insert into tombstone values (1, ?, '0123456789ab-0000-00000000'), (1, 'chat-0123456789abcdef', 'x')", ("a" * 32,)
    )
    old.close()
    record = SqliteRecord(tmp_path / "record.db")
    assert record.memories.tombstones(1, "owner") == [("a" * 32, "0123456789ab-0000-00000000")]
    assert not record.memories.tombstones(1, "ana")
    record.close()


# Clocks


def test_F21_what_was_written_since_a_moment_with_the_clock_ahead_arrives_elsewhere(device: Device, wall: Wall) -> None:
    here, there = device("a"), device("b")
    doomed = here.remember("a thing to be forgotten").memory
    send(here, there)
    wall.set(10 * YEAR)
    ahead = here.remember("told in ten years").memory
    wall.set(0)
    here.remember("told today")
    here.forget(doomed.id)
    done = send(here, there)
    assert not done.problems and texts(there) == ["told in ten years", "told today"]
    there.memories.update(ahead.id, text="changed elsewhere")
    send(there, here)
    assert texts(here) == ["changed elsewhere", "told today"], "the later edit wins"
    here.memories.update(ahead.id, text="changed at home again")
    send(here, there)
    send(there, here)
    assert texts(there) == texts(here) == ["changed at home again", "told today"] and state(here) == state(there)


def test_F21_an_export_made_while_the_clock_is_ahead_is_taken_and_later_edits_win(device: Device, wall: Wall) -> None:
    here, there, third = device("a"), device("b"), device("c")
    wall.set(10 * YEAR)
    memory = here.remember("version one").memory
    here.memories.update(memory.id, text="version two")
    data = json.dumps(portability.exported(here))
    wall.set(0)
    for other in (there, third):
        assert portability.imported(other, data).counts["added"] == 1 and texts(other) == ["version two"]
        assert portability.imported(other, data).counts["known"] == 1, "twice is once"
    there.memories.update(memory.id, text="version three")
    send(there, here)
    assert texts(here) == ["version three"], "no clock of that moment is left"
    for _ in range(2):
        for one, other in ((third, there), (there, here), (here, third)):
            send(one, other)
    assert state(here) == state(there) == state(third)
    assert [one.before.text for one in third.memories.history(memory.id)] == ["version two", "version one"]


def test_F21_a_clock_that_was_ahead_returns_to_real_time_in_order(device: Device, wall: Wall) -> None:
    here = device("a")
    wall.set(10 * YEAR)
    first, second = (here.remember(text).memory for text in ("first", "second"))
    wall.set(0)
    third = here.remember("third").memory
    now = time.time_ns() // 1_000_000
    clocks = [here.memories.get(one.id).clock for one in (first, second, third)]
    assert clocks == sorted(clocks) and all(int(clock[:12], 16) <= now + 1 for clock in clocks)
    wall.set(-3600)
    fourth = here.memories.update(third.id, text="fourth").memory
    assert clocks[-1] < fourth.clock
    wall.set(60)
    assert int(here.remember("fifth").memory.clock[:12], 16) >= now + 59_000, "real time has passed the last value"


def test_F21_an_export_made_while_the_clock_was_ahead_changes_nothing_at_home(device: Device, wall: Wall) -> None:
    here = device("a")
    wall.set(10 * YEAR)
    memory = here.remember("version one").memory
    here.memories.update(memory.id, text="version two")
    data = json.dumps(portability.exported(here))
    wall.set(0)
    assert portability.imported(here, data).counts["known"] == 1
    assert [one.before.text for one in here.memories.history(memory.id)] == ["version one"]
    assert here.memories.get(memory.id).said <= time.time_ns() // 1000, "nothing was said in ten years"


def test_F21_a_forget_made_with_the_clock_ahead_is_applied_elsewhere(device: Device, wall: Wall) -> None:
    here, there = device("a"), device("b")
    memory = here.remember("a thing to be forgotten").memory
    send(here, there)
    wall.set(2 * DAY)
    here.forget(memory.id)
    data = json.dumps(portability.exported(here))
    wall.set(0)
    assert portability.imported(there, data).counts["buried"] == 1 and not texts(there)


def test_F21_with_the_clock_set_back_a_fact_just_told_is_found(home: Path, wall: Wall) -> None:
    session = open_session(None, home=home, environment={})
    for seconds, text in ((0, "Shoe size: EU 42"), (-30, "My shoe size is EU 43")):
        session.remember(text)
        wall.set(seconds - 30)
        for ask in (session.recall, session.search, session.facets):
            found = [hit.chunk.text for hit in ask("what is my shoe size", min_score=0).hits]
            assert found == [text], (seconds, ask)
    session.close()


@pytest.mark.parametrize("jump", [-DAY, -YEAR, -40 * YEAR, 10 * YEAR])
def test_F14_a_jump_of_the_clock_loses_nothing_and_ranks_sanely(device: Device, wall: Wall, jump: int) -> None:
    here, there = device("a"), device("b")
    before = here.remember("herons nest in May").memory
    wall.set(jump)
    here.remember("herons leave in August")
    here.memories.update(before.id, text="herons nest in June")
    for ranker in ("recency", "default"):
        hits = here.recall("herons", min_score=0, ranker=ranker).hits
        assert len(hits) == 2 and all(0 <= hit.rank_score <= 1 for hit in hits)
    wall.set(0)
    assert len(here.recall("herons", min_score=0, ranker="recency").hits) == 2
    send(here, there)
    assert texts(there) == texts(here) == ["herons leave in August", "herons nest in June"]


def test_F14_a_wall_clock_without_a_battery_sets_nothing_back(device: Device, wall: Wall) -> None:
    here = device("a")
    before = here.remember("herons nest in May").memory
    wall.set(-time.time_ns() / 1e9 + 60)
    after = here.memories.update(before.id, text="herons nest in June").memory
    assert here.memories.history(before.id)[0].before.clock == before.clock < after.clock and after.changed > before.changed
    assert here.remember("herons leave in August").memory.said > before.said


def test_the_time_of_the_question_decides_what_holds(device: Device) -> None:
    here, soon = device("a"), time.time_ns() // 1000 + 3600 * 1_000_000
    here.remember("I live in Munich", valid_to=soon)
    here.remember("I live in Lyon", valid_from=soon)

    def found(**asked: Any) -> list[str]:
        query = replace(query_of(here, "where I live", None, None), min_score=0, **asked)
        return [hit.chunk.text for hit in querying.search(query, resources_of(here, query))[0]]

    assert found() == ["I live in Munich"]
    assert found(now=soon + 1) == ["I live in Lyon"]
    assert found(now=soon - 1) == ["I live in Munich"]


# Merging


def test_a_concurrent_edit_stays_in_the_history_both_ways_round(device: Device) -> None:
    here, there = device("a"), device("b")
    memory = here.remember("the meeting is at nine").memory
    send(here, there)
    here.memories.update(memory.id, text="the meeting is at ten")
    there.memories.update(memory.id, text="the meeting is at eleven")
    done = send(there, here)
    assert done.counts["conflicts"] == 1 and "two devices" in done.problems[0]
    done = send(here, there)
    assert texts(here) == texts(there) == ["the meeting is at eleven"] and state(here) == state(there)
    assert [one.before.text for one in there.memories.history(memory.id)] == ["the meeting is at ten", "the meeting is at nine"]
    assert not send(here, there).counts["conflicts"] and not send(there, here).counts["conflicts"], "told once"


def test_the_older_of_two_edits_is_kept_where_it_arrives_too(device: Device, wall: Wall) -> None:
    here, there = device("a"), device("b")
    memory = here.remember("the meeting is at nine").memory
    send(here, there)
    there.memories.update(memory.id, text="the meeting is at ten")
    wall.set(3600)
    here.memories.update(memory.id, text="the meeting is at eleven")
    done = send(there, here)
    assert not done.counts["conflicts"] and texts(here) == ["the meeting is at eleven"]
    assert "the meeting is at ten" in {one.before.text for one in here.memories.history(memory.id)}


def test_a_guess_or_feedback_is_no_edit(device: Device) -> None:
    here, there = device("a"), device("b")
    memory = here.remember("the meeting is at nine").memory
    send(here, there)
    here.memories.update(memory.id, text="the meeting is at ten")
    there.memories.feedback(memory.id, useful=True)
    there.memories.enrich(everything=True)
    send(there, here)
    send(here, there)
    assert texts(here) == texts(there) == ["the meeting is at ten"] and state(here) == state(there)
    assert here.memories.get(memory.id).useful == 1


def test_what_was_changed_after_it_was_forgotten_comes_back_without_what_it_was_before(device: Device) -> None:
    here, there = device("a"), device("b")
    one, other = (here.remember(text).memory.id for text in ("the boat", "the pier"))
    here.memories.update(one, text="the blue boat")
    here.memories.link(one, other)
    send(here, there)
    here.forget(one)
    there.memories.update(one, text="the green boat")
    send(there, here)
    send(here, there)
    assert texts(here) == texts(there) == ["the green boat", "the pier"] and state(here) == state(there)
    assert not there.memories.history(one) and not there.memories.links(one), "what was forgotten stays so"


def test_feedback_of_both_devices_counts(device: Device) -> None:
    here, there = device("a"), device("b")
    memory = here.remember("the boat").memory.id
    send(here, there)
    here.memories.feedback(memory, useful=True)
    there.memories.feedback(memory, useful=False)
    send(there, here)
    send(here, there)
    assert all((one.memories.get(memory).useful, one.memories.get(memory).useless) == (1, 1) for one in (here, there))


def test_what_was_unlinked_stays_so_and_may_be_linked_again(device: Device) -> None:
    here, there = device("a"), device("b")
    one, other = (here.remember(text).memory.id for text in ("the boat", "the pier"))
    here.memories.link(one, other, "lies at")
    send(here, there)
    before = json.dumps(portability.exported(there))
    here.memories.unlink(one, other)
    for data in (before, json.dumps(portability.exported(there))):
        portability.imported(here, data)
        assert not here.memories.links(one)
    send(here, there)
    assert not there.memories.links(one)
    there.memories.link(one, other, "lies at")
    send(there, here)
    assert len(here.memories.links(one)) == 1
    here.forget(other)
    assert not here.home.record.exchange.unlinked(here.home.personal, [one]), (
        "what was forgotten leaves no kind of a link behind"
    )


def test_renamed_and_deleted_topics_stay_so(device: Device) -> None:
    here, there = device("a"), device("b")
    boat = here.remember("the boat is green", topics=["Leisure"]).memory.id
    here.memories.add_topic("Sailing", "Leisure")
    send(here, there)
    before = json.dumps(portability.exported(there))
    here.memories.rename_topic("Leisure", "Free time")
    here.memories.delete_topic("Work")
    late = there.remember("the sail is white", topics=["Leisure", "Work"]).memory.id
    portability.imported(here, before)
    names = {topic.name: topic.parent for topic in here.memories.topics()}
    assert "Work" not in names and "Leisure" not in names and names["Sailing"] == "Free time"
    send(there, here)
    send(here, there)
    assert here.memories.get(boat).topics == there.memories.get(boat).topics == ("Free time",)
    assert here.memories.get(late).topics == ("Leisure", "Work"), "it was written later, and says so itself"
    assert state(here) == state(there) and here.memories.topics() == there.memories.topics()


def test_an_older_memory_that_arrives_late_follows_a_deleted_topic(device: Device) -> None:
    here, there = device("a"), device("b")
    late = there.remember("the sail is white", topics=["Leisure", "Work"]).memory.id
    here.memories.rename_topic("Leisure", "Free time")
    here.memories.delete_topic("Work")
    send(there, here)
    assert here.memories.get(late).topics == ("Free time",)
    send(here, there)
    assert there.memories.get(late).topics == ("Free time",) and state(here) == state(there)


def test_a_topic_that_was_renamed_and_renamed_back_is_the_same_everywhere(device: Device) -> None:
    here, there = device("a"), device("b")
    here.remember("the sail is white", topics=["Work"])
    send(here, there)
    here.memories.rename_topic("Work", "Labor")
    here.memories.rename_topic("Labor", "Work")
    send(here, there)
    send(there, here)
    assert state(here) == state(there) and here.memories.all()[0].topics == ("Work",)


def test_when_every_topic_is_deleted_none_comes_back(device: Device) -> None:
    here = device("a")
    for topic in here.memories.topics():
        here.memories.delete_topic(topic.name)
    assert not here.memories.topics()


def test_an_export_of_the_first_format_is_still_read(device: Device) -> None:
    here, there = device("a"), device("b")
    one, other = (here.remember(text).memory.id for text in ("the boat", "the pier"))
    here.memories.link(one, other, "lies at")
    here.memories.add_topic("Sailing", "Leisure")
    whole = portability.exported(here)
    old = {name: whole[name] for name in ("memories", "links", "tombstones")} | {"contextd": {"format": 1}}
    old["topics"] = [{"name": topic["name"], "parent": topic["parent"]} for topic in whole["topics"]]
    assert portability.imported(there, json.dumps(old)).counts["added"] == 2
    assert len(there.memories.links(one)) == 1 and "Sailing" in {topic.name for topic in there.memories.topics()}


# Two devices, anything, in any order

TOPICS = ["Work", "Home", "Travel", "Sailing"]
OPERATIONS = st.one_of(
    st.tuples(st.just("remember"), st.integers(0, 5), st.sampled_from(TOPICS)),
    st.tuples(st.just("update"), st.integers(0, 7), st.integers(0, 99)),
    st.tuples(st.just("forget"), st.integers(0, 7)),
    st.tuples(st.just("link"), st.integers(0, 7), st.integers(0, 7)),
    st.tuples(st.just("unlink"), st.integers(0, 7), st.integers(0, 7)),
    st.tuples(st.just("feedback"), st.integers(0, 7)),
    st.tuples(st.just("add_topic"), st.sampled_from(TOPICS), st.sampled_from(TOPICS)),
    st.tuples(st.just("rename_topic"), st.sampled_from(TOPICS), st.sampled_from(TOPICS)),
    st.tuples(st.just("delete_topic"), st.sampled_from(TOPICS)),
    st.tuples(st.just("ahead"), st.sampled_from([0, 0, -40, 3 * DAY, 10 * YEAR])),
    st.tuples(st.just("send")),
)


def act(session: Session, other: Session, wall: Wall, operation: tuple[Any, ...]) -> None:
    """Do something on a device, if it can be done there."""
    name, *rest = operation
    desk, ids = session.memories, sorted(one.id for one in session.memories.all())

    def chosen(number: int) -> str:
        return ids[number % len(ids)] if ids else "0000"

    try:
        if name == "remember":
            session.remember(f"note {len(ids)} of {rest[0]}", topics=[rest[1]])
        elif name == "update":
            desk.update(chosen(rest[0]), text=f"text {rest[1]}")
        elif name == "forget":
            session.forget(chosen(rest[0]))
        elif name == "feedback":
            desk.feedback(chosen(rest[0]), useful=True)
        elif name in ("link", "unlink"):
            getattr(desk, name)(chosen(rest[0]), chosen(rest[1]))
        elif name == "ahead":
            wall.set(rest[0])
        elif name == "send":
            send(session, other)
        else:
            getattr(desk, name)(*rest)
    except InvalidInput:
        pass  # such as a topic that is not there


def converge(wall: Wall, operations: list[tuple[bool, Any]], order: bool) -> None:
    """Do everything on two devices, exchange exports, and compare. Ids come from a fixed seed, so a failure can be repeated."""
    chance = random.Random(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_hex", lambda size=16: chance.randbytes(size).hex())
        _converge(wall, operations, order)


def _converge(wall: Wall, operations: list[tuple[bool, Any]], order: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        here, there = (open_session(None, home=Path(folder) / name, environment={}) for name in "ab")
        wall.set(0)
        for first, operation in operations:
            act(*((here, there) if first else (there, here)), wall, operation)
        wall.set(0)
        one, other = (here, there) if order else (there, here)
        send(one, other)
        send(other, one)
        assert state(one) == state(other)
        assert one.memories.topics() == other.memories.topics()
        before = state(one)
        for source, target in ((one, other), (other, one), (one, one)):
            send(source, target)
        assert state(one) == state(other) == before, "twice is once"
        here.close()
        there.close()


SEQUENCES = st.lists(st.tuples(st.booleans(), OPERATIONS), min_size=15, max_size=40)
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@settings(max_examples=20, **QUIET)
@given(SEQUENCES, st.booleans())
def test_two_devices_end_equal_whatever_happens(wall: Wall, operations: list[tuple[bool, Any]], order: bool) -> None:
    converge(wall, operations, order)


# A memory is forgotten on one device and changed on the other while both are ahead: their new clocks change places.
CHANGE_PLACES = [
    (True, ("remember", 3, "Work")),
    (True, ("ahead", 10 * YEAR)),
    (True, ("send",)),
    (False, ("forget", 7)),
    (True, ("update", 2, 62)),
    (True, ("remember", 1, "Work")),
    (True, ("send",)),
]
# A device is set back twice, first to a time that is still ahead.
SET_BACK_TWICE = [
    (False, ("remember", 1, "Home")),
    (False, ("remember", 3, "Sailing")),
    (False, ("remember", 4, "Work")),
    (True, ("ahead", 10 * YEAR)),
    (False, ("link", 0, 2)),
    (False, ("send",)),
    (True, ("remember", 0, "Travel")),
    (False, ("ahead", 0)),
    (True, ("link", 1, 0)),
    (True, ("ahead", 3 * DAY)),
    (False, ("unlink", 1, 0)),
]
# Both devices are ahead and set back apart; only one of them knows the version before the last.
KNOWN_TO_ONE = [
    (False, ("remember", 0, "Work")),
    (False, ("send",)),
    (False, ("forget", 0)),
    *[(False, ("remember", 0, "Work"))] * 3,
    (False, ("forget", 0)),
    (False, ("remember", 0, "Work")),
    (False, ("ahead", 10 * YEAR)),
    (True, ("remember", 0, "Work")),
    (False, ("update", 0, 12)),
    (True, ("send",)),
    (False, ("update", 0, 0)),
    (False, ("forget", 0)),
    (True, ("remember", 0, "Work")),
    (True, ("update", 7, 90)),
    (True, ("send",)),
]
# The same text was written before and after a memory was forgotten on the other device.
SAID_AGAIN = [
    (False, ("remember", 0, "Work")),
    (False, ("remember", 0, "Work")),
    (False, ("send",)),
    (False, ("update", 0, 9)),
    (True, ("forget", 0)),
    (False, ("update", 0, 76)),
    (False, ("send",)),
    (True, ("update", 6, 9)),
    (False, ("update", 6, 5)),
]


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize(
    "operations", [CHANGE_PLACES, SET_BACK_TWICE, KNOWN_TO_ONE, SAID_AGAIN], ids=["places", "twice", "one", "again"]
)
def test_two_devices_end_equal_in_orders_that_once_failed(wall: Wall, operations: list[tuple[bool, Any]], order: bool) -> None:
    converge(wall, operations, order)


@pytest.mark.campaign
def test_F21_two_devices_end_equal_in_many_orders(wall: Wall) -> None:
    done = []

    @settings(max_examples=400, derandomize=False, **QUIET)
    @given(SEQUENCES, st.booleans())
    def many(operations: list[tuple[bool, Any]], order: bool) -> None:
        converge(wall, operations, order)
        done.append(len(operations))

    many()
    keep("exchange", sequences=len(done), operations=sum(done))
