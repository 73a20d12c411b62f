"""What other programs write down, as they write it: read whole, in order, and told when it cannot be."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contextd.errors import InvalidInput
from contextd.sources.exports import kind_of, read
from contextd.sources.transcripts import moment
from contextd.values.conversation import Conversation, Note, Unread


def node(name: str, parent: str | None, role: str, text: str, at: float = 1_700_000_000.0) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"id": name, "parent": parent, "message": {"author": {"role": role}, "create_time": at, "content": content}}


CHATGPT = {
    "title": "Sourdough",
    "conversation_id": "68f0-aa",
    "current_node": "d",
    "mapping": {
        "root": {"id": "root", "parent": None, "message": None},
        "s": node("s", "root", "system", "You are helpful."),
        "d": node("d", "b", "assistant", "Feed it twice a day.", 1_700_000_020.5),
        "b": node("b", "s", "user", "How often do I feed a starter?", 1_700_000_010),
        "c": node("c", "b", "assistant", "Once a week in the fridge."),
    },
}
CLAUDE = {
    "uuid": "77-bb",
    "name": "Garden",
    "chat_messages": [
        {"sender": "human", "text": "", "content": [{"type": "text", "text": "When do I sow peas?"}], "created_at": "2024-03-01T10:00:00Z"},
        {"sender": "assistant", "text": "In March.", "content": [], "created_at": "2024-03-01T10:00:05Z"},
    ],
}  # fmt: skip
CLAUDE_CODE = [
    {"type": "summary", "summary": "Fixing the lease", "leafUuid": "x"},
    {"type": "user", "sessionId": "s1", "timestamp": "2025-05-01T08:00:00.000Z", "message": {"role": "user", "content": "Why does the lease hang?"}},
    {"type": "user", "sessionId": "s1", "isMeta": True, "message": {"role": "user", "content": "Caveat: generated"}},
    {"type": "user", "sessionId": "s1", "isCompactSummary": True, "message": {"role": "user", "content": "A summary by a model"}},
    {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "<task-notification>done</task-notification>"}},
    {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "<bash-stdout>total 0</bash-stdout>"}},
    {"type": "assistant", "sessionId": "s1", "timestamp": "2025-05-01T08:00:09.000Z", "message": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "The heartbeat thread never starts."}, {"type": "tool_use", "name": "Read", "input": {}}]}},
    {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": [{"type": "tool_result", "content": "lots of output"}]}},
]  # fmt: skip
CODEX = [
    {"timestamp": "2025-06-01T09:00:00Z", "type": "session_meta", "payload": {"id": "c9", "cwd": "/work"}},
    {"timestamp": "2025-06-01T09:00:01Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]}},
    {"timestamp": "2025-06-01T09:00:02Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rename the parser"}]}},
    {"timestamp": "2025-06-01T09:00:03Z", "type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
    {"timestamp": "2025-06-01T09:00:04Z", "type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Renamed it to Reader."}]}},
]  # fmt: skip


def lines(path: Path, entries: list[Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def zipped(path: Path, entries: list[Any], name: str = "conversations.json") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, json.dumps(entries))
        archive.writestr("user.json", "{}")
    return path


def everything(path: Path) -> list[Any]:
    return list(read(path, kind_of(path)))


def said(one: Any) -> list[tuple[str, str]]:
    assert isinstance(one, Conversation)
    return [(message.author, message.text) for message in one.messages]


def test_chatgpt_is_read_along_the_branch_that_was_gone_on_with(tmp_path: Path) -> None:
    main, other = everything(zipped(tmp_path / "export.zip", [CHATGPT]))
    assert (main.place, main.title) == ("chatgpt/68f0-aa", "Sourdough")
    assert said(main) == [("user", "How often do I feed a starter?"), ("assistant", "Feed it twice a day.")]
    assert main.messages[1].at == 1_700_000_020_500_000
    assert said(other) == [("assistant", "Once a week in the fridge.")] and "another branch" in other.title


def test_a_circle_of_messages_ends(tmp_path: Path) -> None:
    circle = {**CHATGPT, "mapping": {"d": node("d", "b", "user", "one"), "b": node("b", "d", "user", "two")}}
    (main, *_) = everything(zipped(tmp_path / "export.zip", [circle]))
    assert sorted(text for _, text in said(main)) == ["one", "two"]


def test_claude_has_its_words_in_blocks_or_beside_them(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps([CLAUDE]))
    (one,) = everything(tmp_path / "conversations.json")
    assert (one.place, one.title) == ("claude/77-bb", "Garden")
    assert said(one) == [("user", "When do I sow peas?"), ("assistant", "In March.")]


def test_an_export_that_ends_early_gives_what_came_before(tmp_path: Path) -> None:
    text = json.dumps([CLAUDE, {**CLAUDE, "uuid": "78"}])
    (tmp_path / "conversations.json").write_text(text[: len(text) - 60])
    first, problem = list(read(tmp_path / "conversations.json", "claude"))
    assert first.place == "claude/77-bb" and isinstance(problem, Unread) and "ends early" in problem.reason
    (tmp_path / "half.zip").write_bytes(zipped(tmp_path / "whole.zip", [CLAUDE]).read_bytes()[:100])
    (problem,) = list(read(tmp_path / "half.zip", "claude"))
    assert isinstance(problem, Unread) and "download it again" in problem.reason
    (problem,) = list(read(zipped(tmp_path / "other.zip", [], "something.json"), "chatgpt"))
    assert isinstance(problem, Unread) and "no conversations.json" in problem.reason


def test_sessions_of_coding_agents_are_what_was_said_without_tools(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-work"
    folder.mkdir(parents=True)
    lines(folder / "s1.jsonl", CLAUDE_CODE)
    (one,) = everything(tmp_path / "projects")
    assert (one.place, one.title) == ("claude-code/s1", "Fixing the lease")
    assert said(one) == [("user", "Why does the lease hang?"), ("assistant", "The heartbeat thread never starts.")]
    (one,) = everything(lines(tmp_path / "rollout.jsonl", CODEX))
    assert (one.place, one.title) == ("codex/c9", "Rename the parser")
    assert said(one) == [("user", "Rename the parser"), ("assistant", "Renamed it to Reader.")]


def test_plain_lines_are_messages_or_conversations_in_any_order(tmp_path: Path) -> None:
    talk = [
        {"conversation": "a", "speaker": "Ann", "text": "Hello", "at": "2024-01-01T10:00:00"},
        {"conversation": "b", "speaker": "Cem", "text": "Other talk", "at": 1_704_103_200},
        {"conversation": "a", "speaker": "Bob", "text": "Hi Ann", "at": "2024-01-01T10:01:00"},
    ]
    path = lines(tmp_path / "talk.jsonl", talk)
    path.write_text(path.read_text() + "not json\n" + json.dumps({"conversation": "a", "speaker": "Ann"}) + "\n")
    found = {one.place: one for one in everything(path) if isinstance(one, Conversation)}
    assert said(found["talk/a"]) == [("Ann", "Hello"), ("Bob", "Hi Ann")] and said(found["talk/b"]) == [("Cem", "Other talk")]
    problems = [one for one in everything(path) if isinstance(one, Unread)]
    assert sorted(one.place for one in problems) == ["talk.jsonl:4", "talk.jsonl:5"]
    whole = [{"id": "7", "title": "T", "messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}]
    (one,) = everything(lines(tmp_path / "whole.jsonl", whole))
    assert one.place == "whole/7" and said(one) == [("user", "Q"), ("assistant", "A")]


def test_a_vault_is_read_by_pages_without_what_is_hidden(tmp_path: Path) -> None:
    vault = tmp_path / "Vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "x.md").write_text("settings")
    (vault / "Trips").mkdir()
    (vault / "Trips" / "Lisbon.md").write_text(
        "---\ntags: [trip]\n---\n# Plan\nStay near [[Alfama|the old town]], see ![[map]].\n"
    )
    (vault / "empty.md").write_text("\n")
    (vault / "away.md").symlink_to(tmp_path / "secret.md")
    (one,) = everything(vault)
    assert isinstance(one, Note) and (one.place, one.title) == ("Vault/Trips/Lisbon.md", "Lisbon")
    assert "Stay near the old town, see map." in one.text and one.at > 0


def test_what_nothing_is_known_of_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0")
    with pytest.raises(InvalidInput, match="--from"):
        kind_of(tmp_path / "x.bin")
    with pytest.raises(InvalidInput, match="no such import format: 'icq'"):
        list(read(tmp_path, "icq"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1_700_000_000, 1_700_000_000_000_000), (1_700_000_000_123, 1_700_000_000_123_000), (None, 0), ("soon", -1), (True, -1),
     ("2023-11-14T22:13:20Z", 1_700_000_000_000_000), (1e300, -1), (float("nan"), -1)],
)  # fmt: skip
def test_a_time_in_any_shape_is_a_number_and_nonsense_is_none(value: Any, expected: int) -> None:
    assert moment(value) == expected
