"""Ask the retrievers from outside, all at once; a broken or slow one costs a warning."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from contextd.ports import Retriever
from contextd.trace import Trace
from contextd.types import Plan, Suggestion

_SECONDS = 2.0  # for all of them together, where the caller set no deadline
_MOST = 200


def consult(retrievers: Mapping[str, Retriever], plan: Plan, trace: Trace) -> dict[str, Sequence[Suggestion]]:
    """The suggestions of each, by its name."""
    found: dict[str, Sequence[Suggestion]] = {}
    wrong: dict[str, str] = {}

    def ask(name: str, retriever: Retriever) -> None:
        try:
            found[name] = [Suggestion(*one) for one in retriever.retrieve(plan, _MOST)][:_MOST]
        except Exception as error:  # a plug-in may raise anything, and must not take the answer with it
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
        trace.warn(f"retriever {name}: {reason}; answered without it")
    return {name: suggestions for name, suggestions in dict(found).items() if name not in wrong}
