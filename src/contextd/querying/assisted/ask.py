"""Ask a language model for JSON of a schema, within a deadline. A bad answer is asked for once more.

The deadline holds whatever the engine does: the question runs in a thread, and a late answer is dropped.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from contextd.errors import Unavailable
from contextd.ports.engines import Chat, ChatTurn, Schema
from contextd.text.json_schema import fault_in
from contextd.values.trace import Trace

INTENT, RERANKING, COMPRESSION = "intent", "reranking", "compression"
STEPS = ("intent", "rescore", "compress")  # as they are named in a trace
_SHARE = 0.6  # of the time that a query has left: the rest is for the steps after it
_LEAST = 0.05  # seconds; with less nothing is asked
_MOST_KEPT = 256  # answers
_PAUSE = 5.0  # seconds


class BadReply(Unavailable):
    """A language model answered, twice, with something else than was asked for."""


class KeptReplies:
    """Answers of language models by a digest of the question; the least recently used are dropped. Any thread may call it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._pauses: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, question: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """Return the answer kept for a question, or make it. Nothing is kept if `make` raises."""
        key = blake2b("\0".join(question).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return made

    def failed(self, model: str) -> None:
        """Note that a model did not answer: for a moment it is not asked, so that one query does not wait for it twice."""
        self._pauses[model] = time.monotonic() + _PAUSE

    def is_pausing(self, model: str) -> bool:
        """Return whether a model failed a moment ago."""
        return time.monotonic() < self._pauses.get(model, 0.0)

    def clear(self) -> None:
        """Drop all answers, and what is known of failures."""
        with self._lock:
            self._kept.clear()
            self._pauses.clear()


@dataclass(frozen=True, slots=True)
class Assistant:
    """A language model with the steps that may ask it, and what it is told about the user."""

    chat: Chat
    seconds: Mapping[str, float]  # by step; a step that is missing is off
    threshold: float = 0.3  # relevance below which a hit is left out
    summary: Callable[[], str] = str  # of the user's profile
    topics: Sequence[str] = ()  # of the user
    held_back: str = ""  # why it must not be asked; empty if it may
    kept: KeptReplies = field(default_factory=KeptReplies)

    def end_of(self, step: str, deadline: float | None, *, private: bool = False) -> float:
        """Return the deadline of a step, on the monotonic clock. Raises `Unavailable` if nothing may be asked, or too late."""
        if self.held_back or (private and self.chat.remote):
            raise Unavailable(f"{self.chat.name} was not asked: {self.held_back or 'the question is private'}")
        if self.kept.is_pausing(self.chat.name):
            raise Unavailable(f"{self.chat.name} was not asked: it failed a moment ago")
        now, seconds = time.monotonic(), self.seconds[step]
        if deadline is not None:
            seconds = min(seconds, _SHARE * (deadline - now))
        if seconds < _LEAST:
            raise Unavailable(f"{self.chat.name} was not asked: no time left")
        return now + seconds

    def ask(self, turns: Sequence[ChatTurn], schema: Schema, deadline: float) -> dict[str, Any]:
        """Return the answer to some messages, checked against the schema. Raises `Unavailable`, or `BadReply`."""
        try:
            return ask(self.chat, turns, schema, deadline)
        except BadReply:
            raise
        except Unavailable:
            self.kept.failed(self.chat.name)
            raise


def fallen_back(trace: Trace) -> list[str]:
    """Return the steps of a query in which a language model failed and rules decided."""
    return [step for step in STEPS if any(warning.startswith(f"{step}: ") for warning in trace.warnings)]


def ask(chat: Chat, turns: Sequence[ChatTurn], schema: Schema, deadline: float) -> dict[str, Any]:
    """Return the answer to some messages, checked against the schema. Raises `Unavailable`, or `BadReply`."""
    fault = ""
    for _ in range(2):
        text = within(deadline, lambda: chat.chat(turns, schema, deadline), chat.name)
        try:
            found = json.loads(_unfenced(text))
        except (ValueError, RecursionError):
            fault = "it is no JSON"
            continue
        if not (fault := fault_in(found, schema)):
            return dict(found)
    raise BadReply(f"{chat.name} gave no usable answer: {fault}")


def within(deadline: float, work: Callable[[], str], name: str) -> str:
    """Return the result of some work if it is there in time. Raises `Unavailable`."""
    found: list[str] = []
    failed: list[str] = []

    def run() -> None:
        try:
            found.append(work())
        except Unavailable as error:
            failed.append(str(error))
        except Exception as error:  # an engine may raise anything, and must not make the query fail
            failed.append(f"{name} failed ({type(error).__name__})")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if found:
        return found[0]
    raise Unavailable(failed[0] if failed else f"{name} did not answer in time")


def _unfenced(text: str) -> str:
    """Return JSON without the fence of a code block, which models like to put around it."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.strip("`").removeprefix("json").strip()
    return stripped
