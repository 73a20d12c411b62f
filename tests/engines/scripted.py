"""A language model that answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextd.app.session import Session
from contextd.ports.engines import ChatTurn
from contextd.settings.defaults import LanguageModel
from tests.conftest import with_setup

Reply = Callable[[str], Any]  # from the last message to the answer: a text as it is, anything else as JSON


@dataclass
class Scripted:
    """Answers by a function; counts how many questions it has at once."""

    reply: Reply
    remote: bool = False
    name: str = "scripted/one"
    asked: list[Sequence[ChatTurn]] = field(default_factory=list)
    most: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def chat(self, turns: Sequence[ChatTurn], schema: Any, deadline: float) -> str:
        with self._lock:
            self.asked.append(turns)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            found = self.reply(turns[-1].content)
        finally:
            with self._lock:
                self._now -= 1
        return found if isinstance(found, str) else json.dumps(found)

    def close(self) -> None: ...


def intent(**more: Any) -> dict[str, Any]:
    """A valid answer about a question's meaning."""
    return {"intent_type": "question", "is_private": False, "confidence": 0.9, **more}


def hang(_: str) -> Any:
    time.sleep(20)


def assisted(session: Session, chat: Any, **llm: Any) -> Session:
    """The same session with a language model for some steps."""
    settings = replace(session.settings, llm=LanguageModel(engine="ollama", model="m", **llm))
    session.home.replies.clear()
    return with_setup(session, settings=settings, chat=lambda: chat)
