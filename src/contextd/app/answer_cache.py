"""Answers of a process that are given again while nothing has changed: an LRU cache by query, reader and state of the data."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from contextd.app.questions import projects_of
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.app.asking import Asked
    from contextd.app.session import Session
    from contextd.values.answer import Context, SearchResult
    from contextd.values.query import Query

T = TypeVar("T", "SearchResult", "Context")

MOST = 256
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: Any
    until: float
    setup: object  # kept, so that its id is not used again


@dataclass(slots=True)
class AnswerCache:
    """Answers by their key. Any thread may call its methods. `hits` and `misses` count since the process started."""

    most: int = MOST
    hits: int = 0
    misses: int = 0
    _entries: OrderedDict[Hashable, _Entry] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, session: Session, query: Query, asked: Asked, kind: str, make: Callable[[], T]) -> T:
        """Return the answer to a query: the one given before, if no commit and no setting can have changed it; else a new one.

        It is computed again after `cache.exact_ttl_seconds`: facts begin and end to hold, and time words move.
        """
        key = _key(session, query, asked, kind)
        if key is None:
            return make()
        with self._lock:
            known = self._entries.get(key)
            if known is not None and known.until > time.monotonic():
                self._entries.move_to_end(key)
                self.hits += 1
                return _copied(known.answer, "exact")  # type: ignore[no-any-return]
            self.misses += 1
        answer = make()
        with self._lock:
            self._entries[key] = _Entry(
                _copied(answer), time.monotonic() + session.settings.cache.exact_ttl_seconds, session.setup
            )
            while len(self._entries) > self.most:
                self._entries.popitem(last=False)
        return answer

    def clear(self) -> None:
        """Drop all answers."""
        with self._lock:
            self._entries.clear()


def _key(session: Session, query: Query, asked: Asked, kind: str) -> Hashable | None:
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
    same = replace(query, text=text, now=query.now // _DAY, deadline=None)
    stores = tuple(project.store.version() for project in projects_of(session))
    templates = tuple(session.home.templates)
    return kind, same, id(session.setup), session.private, session.home.record.version(), stores, templates


def _copied(answer: T, level: str = "") -> T:
    """Return an answer with a trace of its own, since a caller may add to it. Proposals of retrievers are left out."""
    trace = answer.trace
    fresh = Trace(None, list(trace.steps), list(trace.drops), list(trace.warnings), cache=level)
    return replace(answer, trace=fresh)
