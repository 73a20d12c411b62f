"""What was said between people, or between a person and a model: values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that somebody said. `at` is in microseconds, 0 when nobody knows."""

    author: str
    text: str
    at: int = 0
    role: str = ""  # `user`, `assistant` or nothing


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order they were said. `place` names it among all, such as `chatgpt/68f0…`."""

    place: str
    title: str
    messages: Sequence[Message]
    name: str | None = None  # its name inside its file, where `place` changes with the name of the file
    sitting: int = 0  # which sitting it is, where it is only one; 0 for a whole conversation
    principals: frozenset[str] = frozenset()  # who may read it beside the person who imports it


@dataclass(frozen=True, slots=True)
class Note:
    """A text that was written and kept elsewhere, such as a page of a vault."""

    place: str
    title: str
    text: str
    at: int = 0
    principals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Conversations that were forgotten on another device, as keyed hashes: they tell nothing, but recognize what is known."""

    key: str
    marks: Sequence[str]


class Said(NamedTuple):
    """What is kept of a sitting or a note beside its text: of every message its author, role, time and number of lines."""

    title: str
    name: str | None = None  # as of its conversation
    turns: Sequence[tuple[str, str, int, int]] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in an export that could not be understood, and why."""

    place: str
    reason: str
    stopped: bool = False  # a limit or an error ended the reading of the whole file


@dataclass(frozen=True, slots=True)
class ChatSession:
    """Messages of one sitting as they are kept: a document of its own."""

    uri: str
    title: str
    at: int
    messages: int


def told_apart(place: str, first: str) -> str:
    """A name that held a secret, told apart from others that differ in it only by what was said first."""
    return f"{place}-{blake2b(first.strip().encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
