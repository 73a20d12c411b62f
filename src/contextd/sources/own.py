"""Read chats as `contextd chats export` writes them: a session, a note or marks of forgotten chats on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from contextd.sources.limited import LINE, Meter, lines
from contextd.sources.transcripts import moment
from contextd.values.conversation import FORMAT, HEADER, Conversation, Forgotten, Message, Note, Unread

_LONGEST = 4 * LINE  # any stored message fits on a line, however it is escaped
_READERS = 100
_NAME = 200  # characters of a reader's name

Read = Conversation | Note | Forgotten | Unread


def chats(path: Path, meter: Meter) -> Iterator[Read]:
    """Yield the contents of contextd's own export. An invalid line is yielded as Unread."""
    messages: list[Message] = []  # of a session that continues on the next line
    for number, entry in lines(path, meter, _LONGEST):
        one = entry if isinstance(entry, Unread) else _read(entry, f"{path.name}:{number}")
        if isinstance(one, Conversation):
            messages += one.messages
            if isinstance(entry, dict) and entry.get("more") is True:
                continue
            one, messages = replace(one, messages=messages), []
        if one is not None:
            yield one


def _read(entry: Mapping[str, Any], place: str) -> Read | None:
    if HEADER in entry:
        known = entry[HEADER] == FORMAT
        return None if known else Unread(place, "this export has a format of a newer contextd; upgrade contextd", stopped=True)
    try:
        return _one(entry)
    except (KeyError, TypeError, ValueError) as error:
        return Unread(place, f"this line is no chat of contextd ({type(error).__name__}: {str(error)[:80]})")


def _one(entry: Mapping[str, Any]) -> Read:
    if "forgotten" in entry:
        return Forgotten(_text(entry["key"]), [_text(mark) for mark in entry["forgotten"]])
    if "note" in entry:
        at = max(0, moment(entry.get("at")))
        return Note(_text(entry["note"]), _text(entry["title"]), _text(entry["text"]), at, _principals(entry))
    messages = [_message(one) for one in entry["messages"]]
    name, sitting = entry.get("name"), entry["sitting"]
    if not isinstance(sitting, int) or not 0 < sitting < 1 << 31:
        raise ValueError("the number of a sitting is none")
    name = None if name is None else _text(name)
    return Conversation(_text(entry["place"]), _text(entry["title"]), messages, name, sitting, _principals(entry))


def _message(one: Mapping[str, Any]) -> Message:
    return Message(_text(one["author"]), _text(one["text"]), moment(one.get("at")), _text(one["role"]))


def _principals(entry: Mapping[str, Any]) -> frozenset[str]:
    found = [_text(one) for one in entry.get("principals", ())]
    if len(found) > _READERS or not all(one.strip() and one.isprintable() and len(one) <= _NAME for one in found):
        raise ValueError("the principals are no names of readers")
    return frozenset(found)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a field is no text")
    return value
