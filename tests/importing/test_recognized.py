"""A conversation is the same whatever its file is called: it is not taken twice, and once forgotten it stays so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session, read_export
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.importing.pipeline import ImportReport
from contextd.sources import memory_lists
from tests.conftest import Run
from tests.importing.test_exports import CLAUDE_CODE, lines

pytestmark = pytest.mark.usefixtures("read_here")

START = 1_683_554_160
HOUR = 3600


def said(text: str, hour: float = 0, **more: Any) -> dict[str, Any]:
    return {"speaker": "Ann", "text": text, "at": START + hour * HOUR, **more}


TALK = [said("the canary zyzzogeton lives here"), said("oh", 0.1), said("it sings", 9), said("still", 9.1)]  # two sittings


@pytest.fixture
def person(home: Path) -> Session:
    return open_session(None, home=home, environment={})


def taken(person: Session, path: Path, entries: list[dict[str, Any]]) -> ImportReport:
    return person.chats().take(read_export(str(lines(path, entries)), "jsonl"))


def uris(person: Session) -> list[str]:
    return sorted(one.uri for one in person.chats().all())


def test_a_file_of_another_name_is_not_taken_twice(person: Session, tmp_path: Path) -> None:
    assert taken(person, tmp_path / "talk.jsonl", TALK).written == 2
    again = taken(person, tmp_path / "talk (1).jsonl", TALK)
    assert (again.written, again.unchanged) == (0, 2) and uris(person) == ["chat:talk#1", "chat:talk#2"]


def test_what_has_grown_under_another_name_goes_where_it_was(person: Session, tmp_path: Path) -> None:
    taken(person, tmp_path / "talk.jsonl", TALK)
    grown = taken(person, tmp_path / "new.jsonl", [*TALK, said("and again", 9.2), said("a third sitting", 30)])
    assert (grown.written, grown.unchanged) == (2, 1) and uris(person) == [f"chat:talk#{n}" for n in (1, 2, 3)]
    older = taken(person, tmp_path / "older.jsonl", TALK)
    assert (older.written, older.unchanged) == (0, 2), "an older export takes nothing away"
    assert taken(person, tmp_path / "talk.jsonl", TALK[:3]).written == 0
    assert person.search("and again", min_score=0).hits[0].chunk.text.strip() == "and again"


def test_two_files_of_one_folder_may_hold_the_same_conversation(person: Session, tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    lines(folder / "a.jsonl", TALK)
    lines(folder / "b.jsonl", [*TALK, said("and again", 9.2)])
    lines(folder / "c.jsonl", TALK[:3])
    result = person.chats().take(read_export(str(folder), "jsonl"))
    assert uris(person) == ["chat:a#1", "chat:a#2"] and (result.written, result.unchanged) == (3, 3)
    assert person.search("and again", min_score=0).hits[0].chunk.text.strip() == "and again"


def test_conversations_that_only_begin_alike_stay_two(person: Session, tmp_path: Path) -> None:
    taken(person, tmp_path / "one.jsonl", [said("hello"), said("about boats", 0.1)])
    taken(person, tmp_path / "two.jsonl", [said("hello"), said("about trains", 0.1)])
    assert uris(person) == ["chat:one#1", "chat:two#1"]
    named = [said("hello", conversation="a"), said("hello", conversation="b")]
    taken(person, tmp_path / "three.jsonl", named)
    assert uris(person) == ["chat:one#1", "chat:three/a#1", "chat:three/b#1", "chat:two#1"]


@pytest.mark.parametrize(
    "again",
    [TALK, TALK[:1], TALK[:3], [*TALK, said("and again", 9.2)], [*TALK, said("a third sitting", 30)]],
    ids=["same", "first message", "shorter", "longer", "another sitting"],
)
@pytest.mark.parametrize("name", ["talk.jsonl", "another.jsonl"])
def test_F17_a_forgotten_chat_stays_forgotten_under_any_name(
    person: Session, tmp_path: Path, home: Path, again: list[dict[str, Any]], name: str
) -> None:
    taken(person, tmp_path / "talk.jsonl", TALK)
    assert person.chats().forget("chat:talk") == (2, "gone")
    assert b"zyzzo" not in b"".join(path.read_bytes() for path in home.glob("record.db*"))
    result = taken(person, tmp_path / name, again)
    assert (result.written, uris(person)) == (0, []) and result.forgotten >= 1
    assert taken(person, tmp_path / "new.jsonl", [said("something else")]).written == 1


def test_F17_one_forgotten_sitting_stays_forgotten_under_another_name(person: Session, tmp_path: Path) -> None:
    taken(person, tmp_path / "talk.jsonl", TALK)
    person.chats().forget("chat:talk#1")
    result = taken(person, tmp_path / "other.jsonl", TALK)
    assert (result.forgotten, result.unchanged, result.written) == (1, 1, 0) and uris(person) == ["chat:talk#2"]


def test_F17_what_one_forgets_another_may_still_import(home: Path, tmp_path: Path) -> None:
    ann, bob = (open_session(None, home=home, environment={}, reader=name) for name in ("ann", "bob"))
    taken(ann, tmp_path / "talk.jsonl", TALK)
    ann.chats().forget("chat:talk")
    assert taken(bob, tmp_path / "other.jsonl", TALK).written == 2


def test_F17_a_session_without_an_id_and_a_page_stay_forgotten_under_another_name(
    home: Path, tmp_path: Path, contextd: Callable[..., Run]
) -> None:
    nameless = [{name: value for name, value in entry.items() if name != "sessionId"} for entry in CLAUDE_CODE]
    lines(tmp_path / "one.jsonl", nameless)
    vault = tmp_path / "Vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Lisbon.md").write_text("Stay near the old town.")
    person = open_session(None, home=home, environment={})
    person.chats().take(read_export(str(tmp_path / "one.jsonl"), "claude-code"))
    person.chats().take(read_export(str(vault), "obsidian"))
    assert uris(person) == ["chat:claude-code/one#1", "note:Vault/Lisbon.md"]
    vault.rename(tmp_path / "Renamed")
    assert person.chats().take(read_export(str(tmp_path / "Renamed"), "obsidian")).written == 0, "the same page"
    person.chats().forget("chat:claude-code/one")
    person.chats().forget("note:Vault/Lisbon.md")
    (tmp_path / "one.jsonl").rename(tmp_path / "two.jsonl")
    (tmp_path / "Renamed" / "Lisbon.md").rename(tmp_path / "Renamed" / "Porto.md")
    for path, kind in (("two.jsonl", "claude-code"), ("Renamed", "obsidian")):
        assert person.chats().take(read_export(str(tmp_path / path), kind)).forgotten == 1
    assert uris(person) == []


def test_F17_marks_of_forgotten_chats_tell_nothing(home: Path, tmp_path: Path) -> None:
    """The same chat forgotten in two homes leaves different marks, and nothing but them."""
    marks = []
    for name in ("one", "two"):
        other = tmp_path / name
        other.mkdir()
        (other / "models").symlink_to(home / "models")
        person = open_session(None, home=other, environment={})
        taken(person, tmp_path / "talk.jsonl", TALK)
        person.chats().forget("chat:talk")
        found = person.home.record.database.query("select memory_id from tombstone")  # type: ignore[attr-defined]
        assert person.home.record.database.query("select count(*) from chat") == [(0,)]  # type: ignore[attr-defined]
        marks.append({part for (mark,) in found for part in mark.split("-")[1:]})
    assert marks[0] and not marks[0] & marks[1]


def test_chats_of_an_older_version_are_recognized_after_the_next_import(home: Path, tmp_path: Path) -> None:
    person = open_session(None, home=home, environment={})
    taken(person, tmp_path / "talk.jsonl", TALK)
    before = person.home.record.database.query("select document_id, chain, said from chat order by 1")  # type: ignore[attr-defined]
    person.home.record.database.transact(lambda connection: connection.execute("delete from chat"))  # type: ignore[attr-defined]
    again = taken(person, tmp_path / "talk.jsonl", TALK)
    assert (again.written, again.unchanged) == (0, 2)
    assert person.home.record.database.query("select document_id, chain, said from chat order by 1") == before  # type: ignore[attr-defined]


def test_F17_a_chat_forgotten_by_an_older_version_stays_forgotten(home: Path, tmp_path: Path) -> None:
    """Marks were made of the name alone."""
    person = open_session(None, home=home, environment={})
    store = person.chats().store
    old = [f"chat-{store.number(name, 'owner'):016x}" for name in ("chat:talk", "chat:talk#1")]  # type: ignore[attr-defined]
    rows = [(person.home.personal, mark, "owner", "0") for mark in old]
    person.home.record.database.transact(lambda c: c.executemany("insert into tombstone values (?, ?, ?, ?)", rows))  # type: ignore[attr-defined]
    assert taken(person, tmp_path / "talk.jsonl", TALK).forgotten == 2


def test_bullets_of_a_project_are_no_facts_about_a_person() -> None:
    with pytest.raises(InvalidInput, match="about software"):
        list(memory_lists.read("- `contextd index` reads files\n- see [the guide](docs/guide.md)\n- fast\n- `-p` is a flag\n"))
    assert len(list(memory_lists.read("- Shoe size 42\n- My laptop runs `fish`\n- I live in Bonn\n- I like tea\n"))) == 4
