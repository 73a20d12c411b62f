"""A hybrid logical clock: wall time if it advances, else a counter. Its texts sort by time."""

from __future__ import annotations

import re

DAY = 86_400_000  # milliseconds a clock may be ahead of the wall clock
FIRST = "000000000000-0000-0"  # before every write
_COUNTER = 0xFFFF
_SHAPE = re.compile(r"[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{1,16}")
_NEVER = "g"  # sorts after every clock
_EARLIEST = 1_735_689_600_000  # 2025: an earlier wall clock was reset and proves nothing


def tick(last: str, milliseconds: int, device: str) -> str:
    """Return a clock after `last`, close to the wall clock even if that was set back."""
    if not last:
        return _text(milliseconds, 0, device)
    then, counter = moment(last), int(last[13:17], 16)
    if milliseconds > then:
        return _text(milliseconds, 0, device)
    if counter < _COUNTER:
        return _text(then, counter + 1, device)
    return _text(then + 1, 0, device)


def is_clock(text: object) -> bool:
    """Return whether a value from elsewhere has the shape of a clock."""
    return isinstance(text, str) and bool(_SHAPE.fullmatch(text))


def moment(clock: str) -> int:
    """Return the milliseconds since 1970 of a clock."""
    return int(clock[:12], 16) if clock else 0


def latest(milliseconds: int) -> str:
    """Return the limit above which clocks are more than a day ahead of the wall clock."""
    return _text(milliseconds + DAY, 0, "") if milliseconds >= _EARLIEST else _NEVER


def is_ahead(clock: str, milliseconds: int) -> bool:
    """Return whether a clock is more than a day ahead of the wall clock."""
    return clock > latest(milliseconds)


def _text(milliseconds: int, counter: int, device: str) -> str:
    return f"{milliseconds:012x}-{counter:04x}-{device}"
