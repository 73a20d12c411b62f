"""Two devices: chats are exported on one and imported on the other; what was forgotten on either stays forgotten on both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextd.app import chats
from contextd.app.assemble import export_kind, open_session, read_export
from contextd.app.session import Session
from contextd.importing.pipeline import ImportReport
from contextd.values.conversation import Conversation, Message, Note
from tests.conftest import Run
from tests.importing.test_exports import CHATGPT, lines, zipped
from tests.importing.test_recognized import START, TALK, said, uris

pytestmark = pytest.mark.usefixtures("read_here")

MAY = START * 1_000_000
Device = Callable[..., Session]


@pytest.fixture
def device(home: Path, tmp_path: Path) -> Device:
    """Opens a home of its own for each name."""

    def opened(name: str, reader: str = "owner") -> Session:
        folder = tmp_path / f"device-{name}"
        if not folder.exists():
            folder.mkdir()
            (folder / "models").symlink_to(home / "models")
        return open_session(None, home=folder, environment={}, reader=reader)

    return opened


def moved(source: Session, target: Session, path: Path) -> ImportReport:
    """Export on one device, import on the other."""
    path.write_text("".join(json.dumps(line) + "\n" for line in source.chats().exported()))
    assert export_kind(str(path)) == "contextd"
    return target.chats().take(read_export(str(path), "contextd"))


def contents(session: Session) -> list[Any]:
    """Everything that is kept of chats, as it was told."""
    return [replaced(one) for one in session.chats().store.written(session.reader.name, session.reader)]


def replaced(one: Conversation | Note) -> Any:
    return (one.place, one.title, one.principals, list(one.messages) if isinstance(one, Conversation) else (one.text, one.at),
            (one.name, one.sitting) if isinstance(one, Conversation) else None)  # fmt: skip


def filled(session: Session, tmp_path: Path) -> None:
    session.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", TALK)), "jsonl"))
    session.chats().take(read_export(str(zipped(tmp_path / "export.zip", [CHATGPT])), "chatgpt"))
    spoken = [Message("Ann Lee", "first line\n\n  second\tline ü\u2028", MAY + 1, "user"), Message("", "\n\nno name", 0)]
    session.chats().take(
        [Conversation("odd/1", "2024 plans", spoken), Note("Vault/a.md", "A", "# Head\n\ntext\n", MAY)], principals=["bob"]
    )
    session.chats().take([Conversation("long/1", "", [Message("Ann", f"word {n} " * 100, MAY + n) for n in range(50)])])


def test_an_export_comes_back_without_loss(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "_LINE", 5000)  # a long sitting is on several lines
    one, two = device("one"), device("two")
    filled(one, tmp_path)
    assert len(contents(one)) == 7
    taken = moved(one, two, tmp_path / "chats.jsonl")
    assert len((tmp_path / "chats.jsonl").read_text().splitlines()) > 12
    assert taken.written == 7 and not taken.unread and (taken.conversations, taken.notes) == (5, 1)
    assert contents(two) == contents(one) and uris(two) == uris(one)
    assert [(one.title, one.at, one.messages) for one in one.chats().all()] == [
        (two.title, two.at, two.messages) for two in two.chats().all()
    ]
    again = moved(two, one, tmp_path / "back.jsonl")
    assert (again.written, again.unchanged) == (0, 7)
    original = two.chats().take(read_export(str(lines(tmp_path / "renamed.jsonl", TALK)), "jsonl"))
    assert (original.written, original.unchanged) == (0, 2), "the file it came from is recognized"
    assert two.search("sings", min_score=0).hits


def test_forgotten_on_either_device_is_forgotten_on_both(device: Device, tmp_path: Path) -> None:
    one, two = device("one"), device("two")
    filled(one, tmp_path)
    moved(one, two, tmp_path / "chats.jsonl")
    one.chats().forget("chat:talk")
    two.chats().forget("note:Vault/a.md")
    assert moved(one, two, tmp_path / "chats.jsonl").erased == 2 and not [uri for uri in uris(two) if "talk" in uri]
    taken = moved(two, one, tmp_path / "back.jsonl")
    assert taken.erased == 1 and "note:Vault/a.md" not in uris(one) and uris(one) == uris(two)
    for session in (one, two):
        result = session.chats().take(read_export(str(lines(tmp_path / "renamed.jsonl", [*TALK, said("more", 40)])), "jsonl"))
        assert (result.written, result.forgotten) == (0, 3)
        assert session.chats().take([Note("Other/b.md", "B", "# Head\n\ntext\n", MAY)]).forgotten == 1
    three = device("three")
    moved(two, three, tmp_path / "third.jsonl")
    assert three.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", TALK)), "jsonl")).forgotten == 2, "marks travel on"
    text = (tmp_path / "third.jsonl").read_text()
    assert "zyzzogeton" not in text and "talk" not in text, "marks tell nothing"


def test_forgotten_there_erases_what_has_another_name_here(device: Device, tmp_path: Path) -> None:
    one, two = device("one"), device("two")
    one.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", TALK)), "jsonl"))
    two.chats().take(read_export(str(lines(tmp_path / "other.jsonl", [*TALK, said("a third sitting", 30)])), "jsonl"))
    one.chats().forget("chat:talk")
    assert moved(one, two, tmp_path / "chats.jsonl").erased == 3 and uris(two) == []


def test_a_conversation_that_grew_on_one_device_is_taken_whole(device: Device, tmp_path: Path) -> None:
    one, two = device("one"), device("two")
    one.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", TALK)), "jsonl"))
    grown = [*TALK, said("and again", 9.2), said("a third sitting", 30)]
    two.chats().take(read_export(str(lines(tmp_path / "other.jsonl", grown)), "jsonl"))
    back = moved(one, two, tmp_path / "chats.jsonl")
    assert (back.written, back.unchanged) == (0, 2), "the shorter one takes nothing away"
    assert moved(two, one, tmp_path / "chats.jsonl").written == 2
    assert uris(one) == ["chat:talk#1", "chat:talk#2", "chat:talk#3"], "under the name it has here"
    assert [message.text for chat in one.chats().store.written("owner", one.reader) for message in chat.messages] == [  # type: ignore[union-attr]
        str(entry["text"]) for entry in grown
    ]


def test_only_ones_own_chats_are_exported_and_imports_belong_to_who_imports(device: Device, tmp_path: Path) -> None:
    ann, bob = device("one", "ann"), device("one", "bob")
    ann.chats().take([Conversation("a/private", "", [Message("Ann", "the private heron", MAY)])])
    ann.chats().take([Conversation("a/shared", "", [Message("Ann", "the shared heron", MAY)])], principals=["bob"])
    bob.chats().take([Conversation("b/own", "", [Message("Bob", "an owl", MAY)])])
    ann.chats().take([Conversation("a/gone", "", [Message("Ann", "forget me", MAY)])])
    ann.chats().forget("chat:a/gone")
    exported = json.dumps(list(bob.chats().exported()))
    assert "owl" in exported and "heron" not in exported and "forgotten" not in exported
    cleo = device("two", "cleo")
    assert moved(ann, cleo, tmp_path / "ann.jsonl").written == 2
    assert uris(cleo) == ["chat:a/private#1", "chat:a/shared#1"]
    assert not device("two", "ann").chats().all() and not device("two", "bob").chats().all(), (
        "readers of the file get no rights"
    )
    assert cleo.chats().forget("chat:a/shared")[0] == 1
    assert moved(ann, device("three", "ann"), tmp_path / "ann.jsonl").written == 2
    assert uris(device("three", "bob")) == ["chat:a/shared#1"], "the same reader keeps who may read"


def test_a_file_with_marks_forgets_only_ones_own(device: Device, tmp_path: Path) -> None:
    ann, bob = device("one", "ann"), device("one", "bob")
    for session in (ann, bob):
        session.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", TALK)), "jsonl"))
    other = device("two", "ann")
    other.chats().take(read_export(str(tmp_path / "talk.jsonl"), "jsonl"))
    other.chats().forget("chat:talk")
    assert moved(other, ann, tmp_path / "chats.jsonl").erased == 2
    assert uris(ann) == [] and len(uris(bob)) == 2


def test_lines_of_an_unknown_shape_cost_only_themselves(device: Device, tmp_path: Path) -> None:
    good = {
        "place": "a/1",
        "sitting": 1,
        "name": None,
        "title": "T",
        "messages": [{"author": "A", "role": "", "text": "good one"}],
    }
    bad: list[dict[str, Any]] = [
        {"place": "a/2"}, {**good, "sitting": 0}, {**good, "sitting": "x"}, {**good, "messages": [1]}, {**good, "title": ["T"]},
        {**good, "principals": ["a\nb"]}, {**good, "principals": ["x"] * 5000}, {"forgotten": 5, "key": "x"}, {"note": "n"},
        {"forgotten": ["zz"], "key": "no key"}, {"forgotten": ["0" * 24], "key": "%" * 16},
    ]  # fmt: skip
    path = lines(tmp_path / "chats.jsonl", [{"contextd_chats": 1}, *bad, good])
    session = device("one")
    taken = session.chats().take(read_export(str(path), "contextd"))
    assert (taken.written, len(taken.unread)) == (1, 9) and uris(session) == ["chat:a/1#1"]
    newer = session.chats().take(read_export(str(lines(path, [{"contextd_chats": 2}])), "contextd"))
    assert newer.unread[0].stopped and "upgrade" in newer.unread[0].reason


def test_chats_of_an_older_version_are_exported_by_their_pieces(device: Device, tmp_path: Path) -> None:
    one = device("one")
    filled(one, tmp_path)
    texts = {place: [message.text for message in told] for place, _, _, told, sitting in contents(one) if sitting}
    one.home.record.database.transact(lambda connection: connection.execute("delete from chat"))  # type: ignore[attr-defined]
    later = {place: [message.text for message in told] for place, _, _, told, sitting in contents(one) if sitting}
    assert later == texts
    assert moved(one, device("two"), tmp_path / "chats.jsonl").written == 7


def test_the_command_writes_a_file_that_import_reads(contextd: Callable[..., Run], tmp_path: Path) -> None:
    lines(tmp_path / "talk.jsonl", TALK)
    assert contextd("import", str(tmp_path / "talk.jsonl")).code == 0
    assert "2 chat sessions or notes" in contextd("chats", "export", str(tmp_path / "chats.jsonl")).out
    piped = contextd("chats", "export").out
    assert len(piped.splitlines()) == 3 and json.loads(piped.splitlines()[0])["contextd_chats"] == 1
    done = contextd("import", str(tmp_path / "chats.jsonl"))
    assert done.code == 0 and "2 unchanged" in done.out
    assert contextd("chats", "forget", "chat:talk").code == 0
    done = contextd("import", str(tmp_path / "chats.jsonl"))
    assert "2 stay forgotten" in done.out and json.loads(contextd("chats", "--json").out)["items"] == []
    assert contextd("chats", "export", str(tmp_path / "no" / "such.jsonl")).code == 2
