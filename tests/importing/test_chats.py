"""Chats: taken once, found by what was said around them, forgotten for good."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.chunking.chat import day
from contextd.errors import InvalidInput
from contextd.text.terms import key, split
from contextd.values.conversation import Conversation, Message, Note
from contextd.values.document import ChunkId
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted, Words
from tests.waiting import until

HOUR = 3600 * 1_000_000
MAY = 1_683_554_160_000_000  # 8 May 2023, 13:56 UTC


@pytest.fixture
def person(home: Path) -> Session:
    """A session without a project."""
    return open_session(None, home=home, environment={})


def talk(*texts: str, place: str = "test/1", at: int = MAY, title: str = "") -> Conversation:
    return Conversation(place, title, [Message(("Ann", "Bob")[n % 2], text, at + n) for n, text in enumerate(texts)])


TALK = talk(
    "Hey Bob! How was the weekend?",
    "Great, we went sailing on the lake near Annecy.",
    "Nice! Did the kids like it?",
    "They loved it. My daughter wants to learn properly now.",
)


def uris(session: Session, question: str, **more: object) -> list[str]:
    return [hit.chunk.uri for hit in session.search(question, **more).hits]  # type: ignore[arg-type]


def test_a_second_import_takes_only_what_is_new(person: Session) -> None:
    chats = person.chats()
    first = chats.take([TALK])
    assert (first.conversations, first.messages, first.written, first.unchanged) == (1, 4, 1, 0)
    again = chats.take([TALK, talk("Something else entirely", place="test/2")])
    assert (again.written, again.unchanged) == (1, 1)
    longer = Conversation("test/1", "", [*TALK.messages, Message("Ann", "Then come to Lausanne in June!", MAY + 5)])
    assert (chats.take([longer]).written, len(chats.all())) == (1, 2)
    hits = person.search("where shall they come in June", min_score=0).hits
    assert hits[0].chunk.text.strip() == "Then come to Lausanne in June!" and hits[0].chunk.label == "Ann"
    assert sum("sailing" in hit.chunk.text for hit in person.search("sailing", min_score=0).hits) == 1, "the old one is gone"


def test_a_dry_run_writes_nothing(person: Session) -> None:
    assert person.chats().take([TALK], dry_run=True).written == 1
    assert person.chats().all() == [] and uris(person, "sailing", min_score=0) == []


def test_a_long_silence_begins_a_new_sitting(person: Session) -> None:
    messages = [
        Message("Ann", "Morning plans", MAY),
        Message("Bob", "Evening plans", MAY + 9 * HOUR),
        Message("Ann", "Good", 0),
    ]
    person.chats().take([Conversation("test/1", "Plans", messages)])
    found = {one.uri: (one.messages, one.title) for one in person.chats().all()}
    assert found == {"chat:test/1#1": (1, "Plans"), "chat:test/1#2": (2, "Plans")}


def test_an_answer_is_found_by_the_question_before_it(person: Session) -> None:
    filler = [
        talk(f"Did you see report {n}?", "Yes, this morning.", place=f"work/{n}", at=MAY + n * 24 * HOUR) for n in range(30)
    ]
    asked = talk("Which restaurant should we book for the anniversary?", "The small one by the harbor.", place="home/1")
    person.chats().take([*filler, asked])
    texts = [hit.chunk.text.strip() for hit in person.search("restaurant for the anniversary", min_score=0).hits[:2]]
    assert texts == ["Which restaurant should we book for the anniversary?", "The small one by the harbor."]


def test_a_question_about_somebody_else_finds_nothing(person: Session) -> None:
    person.chats().take([TALK])
    assert uris(person, "What did Bob say about sailing on the lake?") != []
    assert uris(person, "What did Caroline say about sailing with Melanie?") == []


def test_who_spoke_counts(person: Session) -> None:
    person.chats().take([
        Conversation("t/1", "", [Message("Ann", "I adopted a dog last week", MAY), Message("Bob", "I adopted a dog too", MAY + 1)])
    ])  # fmt: skip
    assert person.search("what did Bob adopt", min_score=0).hits[0].chunk.label == "Bob"
    assert person.search("what did Ann adopt", min_score=0).hits[0].chunk.label == "Ann"


def test_a_person_is_found_by_the_name_that_the_other_uses(person: Session) -> None:
    called = [("em_84", "I keep bees"), ("Robert", "I keep hens")]
    called += [("Robert", "Hi Kate"), ("em_84", "Hello"), ("Robert", "Thanks, Kate"), ("em_84", "Fine"), ("Robert", "Bye Kate")]
    person.chats().take([Conversation("t/1", "", [Message(author, text, MAY + n) for n, (author, text) in enumerate(called)])])
    found = [
        hit.chunk.label for hit in person.search("which animals does Kate keep", min_score=0).hits if "keep" in hit.chunk.text
    ]
    assert found == ["em_84", "Robert"]


@pytest.mark.parametrize("when", ["last Tuesday", "Last Tuesday", "LAST TUESDAY", "last tuesday"])
def test_a_day_of_the_week_finds_what_was_said_then(person: Session, when: str) -> None:
    now = datetime.now().astimezone()
    tuesday = (now - timedelta(days=(now.weekday() - 1) % 7 or 7)).replace(hour=12)
    for days in range(0, 21, 3):
        at = int((tuesday - timedelta(days=days)).timestamp() * 1e6)
        said = f"The plumber comes {'soon' if days else 'at nine'}"
        person.chats().take([Conversation(f"t/{days}", "", [Message("Ann", said, at), Message("Bob", "Good", at + 1)])])
    found = person.search(f"What did Ann say {when}?").hits
    assert found and found[0].chunk.text.strip() == "The plumber comes at nine"


@pytest.mark.parametrize("month", ["in May", "in may", "during May", "im Mai"])
def test_a_month_without_a_day_finds_what_was_said_then(person: Session, month: str) -> None:
    now = datetime.now().astimezone()
    year = now.year - (now.month < 6)
    for number in range(1, 13):
        at = int(datetime(year - (number > 6), number, 15, 12, tzinfo=UTC).timestamp() * 1e6)
        said = f"The plumber has {'a new van' if number == 5 else 'no time'}"
        person.chats().take([Conversation(f"t/{number}", "", [Message("Ann", said, at), Message("Bob", "Good", at + 1)])])
    found = person.search(f"What did Ann say {month}?").hits
    assert found and found[0].chunk.text.strip() == "The plumber has a new van"


def test_words_of_the_messages_around_count_as_one_text(person: Session) -> None:
    texts = ["heron owl", "crane", "lark heron heron", "stork", "wren", "owl"]
    person.chats().take([talk(*texts)])
    with person.home.record.chats(person.home.personal).view(Scope((person.home.personal,), Reader("owner"))) as view:
        terms = {key(term): 1.0 for term in split("heron owl")}
        arms = view.retrieve(Wanted(10, {"chunk": Words("chunk", terms, 10)}))
        chunks = [ChunkId(next(iter(view.uris())), ordinal) for ordinal in range(6)]
        found = arms.scores(chunks)["around"]
    said = [split(f"{day(MAY)} {('Ann', 'Bob')[n % 2]} {text}") for n, text in enumerate(texts)]
    near = [Counter(chain.from_iterable(said[max(0, n - 2) : n + 3])) for n in range(6)]
    average = sum(count.total() for count in near) / 6
    expected = [0.0] * 6
    for term in split("heron owl"):
        holding = sum(term in count for count in near)
        rarity = math.log1p((6 - holding + 0.5) / (holding + 0.5))
        for n, count in enumerate(near):
            norm = 1.2 * (0.25 + 0.75 * count.total() / average)
            expected[n] += rarity * count[term] * 2.2 / (count[term] + norm)
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_message_is_told_with_its_day_and_its_author(person: Session) -> None:
    person.chats().take([TALK])
    text = person.context("sailing on the lake", template="chat", min_score=0).text
    assert "Bob" in text and "8 May 2023" in text and "Annecy" in text


def test_notes_are_found_by_their_headings(person: Session) -> None:
    person.chats().take(
        [Note("Vault/Lisbon.md", "Lisbon", "# Where to stay\n\nNear the old town.\n\n# Food\n\nPastries.\n", MAY)]
    )
    hit = person.search("where to stay in Lisbon", min_score=0).hits[0]
    assert hit.chunk.uri == "note:Vault/Lisbon.md" and "old town" in hit.chunk.text and hit.chunk.heading[0] == "Lisbon"


def test_secrets_do_not_get_in(person: Session, home: Path) -> None:
    key = "AKIA" + "Q7ZP2LMN8RST4VWX"
    taken = person.chats().take([talk(f"my key is {key}", "thanks", title=f"about {key}")])
    assert taken.secrets == 1
    assert key.encode() not in b"".join(path.read_bytes() for path in home.glob("record.db*"))


def test_F17_a_forgotten_chat_is_gone_byte_for_byte_and_stays_so(person: Session, home: Path) -> None:
    chats = person.chats()
    chats.take([talk("the canary zyzzogeton lives here", "oh", place="zyzzoplace/zyzzoid", title="zyzzotitle"), TALK])
    with pytest.raises(InvalidInput, match="contextd chats"):
        chats.forget("chat:nothing")
    assert chats.forget("chat:zyzzoplace/zyzzoid") == (1, "gone")
    left = b"".join(path.read_bytes() for path in home.glob("record.db*"))
    assert b"zyzzo" not in left
    assert [one.uri for one in chats.all()] == ["chat:test/1#1"]
    again = chats.take([talk("the canary zyzzogeton lives here", "oh", place="zyzzoplace/zyzzoid", title="zyzzotitle")])
    assert (again.written, again.forgotten) == (0, 1)


def test_C4_chats_of_others_change_nothing(home: Path, tmp_path: Path) -> None:
    ann, bob = (open_session(None, home=home, environment={}, reader=name) for name in ("ann", "bob"))
    ann.chats().take([TALK])
    before = [(hit.chunk.text, hit.score) for hit in ann.search("sailing on the lake", min_score=0).hits]
    bob.chats().take([talk("sailing sailing lake lake", "the lake again", place="bob/1")], principals=["bob"])
    assert [(hit.chunk.text, hit.score) for hit in ann.search("sailing on the lake", min_score=0).hits] == before
    assert all("Annecy" not in hit.chunk.text for hit in bob.search("sailing on the lake", min_score=0).hits)
    assert [one.uri for one in bob.chats().all()] == ["chat:bob/1#1"]
    with pytest.raises(InvalidInput):
        bob.chats().forget("chat:test/1")


def test_F2_a_killed_import_goes_on_where_it_was(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with path.open("w") as out:
        for number in range(800):
            entry = {
                "conversation": f"c{number}",
                "speaker": "Ann",
                "text": f"message number {number} of the talk",
                "at": MAY / 1e6,
            }
            out.write(json.dumps(entry) + "\n")
    environment = {**os.environ, "CONTEXTD_HOME": str(home)}
    command = [sys.executable, "-m", "contextd", "import", str(path), "--json"]
    run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session = open_session(None, home=home, environment={})
    until(lambda: session.chats().all(), 60)
    run.kill()
    run.communicate()
    kept = len(session.chats().all())
    assert 0 < kept < 800, "it was killed on the way"
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    report = json.loads(done.stdout)
    assert report["conversations"] == 800 and report["unchanged"] >= kept and report["written"] + report["unchanged"] == 800
    assert len(session.chats().all()) == 800
    assert session.search("message number 799", min_score=0).hits


def test_a_question_may_ask_for_a_time_or_a_speaker_alone(person: Session) -> None:
    now = time.time_ns() // 1000
    person.chats().take([
        Conversation("t/1", "", [Message("Ana", "The walnuts are in the cellar", now - 400 * 24 * HOUR)]),
        Conversation("t/2", "", [Message("user", "Is pink mould dangerous?", now - 24 * HOUR, "user"), Message("assistant", "Throw it away.", now - 24 * HOUR)]),
    ])  # fmt: skip
    assert [hit.chunk.text.strip() for hit in person.search("what did Ana say?").hits] == ["The walnuts are in the cellar"]
    found = {hit.chunk.text.strip() for hit in person.search("what did we talk about in the past 3 days?").hits}
    assert found == {"Is pink mould dangerous?", "Throw it away."}
    assert not person.search("what did we talk about in 2007?").hits


def test_a_time_raises_what_was_said_then_and_excludes_nothing(person: Session) -> None:
    for month, at in (("May", MAY), ("August", MAY + 92 * 24 * HOUR)):
        person.chats().take([talk(f"We planned the trip to the lake, in {at}", place=f"trip/{month}", at=at)])
    for month in ("May", "August"):
        hits = person.search(f"what did we plan for the trip to the lake in {month} 2023", min_score=0).hits
        assert hits[0].chunk.uri == f"chat:trip/{month}#1" and len(hits) == 2
