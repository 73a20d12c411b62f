"""S-8: a secret in any field of an import reaches no table, whether compressed or not."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session, read_export
from contextd.app.session import Session
from contextd.sources.exports import read
from tests.importing.test_exports import CHATGPT, CLAUDE, CLAUDE_CODE, CODEX, lines

SECRET = "ghp_" + "A7bC9dE1fG3hJ5kL7mN9pQ2rS4tU6vW8xY0z"


def stored(home: Path, session: Session) -> bytes:
    """Everything in the record: its bytes, and the values of every table with what is compressed in them."""
    found = [path.read_bytes() for path in home.glob("record.db*")]
    for (table,) in session.home.record.database.query("select name from sqlite_master where type = 'table'"):  # type: ignore[attr-defined]
        for row in session.home.record.database.query(f'select * from "{table}"'):  # type: ignore[attr-defined]
            for value in row:
                found.append(value if isinstance(value, bytes) else str(value).encode())
                if isinstance(value, bytes):
                    try:
                        found.append(zlib.decompress(value))
                    except zlib.error:
                        continue
    return b"\n".join(found)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every text in a value."""
    if isinstance(value, str):
        return [way]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in places(one, (*way, key))]


def planted(value: Any, way: tuple[Any, ...]) -> Any:
    """The value with a secret behind the text at one place."""
    if not way:
        return f"{value} {SECRET}"
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = planted(value[way[0]], way[1:])
    return copy


PLAIN = [
    {
        "conversation": "boats",
        "title": "Boats",
        "author": "Ann",
        "role": "user",
        "at": "2024-01-01",
        "text": "sailing on the lake",
    },
    {"id": "trains", "title": "Trains", "messages": [{"author": "Bob", "role": "user", "content": "by night train"}]},
]
OWN = [
    {"contextd_chats": 1},
    {"place": "talk/a", "sitting": 1, "name": "a", "title": "A talk", "principals": ["owner", "bob"],
     "messages": [{"author": "Ann", "role": "user", "at": None, "text": "sailing on the lake"}]},
    {"note": "Vault/page.md", "title": "page", "text": "a page", "at": None, "principals": ["owner"]},
]  # fmt: skip
FORMATS: dict[str, tuple[str, Any]] = {
    "chatgpt": ("conversations.json", [CHATGPT]),
    "claude": ("conversations.json", [CLAUDE]),
    "claude-code": ("session.jsonl", CLAUDE_CODE),
    "codex": ("session.jsonl", CODEX),
    "jsonl": ("talk.jsonl", PLAIN),
    "contextd": ("chats.jsonl", OWN),
}


def written(path: Path, value: Any) -> Path:
    if path.suffix == ".jsonl":
        return lines(path, value)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_S8_no_field_of_an_export_carries_a_secret_into_the_record(home: Path, tmp_path: Path, kind: str) -> None:
    name, value = FORMATS[kind]
    person = open_session(None, home=home, environment={})
    for number, way in enumerate(places(value)):
        folder = tmp_path / str(number)
        folder.mkdir()
        person.chats().take(read(written(folder / name, planted(value, way)), kind))
        assert SECRET.encode() not in stored(home, person), way
    assert person.chats().all()
    everything = json.dumps(value)
    for way in places(value):  # all of them at once, as ids, titles, authors, roles and names
        value = planted(value, way)
    assert json.dumps(value).count(SECRET) > 3 and everything != json.dumps(value)
    person.chats().take(read_export(str(written(tmp_path / name, value)), kind))
    assert SECRET.encode() not in stored(home, person)


def test_S8_names_of_files_and_folders_are_scrubbed(home: Path, tmp_path: Path) -> None:
    person = open_session(None, home=home, environment={})
    vault = tmp_path / f"Vault {SECRET}"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / f"{SECRET}.md").write_text(f"---\ncreated: 2024-04-02\ntags: {SECRET}\n---\n# {SECRET}\nStay near [[{SECRET}|x]]")
    person.chats().take(read_export(str(vault), "obsidian"))
    person.chats().take(read_export(str(lines(tmp_path / f"{SECRET}.jsonl", PLAIN)), "jsonl"))
    assert len(person.chats().all()) == 3
    assert SECRET.encode() not in stored(home, person)


def test_S8_conversations_that_differ_in_a_secret_only_stay_apart(home: Path, tmp_path: Path) -> None:
    person = open_session(None, home=home, environment={})
    other = SECRET[:-4] + "1234"
    entries = [{**PLAIN[0], "conversation": SECRET}, {**PLAIN[0], "conversation": other, "text": "another talk"}]
    for _ in range(2):
        taken = person.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", entries)), "jsonl"))
    assert taken.unchanged == 2 and len({one.uri for one in person.chats().all()}) == 2
    person.chats().forget(person.chats().all()[0].uri.partition("#")[0])
    assert len(person.chats().all()) == 1


def test_S8_the_test_sees_what_is_compressed(home: Path, tmp_path: Path) -> None:
    person = open_session(None, home=home, environment={})
    person.chats().take(read_export(str(lines(tmp_path / "talk.jsonl", PLAIN)), "jsonl"))
    raw = b"".join(path.read_bytes() for path in home.glob("record.db*"))
    assert b"sailing on the lake" not in raw and b"sailing on the lake" in stored(home, person)
