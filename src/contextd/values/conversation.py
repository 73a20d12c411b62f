"""Conversations and notes: values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

FORMAT = 1  # of the lines that `contextd chats export` writes
HEADER = "contextd_chats"  # the field of their first line that identifies them


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `at` is in microseconds, 0 if unknown."""

    author: str
    text: str
    at: int = 0
    role: str = ""  # `user`, `assistant` or empty


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in order. `place` is a unique name, such as `chatgpt/68f0…`."""

    place: str
    title: str
    messages: Sequence[Message]
    name: str | None = None  # its name inside its file, if `place` depends on the file name
    sitting: int = 0  # number of the chat session, if it is only one; 0 for a whole conversation
    principals: frozenset[str] = frozenset()  # who may read it besides the person who imports it


@dataclass(frozen=True, slots=True)
class Note:
    """A text written elsewhere, such as a page of a vault."""

    place: str
    title: str
    text: str
    at: int = 0
    principals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Conversations forgotten on another device, as keyed hashes: they reveal nothing, but match known conversations."""

    key: str
    marks: Sequence[str]


class Said(NamedTuple):
    """Metadata of a chat session or note: for each message its author, role, time and number of lines."""

    title: str
    name: str | None = None  # as in Conversation
    turns: Sequence[tuple[str, str, int, int]] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """Part of an export that could not be read, and why."""

    place: str
    reason: str
    stopped: bool = False  # a limit or an error ended the reading of the whole file


@dataclass(frozen=True, slots=True)
class ChatSession:
    """A stored chat session (sitting): messages without a long pause, as one document."""

    uri: str
    title: str
    at: int
    messages: int


def told_apart(place: str, first: str) -> str:
    """Return a redacted name with a hash of the first message, to distinguish names that differ only in the secret."""
    return f"{place}-{blake2b(first.strip().encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
