"""What a fresh look found: two people with the same export, chats forgotten whole, entries of no known shape, long sittings."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.sources.exports import kind_of, read
from contextd.values.conversation import Conversation, Message, Note, Unread
from tests.importing.test_exports import CHATGPT, CLAUDE, lines, node, zipped

DAY = 86_400_000_000
MAY = 1_683_554_160_000_000


def opened(home: Path, reader: str = "owner") -> Session:
    return open_session(None, home=home, environment={}, reader=reader)


def talk(text: str, place: str = "talk") -> Conversation:
    return Conversation(place, "", [Message("Ann", text, MAY)])


def test_C4_two_people_may_take_the_same_conversation(home: Path) -> None:
    ann, bob = opened(home, "ann"), opened(home, "bob")
    assert ann.chats().take([talk("the heron came back")]).written == 1
    same = bob.chats().take([talk("the heron came back")])
    assert (same.written, same.unchanged) == (1, 0), "what somebody else has is not told"
    bob.chats().take([talk("another text of bob")])
    assert [hit.chunk.text for hit in ann.search("heron", min_score=0).hits] == ["the heron came back"]
    assert [hit.chunk.text for hit in bob.search("text", min_score=0).hits] == ["another text of bob"]


def test_only_who_took_a_chat_forgets_it(home: Path) -> None:
    ann, bob = opened(home, "ann"), opened(home, "bob")
    ann.chats().take([talk("the heron came back")], principals=["bob"])
    assert bob.search("heron", min_score=0).hits
    with pytest.raises(InvalidInput, match="imported by another reader"):
        bob.chats().forget("chat:talk")
    assert ann.chats().forget("chat:talk") == (1, "gone") and not bob.search("heron", min_score=0).hits


def test_F17_a_conversation_is_forgotten_with_its_branches_and_however_it_grows(home: Path, tmp_path: Path) -> None:
    person = opened(home)
    export = zipped(tmp_path / "export.zip", [CHATGPT])
    person.chats().take(read(export, "chatgpt"))
    assert len(person.chats().all()) == 2
    assert person.chats().forget("chat:chatgpt/68f0-aa") == (2, "gone") and person.chats().all() == []
    later = {**CHATGPT["mapping"], "e": node("e", "d", "user", "And in winter?", 1_800_000_000)}
    grown = zipped(tmp_path / "later.zip", [{**CHATGPT, "mapping": later, "current_node": "e"}])
    taken = person.chats().take(read(grown, "chatgpt"))
    assert taken.written == 0 and taken.forgotten == 3 and person.chats().all() == []


def test_the_beginning_of_a_name_forgets_nothing(home: Path) -> None:
    person = opened(home)
    person.chats().take([talk("one", "codex/a"), talk("two", "codex/b")])
    with pytest.raises(InvalidInput, match="no such chat"):
        person.chats().forget("chat:codex")
    assert len(person.chats().all()) == 2


def test_an_entry_of_no_known_shape_costs_only_itself(home: Path, tmp_path: Path) -> None:
    odd = node("d", None, "user", "fine")
    odd["message"]["metadata"], odd["message"]["create_time"] = "x", -1e13
    parts = node("d", None, "user", "x")
    parts["message"]["content"]["parts"] = 5
    entries = [
        {**CHATGPT, "conversation_id": "a", "mapping": {"d": odd}},
        {**CHATGPT, "conversation_id": "b", "mapping": {"d": parts}},
        {**CHATGPT, "conversation_id": "c\ud800", "mapping": {"d": node("d", None, "user", "a lone surrogate \ud800")}},
        {
            **CHATGPT,
            "conversation_id": "d",
            "mapping": {"d": {"parent": None, "message": {"author": {"role": ["x"]}, "content": 7}}},
        },
        CHATGPT,
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(entries))
    person = opened(home)
    taken = person.chats().take(read(path, "chatgpt"))
    assert taken.written >= 3 and person.search("feed a starter", min_score=0).hits
    claude = {**CLAUDE, "chat_messages": [{"sender": 5, "content": [1, None], "text": ["x"]}, *CLAUDE["chat_messages"]]}  # type: ignore[misc]
    found = list(read(zipped(tmp_path / "claude.zip", [claude, CLAUDE]), "claude"))
    assert any(isinstance(one, Conversation) and len(one.messages) == 2 for one in found)


def test_a_folder_may_hold_exports_of_several_kinds(tmp_path: Path) -> None:
    zipped(tmp_path / "chatgpt.zip", [CHATGPT])
    zipped(tmp_path / "claude.zip", [CLAUDE])
    for year in ("2023", "2024"):
        (tmp_path / year).mkdir()
        lines(tmp_path / year / "general.jsonl", [{"speaker": "Ann", "text": f"in {year}"}])
    assert kind_of(tmp_path) == "folder"
    places = {one.place for one in read(tmp_path, "folder") if isinstance(one, Conversation)}
    assert {"chatgpt/68f0-aa", "claude/77-bb"} < places
    alone = tmp_path / "alone"
    alone.mkdir()
    for year in ("2023", "2024"):
        (alone / year).mkdir()
        lines(alone / year / "general.jsonl", [{"speaker": "Ann", "text": f"in {year}"}])
    assert {one.place for one in read(alone, kind_of(alone)) if isinstance(one, Conversation)} == {
        "2023/general",
        "2024/general",
    }


def test_a_session_that_begins_with_something_else_is_known(tmp_path: Path) -> None:
    entries = [
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "user", "sessionId": "s", "message": {"content": "hi"}},
    ]
    assert kind_of(lines(tmp_path / "s.jsonl", entries)) == "claude-code"
    mixed = [
        {"conversation": "a", "author": "Ann", "text": "first"},
        {"conversation": "a", "messages": [{"role": "user", "content": "whole"}]},
    ]
    found = [one for one in read(lines(tmp_path / "mixed.jsonl", mixed), "jsonl") if isinstance(one, Conversation)]
    assert sorted(message.text for one in found for message in one.messages) == ["first", "whole"], "no line is lost"


def test_messages_are_put_in_order_and_pages_have_their_days(home: Path, tmp_path: Path) -> None:
    person = opened(home)
    person.chats().take([Conversation("t", "", [Message("Ann", "later", MAY + 300 * DAY), Message("Bob", "earlier", MAY)])])
    assert [(one.uri, one.messages) for one in person.chats().all()] == [("chat:t#2", 1), ("chat:t#1", 1)]
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "2024-05-20.md").write_text("a day")
    (tmp_path / "page.md").write_text("---\ncreated: 2024-04-02\n---\na page")
    days = {
        one.title: time.strftime("%Y-%m-%d", time.gmtime(one.at / 1e6))
        for one in read(tmp_path, "obsidian")
        if isinstance(one, Note)
    }
    assert days == {"2024-05-20": "2024-05-20", "page": "2024-04-02"}


def test_thousands_of_branches_and_messages_are_read(tmp_path: Path, home: Path) -> None:
    nodes = {f"m{n}": node(f"m{n}", f"m{n - 1}" if n else None, "user", f"text {n}") for n in range(3000)}
    nodes |= {f"b{n}": node(f"b{n}", f"m{n * 25}", "assistant", f"branch {n}") for n in range(100)}
    found = list(read(zipped(tmp_path / "export.zip", [{**CHATGPT, "mapping": nodes, "current_node": "m2999"}]), "chatgpt"))
    assert len(found) == 101 and not [one for one in found if isinstance(one, Unread)]
    person = opened(home)
    person.chats().take([Conversation("long", "", [Message("Ann", f"number {n} of the long talk", 0) for n in range(4000)])])
    assert "3999" in person.context("number 3999 of the long talk", min_score=0, budget=4000).text
