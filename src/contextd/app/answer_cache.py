"""Answers of a process that are given again while nothing has changed: an LRU cache by query, reader and state of the data.

On request (`cache.semantic`) an answer is also given to a rephrased query: all words with a meaning are the same, and the
vectors of both are near. Everything else of the key has to be equal at both levels.
"""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from contextd.app.questions import projects_of
from contextd.errors import Unavailable
from contextd.text.rephrasing import same_question
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.app.asking import Asked
    from contextd.app.session import Session
    from contextd.values.answer import Context, SearchResult
    from contextd.values.query import Query

T = TypeVar("T", "SearchResult", "Context")

MOST = 256
EXACT, SEMANTIC = "exact", "semantic"
_DAY = 86_400_000_000  # microseconds


class _Key(NamedTuple):
    """The text of a query, and everything else that its answer depends on."""

    text: str
    rest: Hashable


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: Any
    made: float
    setup: object  # kept, so that its id is not used again


@dataclass(slots=True)
class AnswerCache:
    """Answers by their key. Any thread may call its methods. The counts are since the process started."""

    most: int = MOST
    hits: int = 0
    rephrased: int = 0  # hits of the semantic level
    misses: int = 0
    _entries: OrderedDict[_Key, _Entry] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, session: Session, query: Query, asked: Asked, kind: str, make: Callable[[], T]) -> T:
        """Return the answer to a query: the one given before, if no commit and no setting can have changed it; else a new one.

        It is computed again after `cache.exact_ttl_seconds`: facts begin and end to hold, and time words move.
        """
        key = _key(session, query, asked, kind)
        if key is None:
            return make()
        known = self._exact(key, session.settings.cache.exact_ttl_seconds)
        if known is not None:
            return _copied(known.answer, EXACT)  # type: ignore[no-any-return]
        if session.settings.cache.semantic and (known := self._near(key, session)) is not None:
            return _copied(known.answer, SEMANTIC)  # type: ignore[no-any-return]
        answer = make()
        with self._lock:
            self.misses += 1
            self._entries[key] = _Entry(_copied(answer), time.monotonic(), session.setup)
            while len(self._entries) > self.most:
                self._entries.popitem(last=False)
        return answer

    def clear(self) -> None:
        """Drop all answers."""
        with self._lock:
            self._entries.clear()

    def _exact(self, key: _Key, seconds: float) -> _Entry | None:
        with self._lock:
            known = self._entries.get(key)
            if known is not None and time.monotonic() - known.made > seconds:
                del self._entries[key]
                known = None
            if known is None:
                return None
            self._entries.move_to_end(key)
            self.hits += 1
            return known

    def _near(self, key: _Key, session: Session) -> _Entry | None:
        """Return the newest answer to a query that asks for the same in other words."""
        settings, now = session.settings.cache, time.monotonic()
        with self._lock:
            beside = [(one.text, known) for one, known in reversed(self._entries.items()) if one.rest == key.rest]
        for text, known in beside:
            fresh = now - known.made <= settings.semantic_ttl_seconds
            if fresh and same_question(text, key.text) and _cosine(session, text, key.text) >= settings.semantic_threshold:
                with self._lock:
                    self.rephrased += 1
                return known
        return None


def _key(session: Session, query: Query, asked: Asked, kind: str) -> _Key | None:
    """Return what an answer depends on; None if it cannot be told: a ranker or a vector of the caller's own, plug-ins.

    The versions are read before the query runs, so an answer is never older than its key says.
    """
    if (
        not asked.cache
        or not session.settings.cache.enabled
        or callable(asked.ranker)
        or query.vector is not None
        or session.setup.retrievers
    ):
        return None
    text = " ".join(unicodedata.normalize("NFC", query.text).split())
    same = replace(query, text="", now=query.now // _DAY, deadline=None)
    stores = tuple(project.store.version() for project in projects_of(session))
    templates = tuple(session.home.templates)
    return _Key(text, (kind, same, id(session.setup), session.private, session.home.record.version(), stores, templates))


def _cosine(session: Session, one: str, other: str) -> float:
    """Return how near two queries are by the best model there is; 0 without a model."""
    model, vectors = session.setup.deep() or session.setup.static, session.home.query_vectors
    try:
        return 0.0 if model is None else float(vectors.of(model, one) @ vectors.of(model, other))
    except Unavailable:  # of a server
        return 0.0


def _copied(answer: T, level: str = "") -> T:
    """Return an answer with a trace of its own, since a caller may add to it.

    What was left out and the proposals of retrievers are not kept: `preview` computes an answer again to show them.
    """
    trace = answer.trace
    fresh = Trace(steps=list(trace.steps), warnings=list(trace.warnings), cache=level)
    return replace(answer, trace=fresh)
