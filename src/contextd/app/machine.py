"""The user's machine: whether it has time for background work. If that is unknown, it has."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

_SUPPLIES = Path("/sys/class/power_supply")
_LOWEST = 19
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


def use_one_heap() -> None:
    """Let all threads allocate from one heap, with glibc. Threads that come and go would leave gaps in heaps of their own."""
    _allocator("mallopt", _ARENA_MAX, 1)


def give_back_memory() -> None:
    """Give free memory back to the system, with glibc: its allocator keeps what lies between blocks in use."""
    _allocator("malloc_trim", 0)


def _allocator(name: str, *values: int) -> None:
    """Call a function of the C library, if it has it."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            getattr(ctypes.CDLL(None), name)(*values)


class LocalMachine:
    """Load and battery state, as far as the system reports them. `own` is the load of this process."""

    def __init__(self, supplies: Path = _SUPPLIES, own: float = 1.0) -> None:
        self._supplies, self._own = supplies, own

    def busy(self) -> str:
        """Return why background work should wait; empty if it need not."""
        if self._on_battery():
            return "on battery"
        try:
            load = os.getloadavg()[0] - self._own
        except (OSError, AttributeError):  # Windows
            return ""
        return f"load {load:.1f}" if load > 0.75 * (os.cpu_count() or 1) else ""

    def yield_to_others(self) -> None:
        """Lower the priority of this thread, on Linux, where threads have their own."""
        if sys.platform == "linux":
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)

    def _on_battery(self) -> bool:
        try:
            states = [(supply / "status").read_text().strip() for supply in self._supplies.glob("BAT*")]
        except OSError:
            return False
        return "Discharging" in states
