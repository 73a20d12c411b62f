"""Read transcripts in JSON lines: Claude Code, Codex, and plain ones with a message or a conversation on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextd.sources.limited import Meter, lines
from contextd.text import times
from contextd.values.conversation import Conversation, Message, Unread

NO_TIME = -1  # of a message with an invalid time; `exports.read` reports and removes it
_TITLE = 80
_NOT_SAID = (
    "<command-", "<local-command", "<system-reminder>", "<environment_context>", "<user_instructions>", "<task-notification",
    "<bash-stdout", "<bash-stderr", "<bash-input", "# AGENTS.md",
)  # fmt: skip
_NO_MESSAGE = ("isMeta", "isSidechain", "isCompactSummary")  # marks of entries that the person did not write
_WHO = ("author", "speaker", "sender", "name", "role", "from")
_WHAT = ("text", "content", "message", "body")
_WHEN = ("at", "timestamp", "time", "date", "created_at", "create_time")
_WHERE = ("conversation", "conversation_id", "thread", "session", "session_id", "channel")


def kind_of(path: Path, meter: Meter) -> str:
    """Return the kind of a transcript by its first lines; `memories` for other lines with texts, empty for none."""
    found = ""
    for entry in _first(path, 20, meter):
        kind = entry.get("type")
        if "sessionId" in entry or kind == "summary":
            return "claude-code"
        if kind in ("session_meta", "response_item", "event_msg") or "instructions" in entry:
            return "codex"
        if isinstance(entry.get("messages"), list) or (_value(entry, _WHO) and _value(entry, _WHAT)):
            return "jsonl" if kind not in ("manifest", "memories", "topics") else "memories"
        found = "memories"
    return found


def claude_code(path: Path, meter: Meter) -> Iterator[Conversation | Unread]:
    """Read a Claude Code session: messages without tools, their results and thoughts."""
    title, messages, session = "", list[Message](), ""
    for _, entry in lines(path, meter):
        if isinstance(entry, Unread):
            yield entry
            continue
        if entry.get("type") == "summary":
            title = word(entry.get("summary")) or title
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or any(entry.get(mark) for mark in _NO_MESSAGE):
            continue
        session = word(entry.get("sessionId")) or session
        if isinstance(message, dict) and (text := text_of(message.get("content"))) and not text.lstrip().startswith(_NOT_SAID):
            messages.append(Message(entry["type"], text, moment(entry.get("timestamp")), entry["type"]))
    if messages:
        yield _session("claude-code", session, path, title or _title(messages), messages)


def codex(path: Path, meter: Meter) -> Iterator[Conversation | Unread]:
    """Read a Codex session: messages without tools, their results and instructions to the model."""
    messages, session = list[Message](), ""
    for _, entry in lines(path, meter):
        if isinstance(entry, Unread):
            yield entry
            continue
        payload = entry.get("payload")
        body: dict[str, Any] = payload if isinstance(payload, dict) else entry
        if entry.get("type") == "session_meta":
            session = word(body.get("id")) or session
        role = body.get("role")
        if body.get("type") != "message" or role not in ("user", "assistant"):
            continue
        if (text := text_of(body.get("content"))) and not text.lstrip().startswith(_NOT_SAID):
            messages.append(Message(role, text, moment(entry.get("timestamp")), role))
    if messages:
        yield _session("codex", session, path, _title(messages), messages)


def _session(kind: str, session: str, path: Path, title: str, messages: list[Message]) -> Conversation:
    """Return a session by its own id; without one it is named after its file and recognized by its messages."""
    return Conversation(f"{kind}/{session or path.stem}", title, messages, None if session else "")


def plain(path: Path, meter: Meter, file: str = "") -> Iterator[Conversation | Unread]:
    """Read JSON lines with a whole conversation on each (`messages`), or with a message on each that names its conversation.

    The file is read twice, so that a conversation is yielded with its last line and few are held in memory.
    """
    file = file or path.stem
    last = {_place(entry): number for number, entry in lines(path, meter) if not isinstance(entry, Unread)}
    waiting: dict[str, list[Message]] = {}
    for number, entry in lines(path, meter):
        if isinstance(entry, Unread):
            yield entry
        elif isinstance(entry.get("messages"), list):
            found = [message for one in entry["messages"] if isinstance(one, dict) and (message := _message(one))]
            name = word(entry.get("id")) or _place(entry) or str(number - 1)
            yield Conversation(f"{file}/{name}", word(entry.get("title")), found, name)
        else:
            place = _place(entry)
            message = _message(entry)
            if message is None:
                yield Unread(f"{path.name}:{number}", "there is no text in this line (text, content, message or body)")
            else:
                waiting.setdefault(place, []).append(message)
            if last[place] == number and place in waiting:
                yield Conversation(f"{file}/{place}" if place else file, "", waiting.pop(place), place)
    for place, messages in waiting.items():  # whose last line was a whole conversation
        yield Conversation(f"{file}/{place}" if place else file, "", messages, place)


def text_of(content: Any) -> str:
    """Return the text of a content: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    kinds = ("text", "input_text", "output_text")
    return "\n".join(block["text"] for block in blocks if block.get("type") in kinds and isinstance(block.get("text"), str))


def moment(value: Any) -> int:
    """Return a time as microseconds; 0 if none is given, NO_TIME for an invalid one."""
    try:
        return times.moment(value)
    except ValueError:
        return NO_TIME


def word(value: Any) -> str:
    """Return a name or a number as text; empty for anything else, such as a list."""
    return str(value) if isinstance(value, str | int | float) and value and not isinstance(value, bool) else ""


def _message(entry: Mapping[str, Any]) -> Message | None:
    text = text_of(_value(entry, _WHAT))
    author = word(_value(entry, _WHO))
    return Message(author, text, moment(_value(entry, _WHEN)), word(entry.get("role"))) if text.strip() else None


def _value(entry: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((entry[name] for name in names if entry.get(name)), None)


def _place(entry: Mapping[str, Any]) -> str:
    return word(_value(entry, _WHERE))


def _title(messages: list[Message]) -> str:
    """Return the person's first message, on one line."""
    first = next((message.text for message in messages if message.role == "user"), "")
    return " ".join(first.split())[:_TITLE]


def _first(path: Path, count: int, meter: Meter) -> Iterator[dict[str, Any]]:
    for number, entry in lines(path, meter):
        if number > count:
            return
        if not isinstance(entry, Unread):
            yield entry
