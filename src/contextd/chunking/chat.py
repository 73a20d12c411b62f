"""A conversation by its messages: each is a piece, named by who said it, below the title and the day it was said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from contextd.chunking.cut import Part, pieces_of
from contextd.values.conversation import Message
from contextd.values.document import Piece

_PAUSE = 4 * 3600 * 1_000_000  # microseconds of silence after which people begin anew


def sittings(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages of each sitting, in time: a long silence ends one. One without a time belongs to the one before it."""
    found: list[list[Message]] = []
    last = 0
    known = all(message.at for message in messages)
    for message in sorted(messages, key=lambda message: message.at) if known else messages:
        if not found or (last and message.at and message.at - last > _PAUSE):
            found.append([])
        found[-1].append(message)
        last = message.at or last
    return found


def cut_chat(messages: Sequence[Message], title: str, limit: int, count: Callable[[str], int]) -> tuple[str, list[Piece]]:
    """The text of a sitting, and its pieces: a message each, several when it is long."""
    texts = [message.text.strip("\n") for message in messages]
    parts, line = [], 0
    for message, text in zip(messages, texts, strict=True):
        lines = text.count("\n") + 1
        heading = tuple(part for part in (title, day(message.at)) if part)
        parts.append(Part(line, line + lines, "chat_message", message.author, heading, _names(message.author)))
        line += lines
    return "\n".join(texts), pieces_of("\n".join(texts), parts, limit, count)


def day(microseconds: int) -> str:
    """A day as people write it, so that words find it: `8 May 2023`."""
    if not microseconds:
        return ""
    try:
        at = datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{at.day} {at:%B %Y}"


def _names(author: str) -> tuple[str, ...]:
    """An author is asked for by the whole name or by its first word."""
    return tuple(dict.fromkeys((author, author.split(" ")[0]))) if author.strip() else ()
