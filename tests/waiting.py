"""Waiting for what another thread or process does: as long as it takes, not as long as it might."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], seconds: float = 30, told: Callable[[], object] = lambda: "in time") -> float:
    """Wait until something holds; how long it took. It has to within so many seconds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"it did not happen: {told()}"
        time.sleep(0.02)
    return time.monotonic() - began
