"""Read messages together with the message before each, and tell which names of a question the chats do not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from contextd.ports.store import View
from contextd.values.answer import Candidate, Retrieved
from contextd.values.document import Chunk

_MESSAGE = "chat_message"
_PERSON, _MODEL = "user", "assistant"  # authors in a chat with a model


def with_earlier(candidates: Sequence[Candidate], view: View) -> list[tuple[Chunk | None, Chunk]]:
    """Return the chunk of each candidate, with the one before it in the same session."""
    best = [one.chunk for one in candidates]
    before = [one._replace(ordinal=one.ordinal - 1) for one in best if one.ordinal]
    chunks = {chunk.id: chunk for chunk in view.get([*best, *before])}
    return [(chunks.get(one._replace(ordinal=one.ordinal - 1)), chunks[one]) for one in best if one in chunks]


class Utterance(NamedTuple):
    """The text of a message with that of the message before it; no text for a note and for what a model wrote."""

    before: str
    text: str
    to_model: bool = False


def said(candidates: Sequence[Candidate], view: View) -> list[Utterance]:
    """Return what was said in each candidate."""
    return [_said(earlier, chunk) for earlier, chunk in with_earlier(candidates, view)]


def _said(earlier: Chunk | None, chunk: Chunk) -> Utterance:
    author = chunk.label.lower()
    written = chunk.kind == _MESSAGE and author != _MODEL
    return Utterance(earlier.text if earlier is not None else "", chunk.text if written else "", author == _PERSON)


def unknown_names(entities: Sequence[str], retrieved: Retrieved) -> float:
    """Return the share of the names in a question that no message mentions; authors are mentioned by their messages."""
    return sum(not retrieved.proposed.get(f"mention {entity}") for entity in entities) / max(1, len(entities))


def with_author(chunk: Chunk) -> str:
    """Return the text of a message after its author's name; the text alone of any other chunk."""
    return f"{chunk.label}: {chunk.text.strip()}" if chunk.kind == _MESSAGE and chunk.label else chunk.text
