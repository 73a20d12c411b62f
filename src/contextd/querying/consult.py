"""Query the plug-in retrievers in parallel. A broken or slow one is skipped with a warning."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from contextd.ports.world import Retriever
from contextd.values.answer import Suggestion
from contextd.values.document import ChunkId
from contextd.values.query import Plan
from contextd.values.trace import Trace

_SECONDS = 2.0  # for all of them together, if the caller set no deadline
_MOST = 200
_LINES = 1 << 31  # more than any file has


def consult(retrievers: Mapping[str, Retriever], plan: Plan, trace: Trace) -> dict[str, Sequence[Suggestion]]:
    """Return the suggestions of each retriever, by its name."""
    found: dict[str, Sequence[Suggestion]] = {}
    wrong: dict[str, str] = {}

    def ask(name: str, retriever: Retriever) -> None:
        try:
            found[name] = [_checked(one) for one in islice(retriever.retrieve(plan, _MOST), _MOST)]
        except Exception as error:  # a plug-in may raise anything, and must not make the query fail
            wrong[name] = f"{type(error).__name__}: {error}"

    threads = {name: threading.Thread(target=ask, args=(name, one), daemon=True) for name, one in retrievers.items()}
    for thread in threads.values():
        thread.start()
    end = time.monotonic() + _SECONDS if trace.deadline is None else min(trace.deadline, time.monotonic() + _SECONDS)
    for name, thread in threads.items():
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            wrong[name] = "no answer in time"
    for name, reason in sorted(wrong.items()):
        trace.warn(f"retriever {name}: {reason}; retriever skipped")
    return {name: suggestions for name, suggestions in dict(found).items() if name not in wrong}


def _checked(one: Any) -> Suggestion:
    """Return the suggestion with checked types. Raises TypeError naming the wrong field."""
    made = Suggestion(*one)
    if not _number(made.score, int | float):
        raise TypeError(f"the score of a suggestion must be a number, not {made.score!r:.60}")
    chunk = None if made.chunk is None else ChunkId(*made.chunk)
    if chunk is not None and not (_number(chunk.document, int) and _number(chunk.ordinal, int)):
        raise TypeError(f"the chunk of a suggestion must be two integers, not {made.chunk!r:.60}")
    if not isinstance(made.uri, str):
        raise TypeError(f"the uri of a suggestion must be text, not {made.uri!r:.60}")
    if not _number(made.line, int) or not 0 <= made.line < _LINES:
        raise TypeError(f"the line of a suggestion must be a line number, not {made.line!r:.60}")
    return Suggestion(float(made.score), chunk, made.uri, made.line)


def _number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
