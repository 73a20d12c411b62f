"""Hostile exports: bombs, depth, size, odd files; FAULTS I-5 and I-15. Importing ends with a message, what came before stays."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.sandbox import reading
from contextd.sources import limited
from contextd.sources.exports import read
from contextd.values.conversation import Conversation, Unread
from tests.conftest import Run
from tests.importing.test_exports import CLAUDE, lines, zipped

GOOD = json.dumps(CLAUDE)


def packed(path: Path, **members: bytes | str) -> Path:
    """A compressed zip; `conversations` is the file an export has."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.json", data)
    return path


def peak_of_children() -> int:
    """The most memory any process of ours had, in kilobytes."""
    resource = pytest.importorskip("resource")
    return int(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def test_I15_a_small_zip_of_deep_brackets_is_refused_with_little_memory(
    tmp_path: Path, contextd_process: Callable[..., Run]
) -> None:
    bomb = packed(tmp_path / "bomb.zip", conversations="[" + GOOD + "," + "[" * 300_000 + "]" * 300_000 + "]")
    before = peak_of_children()
    done = contextd_process("import", str(bomb), "--from", "claude", "--json", timeout=60)
    report = json.loads(done.out)
    assert done.code == 2 and report["conversations"] == 1 and report["written"] == 1, "what came before stays"
    assert "nested deeper than 100 levels" in report["problems"][0]["reason"]
    assert peak_of_children() - before < 1 << 20, "less than a gigabyte more than anything before"
    again = contextd_process("import", str(packed(tmp_path / "only.zip", conversations="[" * 300_000)))
    assert again.code == 2 and again.err.startswith(f"error: {tmp_path / 'only.zip'}: it is nested deeper than 100 levels")


def test_I15_a_bomb_of_spaces_ends_by_its_ratio(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    bomb = packed(tmp_path / "bomb.zip", conversations="[" + GOOD + "," + " " * (30 << 20) + "]")
    done = contextd("import", str(bomb), "--from", "claude")
    assert done.code == 2 and "100 times its size" in done.err and "1 conversation " in done.out


def test_I5_overlapping_files_share_one_allowance(tmp_path: Path) -> None:
    text = "[" + " " * (1 << 20) + "]"
    archive = packed(tmp_path / "many.zip", **{f"conversations-{n}": text for n in range(40)})
    found = list(read(archive, "claude"))
    assert isinstance(found[-1], Unread) and found[-1].stopped


def test_I15_one_conversation_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "ENTRY", 1 << 20)
    long = {**CLAUDE, "uuid": "long", "chat_messages": [{"sender": "human", "text": "word " * 400_000}]}
    (tmp_path / "conversations.json").write_text(json.dumps([CLAUDE, CLAUDE, long]))
    _, second, problem = read(tmp_path / "conversations.json", "claude")
    assert isinstance(second, Conversation) and isinstance(problem, Unread) and problem.stopped and "MB" in problem.reason
    several = json.dumps([{**CLAUDE, "uuid": str(n), "name": "x" * 400_000} for n in range(6)])
    (tmp_path / "conversations.json").write_text(several)
    assert len([one for one in read(tmp_path / "conversations.json", "claude") if isinstance(one, Conversation)]) == 6


def test_I5_odd_members_of_a_zip_are_told_and_nothing_is_written(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with zipfile.ZipFile(folder / "odd.zip", "w") as archive:
        archive.writestr("../../conversations.json", f"[{GOOD}]")
        archive.writestr("conversations.json", f"[{GOOD}]")
    done = contextd("import", str(folder / "odd.zip"), "--json")
    report = json.loads(done.out)
    assert report["conversations"] == 1 and "leads out" in report["problems"][0]["reason"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["home", "in"]
    assert [one.name for one in folder.iterdir()] == ["odd.zip"]
    with zipfile.ZipFile(folder / "outer.zip", "w") as archive:
        archive.write(folder / "odd.zip", "inner.zip")
    nested = contextd("import", str(folder / "outer.zip"))
    assert nested.code == 2 and "unpack it and import inner.zip" in nested.err


def with_flags(path: Path, flags: int) -> Path:
    """A zip whose only member says that it is encrypted, or compressed by a method that nobody knows."""
    data = bytearray(zipped(path, [CLAUDE]).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark)
        data[place + at] = flags & 0xFF
        data[place + at + 2] = flags >> 8
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("flags", "told"), [(1, "encrypted"), (77 << 8, "compress")])
def test_I5_encrypted_and_unknown_members_are_told(tmp_path: Path, contextd: Callable[..., Run], flags: int, told: str) -> None:
    done = contextd("import", str(with_flags(tmp_path / "export.zip", flags)), "--from", "claude")
    assert done.code == 2 and told in done.err
    assert contextd("import", str(tmp_path / "export.zip")).code == 2


def many_members(path: Path, count: int) -> Path:
    """A zip of so many empty files, written by hand because the library takes minutes."""
    local, central = bytearray(), bytearray()
    for number in range(count):
        name = b"%08d" % number
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, 0, 0, 8, 0)
        central += b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name
        local += b"PK\x03\x04" + fields + name
    zip64 = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(central), len(local))
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, len(local) + len(central), 1)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(local + central + zip64 + locator + end)
    return path


def test_I5_a_zip_of_very_many_files_is_refused(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    done = contextd("import", str(many_members(tmp_path / "many.zip", 150_000)))
    assert done.code == 2 and "150000 files" in done.err


@pytest.mark.timeout(60)  # a pipe would be waited for without end
def test_I5_links_and_pipes_are_not_read(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "private.md").write_text("canary outside")
    (vault / "page.md").write_text("inside")
    (vault / "file.md").symlink_to(tmp_path / "outside" / "private.md")
    (vault / "folder").symlink_to(tmp_path / "outside", target_is_directory=True)
    os.mkfifo(vault / "pipe.md")
    os.mkfifo(vault / "pipe.jsonl")
    report = json.loads(contextd("import", str(vault), "--json").out)
    assert report["notes"] == 1
    for arguments in (["import"], ["import", "--from", "jsonl"], ["memories", "import"]):
        done = contextd(*arguments, str(vault / "pipe.jsonl"))
        assert done.code == 2 and "not a regular file" in done.err


def test_I15_a_very_long_line_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "LINE", 1000)
    path = tmp_path / "talk.jsonl"
    said = json.dumps({"speaker": "Ann", "text": "after the long line"})
    path.write_text(json.dumps({"speaker": "Ann", "text": "x" * 250_000}) + "\n" + said + "\n" + "[" * 500 + "\n" + said)
    found = list(read(path, "jsonl"))
    problems = [one for one in found if isinstance(one, Unread)]
    assert [one.place for one in problems] == ["talk.jsonl:1", "talk.jsonl:3"] and "longer than" in problems[0].reason
    (talk,) = [one for one in found if isinstance(one, Conversation)]
    assert [message.text for message in talk.messages] == ["after the long line"] * 2


@pytest.mark.parametrize("depth", [101, 900, 100_000])
def test_I15_a_deep_line_costs_only_itself(tmp_path: Path, depth: int) -> None:
    path = lines(tmp_path / "talk.jsonl", [{"speaker": "Ann", "text": "first"}, {"speaker": "Ann", "text": "third"}])
    deep = '{"speaker": "Ann", "text": ' + "[" * depth + "]" * depth + "}\n"
    first, third = path.read_text().splitlines(keepends=True)
    path.write_text(first + deep + third)
    found = list(read(path, "jsonl"))
    assert [one.place for one in found if isinstance(one, Unread)] == ["talk.jsonl:2"]
    assert [len(one.messages) for one in found if isinstance(one, Conversation)] == [2]


def test_I15_invalid_utf8_costs_only_its_letters(tmp_path: Path) -> None:
    bad = json.dumps([{**CLAUDE, "name": "Garden CANARY"}, CLAUDE]).encode().replace(b"CANARY", b"\xff\xfe\xe2\x82")
    (tmp_path / "conversations.json").write_bytes(bad)
    first, second = read(tmp_path / "conversations.json", "claude")
    assert isinstance(first, Conversation) and first.title.startswith("Garden \ufffd") and isinstance(second, Conversation)
    (tmp_path / "talk.jsonl").write_bytes(b'\xef\xbb\xbf{"speaker": "Ann", "text": "a \xff b"}\n')
    (talk,) = read(tmp_path / "talk.jsonl", "jsonl")
    assert isinstance(talk, Conversation) and talk.messages[0].text == "a \ufffd b"


def test_I15_a_reader_that_hangs_or_dies_keeps_what_came_before(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "wild.py"
    script.write_text(
        "import os, sys, time\n"
        "from contextd.sandbox import wire\n"
        "wire.receive(sys.stdin.buffer); out = sys.stdout.buffer\n"
        "wire.send(out, {'ready': True}); wire.send(out, {'file': 'bad.json'})\n"
        "wire.send(out, {'conversation': ['x/1', 'T', None, 0, []]}); wire.send(out, {'said': [['Ann', 'canary text', 0, '']]})\n"
        "wire.send(out, {'close': True})\n"
        "exec(sys.argv[1])\n"
    )
    person = open_session(None, home=home, environment={})
    for number, end in enumerate(
        ("os.abort()", "time.sleep(60)", "out.write(b'x' * 99); out.flush()", "wire.send(out, {'note': [1]})")
    ):
        monkeypatch.setattr(reading, "_COMMAND", (sys.executable, str(script), end))
        monkeypatch.setattr(reading, "_STARVED", 0.5)
        taken = person.chats().take(reading.read_export(str(tmp_path), "claude", seconds=1.0))
        assert (taken.conversations, taken.written) == (1, int(number == 0)), end
        assert [(one.place, one.stopped) for one in taken.unread] == [("bad.json", True)], end
    assert person.search("canary", min_score=0).hits


def test_I15_the_clock_stands_while_nobody_waits_for_the_reader(tmp_path: Path) -> None:
    path = lines(tmp_path / "talk.jsonl", [{"conversation": f"c{n}", "speaker": "Ann", "text": "x" * 1000} for n in range(500)])
    found = 0
    for one in reading.read_export(str(path), "jsonl", seconds=0.5):
        found += isinstance(one, Conversation)
        if found == 1:
            time.sleep(1.5)
    assert found == 500


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[" * 300_000, "nested deeper"),
        (b'{"contextd": {"format": 1}, "memories": ' + b"[" * 200 + b"]" * 200 + b"}", "nested deeper"),
        (b'{"text": "one"}\n{"text": "two", "x": ' + b"[" * 50_000 + b"\n", "nested deeper"),
        (b'[{"text": "one", "said": NaN}]', "invalid time"),
        (b'[{"text": "one", "said": Infinity}]', "invalid time"),
        (b'[{"text": "one", "said": 1e308}]', "invalid time"),
        (b'[{"text": "one", "said": -5}]', "invalid time"),
        (b'[{"text": "one", "said": [[1]]}]', "invalid time"),
        pytest.param(b"[" + b"[]," * (30 << 20) + b"[]]", "memory", marks=pytest.mark.campaign),
    ],
)
def test_I15_memories_are_read_within_limits(tmp_path: Path, contextd: Callable[..., Run], data: bytes, told: str) -> None:
    (tmp_path / "memories.json").write_bytes(data)
    for arguments in (["memories", "import"], ["import", "--from", "memories"]):
        done = contextd(*arguments, str(tmp_path / "memories.json"))
        assert done.code == 2 and told in done.err, done.err
    assert "one" not in contextd("memories", "list").out


def test_I15_numbers_no_database_keeps_are_refused(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    assert contextd("remember", "The heron nests in May").code == 0
    whole = json.loads(contextd("memories", "export").out)
    for field, value in (("said", 10**30), ("confidence", float("nan")), ("valid_from", -(10**25))):
        entry = {**whole["memories"][0], "id": "0" * 32, field: value}
        (tmp_path / "memories.json").write_text(json.dumps({**whole, "memories": [entry]}))
        done = contextd("memories", "import", str(tmp_path / "memories.json"), "--json")
        assert done.code == 0 and json.loads(done.out)["problems"], done.err
