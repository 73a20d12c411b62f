"""The time by which the caller of this thread or task wants a result; locks and busy time-outs of writes honor it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)  # on the monotonic clock


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Set the deadline of what is done inside; an earlier one that holds already stays. None sets none."""
    known = _DEADLINE.get()
    end = None if seconds is None else time.monotonic() + seconds
    token = _DEADLINE.set(known if end is None else end if known is None else min(known, end))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def remaining() -> float | None:
    """Seconds until the deadline, not below 0; None if there is none."""
    end = _DEADLINE.get()
    return None if end is None else max(0.0, end - time.monotonic())
