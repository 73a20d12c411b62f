"""Cut a conversation into chunks, one per message: the label is the author, the heading the title and the day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from contextd.chunking.cut import Part, pieces_of
from contextd.values.conversation import Message
from contextd.values.document import Piece

_PAUSE = 4 * 3600 * 1_000_000  # microseconds without a message that end a session


def sittings(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into sessions at long pauses, sorted by time if all have one. A message without a time starts none."""
    found: list[list[Message]] = []
    last = 0
    known = all(message.at for message in messages)
    for message in sorted(messages, key=lambda message: message.at) if known else messages:
        if not found or (last and message.at and message.at - last > _PAUSE):
            found.append([])
        found[-1].append(message)
        last = message.at or last
    return found


def cut_chat(
    messages: Sequence[Message],
    title: str,
    limit: int,
    count: Callable[[str], int],
    nicknames: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, list[Piece]]:
    """Return the text of a session and its chunks: one per message, several for a long message.

    A message is found by the name of its author, and by the nicknames that others use for them.
    """
    called = nicknames or {}
    texts = [message.text.strip("\n") for message in messages]
    parts, line = [], 0
    for message, text in zip(messages, texts, strict=True):
        lines = text.count("\n") + 1
        heading = tuple(part for part in (title, day(message.at)) if part)
        parts.append(
            Part(
                line,
                line + lines,
                "chat_message",
                message.author,
                heading,
                (*_names(message.author), *called.get(message.author, ())),
            )
        )
        line += lines
    return "\n".join(texts), pieces_of("\n".join(texts), parts, limit, count)


def day(microseconds: int) -> str:
    """Return a day as people write it (`8 May 2023`), so that word search finds it; empty if unknown."""
    if not microseconds:
        return ""
    try:
        at = datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{at.day} {at:%B %Y}"


def _names(author: str) -> tuple[str, ...]:
    """Return the names by which an author is found: the whole name and its first word."""
    return tuple(dict.fromkeys((author, author.split(" ")[0]))) if author.strip() else ()
