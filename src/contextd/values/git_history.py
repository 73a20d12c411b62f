"""What is known of the past of a file, as plain values."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """A commit that touched a file."""

    commit: str
    author: str
    day: str
    subject: str


class History(NamedTuple):
    """What is known of a file's past: edits, newest first; how many each author made; what changes with it, by share."""

    edits: tuple[Edit, ...]
    authors: tuple[tuple[str, int], ...]
    together: tuple[tuple[str, float], ...]
