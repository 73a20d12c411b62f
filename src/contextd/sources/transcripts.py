"""Transcripts as lines of JSON: of Claude Code, of Codex, and plain ones with a message or a conversation on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextd.conversation import Conversation, Message, Unread

_LONGEST = 16 << 20  # characters of a line
_TITLE = 80
_NOT_SAID = ("<command-", "<local-command", "<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md")
_WHO = ("author", "speaker", "sender", "name", "role", "from")
_WHAT = ("text", "content", "message", "body")
_WHEN = ("at", "timestamp", "time", "date", "created_at", "create_time")
_WHERE = ("conversation", "conversation_id", "thread", "session", "session_id", "channel")


def kind_of(path: Path) -> str:
    """Whose transcript a file is, by its first lines; `memories` for other lines with texts, empty for none."""
    found = ""
    for entry in _first(path, 20):
        kind = entry.get("type")
        if "sessionId" in entry or kind == "summary":
            return "claude-code"
        if kind in ("session_meta", "response_item", "event_msg") or "instructions" in entry:
            return "codex"
        if isinstance(entry.get("messages"), list) or (_value(entry, _WHO) and _value(entry, _WHAT)):
            return "jsonl" if kind not in ("manifest", "memories", "topics") else "memories"
        found = "memories"
    return found


def claude_code(path: Path) -> Iterator[Conversation | Unread]:
    """A session of Claude Code: what was said, without tools, their results and thoughts."""
    title, messages, session = "", list[Message](), path.stem
    for entry in _lines(path):
        if isinstance(entry, Unread):
            yield entry
            continue
        if entry.get("type") == "summary":
            title = str(entry.get("summary") or title)
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        session = str(entry.get("sessionId") or session)
        if isinstance(message, dict) and (text := text_of(message.get("content"))) and not text.lstrip().startswith(_NOT_SAID):
            messages.append(Message(entry["type"], text, moment(entry.get("timestamp")), entry["type"]))
    if messages:
        yield Conversation(f"claude-code/{session}", title or _title(messages), messages)


def codex(path: Path) -> Iterator[Conversation | Unread]:
    """A session of Codex: what was said, without tools, their results and what was told to the model beforehand."""
    messages, session = list[Message](), path.stem
    for entry in _lines(path):
        if isinstance(entry, Unread):
            yield entry
            continue
        payload = entry.get("payload")
        told: dict[str, Any] = payload if isinstance(payload, dict) else entry
        if entry.get("type") == "session_meta":
            session = str(told.get("id") or session)
        role = told.get("role")
        if told.get("type") != "message" or role not in ("user", "assistant"):
            continue
        if (text := text_of(told.get("content"))) and not text.lstrip().startswith(_NOT_SAID):
            messages.append(Message(role, text, moment(entry.get("timestamp")), role))
    if messages:
        yield Conversation(f"codex/{session}", _title(messages), messages)


def plain(path: Path, file: str = "") -> Iterator[Conversation | Unread]:
    """Lines of one's own: a whole conversation on each (`messages`), or a message on each, which names its conversation.

    The file is read twice, so that a conversation is given away with its last line and few are held at a time.
    """
    file = file or path.stem
    last = {_place(entry): number for number, entry in enumerate(_lines(path)) if not isinstance(entry, Unread)}
    waiting: dict[str, list[Message]] = {}
    for number, entry in enumerate(_lines(path)):
        if isinstance(entry, Unread):
            yield entry
        elif isinstance(entry.get("messages"), list):
            said = [message for one in entry["messages"] if isinstance(one, dict) and (message := _message(one))]
            name = entry.get("id") or _value(entry, _WHERE) or number
            yield Conversation(f"{file}/{name}", str(entry.get("title") or ""), said)
        else:
            place = _place(entry)
            message = _message(entry)
            if message is None:
                yield Unread(f"{path.name}:{number + 1}", "there is no text in this line (text, content, message or body)")
            else:
                waiting.setdefault(place, []).append(message)
            if last[place] == number and place in waiting:
                yield Conversation(f"{file}/{place}" if place else file, "", waiting.pop(place))
    for place, messages in waiting.items():  # whose last line was a whole conversation
        yield Conversation(f"{file}/{place}" if place else file, "", messages)


def text_of(content: Any) -> str:
    """The words of a content: a text, or blocks of which some are text."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    kinds = ("text", "input_text", "output_text")
    return "\n".join(str(block["text"]) for block in blocks if block.get("type") in kinds and block.get("text"))


def moment(value: Any) -> int:
    """A time as microseconds: seconds or milliseconds since 1970, or a date; 0 for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return (int(value * 1e6) if value < 1e11 else int(value * 1e3)) if 0 < value < 1e14 else 0
        read = datetime.fromisoformat(str(value))
        return max(0, int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1e6))
    except (ValueError, OverflowError):
        return 0


def _message(entry: Mapping[str, Any]) -> Message | None:
    text = text_of(_value(entry, _WHAT))
    author = str(_value(entry, _WHO) or "")
    return Message(author, text, moment(_value(entry, _WHEN)), str(entry.get("role") or "")) if text.strip() else None


def _value(entry: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((entry[name] for name in names if entry.get(name)), None)


def _place(entry: Mapping[str, Any]) -> str:
    return str(_value(entry, _WHERE) or "")


def _title(messages: list[Message]) -> str:
    """What the person said first, on one line."""
    first = next((message.text for message in messages if message.role == "user"), "")
    return " ".join(first.split())[:_TITLE]


def _first(path: Path, count: int) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(_lines(path)):
        if number >= count:
            return
        if not isinstance(entry, Unread):
            yield entry


def _lines(path: Path) -> Iterator[dict[str, Any] | Unread]:
    """The objects of a file of lines; a line that is none is told and costs only itself."""
    with path.open("r", encoding="utf-8", errors="replace") as stream:
        number = 0
        while line := stream.readline(_LONGEST):
            number += 1
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                yield Unread(f"{path.name}:{number}", "this line is no JSON")
                continue
            if isinstance(entry, dict):
                yield entry
