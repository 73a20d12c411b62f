"""A hybrid logical clock: wall time where it advances, a counter where it does not; texts of it sort by time."""

from __future__ import annotations

_COUNTER = 0xFFFF


def tick(last: str, milliseconds: int, device: str) -> str:
    """A time after `last`, close to the wall clock even when that jumped back."""
    if not last:
        return _text(milliseconds, 0, device)
    then, counter = int(last[:12], 16), int(last[13:17], 16)
    if milliseconds > then:
        return _text(milliseconds, 0, device)
    if counter < _COUNTER:
        return _text(then, counter + 1, device)
    return _text(then + 1, 0, device)


def _text(milliseconds: int, counter: int, device: str) -> str:
    return f"{milliseconds:012x}-{counter:04x}-{device}"
