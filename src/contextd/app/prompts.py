"""The context of a prompt, for hooks of agents: nothing for a trivial prompt, and nothing that the conversation has already."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextd.values.query import Narrow
from contextd.values.usage import asked_for

if TYPE_CHECKING:
    from contextd.app.session import Session
    from contextd.values.answer import Context

BUDGET = 2000  # tokens
MOST_CHARACTERS = 9000  # Claude Code shows only the beginning of longer texts
_SECONDS = 0.8
_CONVERSATIONS = 500  # whose pieces are remembered
_WORDS = re.compile(r"\w+")
_FEWEST_WORDS = 3
_ASSENT = "yes|no|ok|okay|sure|thanks|thank you|go on|go ahead|continue|proceed|do it|stop|done|great|good|perfect"
_TRIVIAL = re.compile(rf"(?i)\s*(?:[/!#]|(?:{_ASSENT})\b[\s.!]*$)")

Piece = tuple[int, int, int]  # document, first line, last line


@dataclass(slots=True)
class Given:
    """Which pieces each conversation has already. Any thread may call its methods."""

    _known: OrderedDict[str, set[Piece]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, conversation: str) -> set[Piece]:
        """Return a copy of the pieces that a conversation has."""
        with self._lock:
            return set(self._known.get(conversation, ()))

    def add(self, conversation: str, pieces: set[Piece]) -> None:
        """Note pieces that a conversation gets. The conversation that was used least recently is dropped."""
        with self._lock:
            self._known.setdefault(conversation, set()).update(pieces)
            self._known.move_to_end(conversation)
            while len(self._known) > _CONVERSATIONS:
                self._known.popitem(last=False)


def is_trivial(prompt: str) -> bool:
    """Return whether a prompt asks nothing: a command, a yes, or one or two words."""
    return bool(_TRIVIAL.match(prompt)) or len(_WORDS.findall(prompt)) < _FEWEST_WORDS


def for_prompt(session: Session, prompt: str, conversation: str, given: Given) -> str:
    """Return the context of a prompt within the limits of a hook; empty if there is nothing new."""
    if is_trivial(prompt) or session.project is None:
        return ""
    had = given.of(conversation) if conversation else set()
    with asked_for("hook"):
        answer = _answer(session, prompt, Narrow())
        if had and _pieces(answer) & had:
            known = [hit.chunk.uri for hit in answer.hits if _piece(hit) in had]
            answer = _answer(session, prompt, Narrow(exclude=tuple(dict.fromkeys(known))))
    if not answer.text:
        return ""
    if conversation:
        given.add(conversation, _pieces(answer))
    return answer.text


def _answer(session: Session, prompt: str, narrow: Narrow) -> Context:
    """Return the context of a prompt; with a smaller budget if it has too many characters."""
    budget = BUDGET
    for _ in range(3):
        answer = session.context(prompt[:20_000], budget=budget, template="xml", narrow=narrow, deadline=_SECONDS)
        if len(answer.text) <= MOST_CHARACTERS:
            break
        budget = int(budget * MOST_CHARACTERS / len(answer.text) * 0.95)
    return answer


def _pieces(answer: Context) -> set[Piece]:
    return {_piece(hit) for hit in answer.hits}


def _piece(hit: object) -> Piece:
    chunk = hit.chunk  # type: ignore[attr-defined]
    return chunk.id.document, chunk.start_line, chunk.end_line
