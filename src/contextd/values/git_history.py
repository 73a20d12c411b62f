"""The git history of a file: values only."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """A commit that touched a file."""

    commit: str
    author: str
    day: str
    subject: str


class History(NamedTuple):
    """The history of a file: edits, newest first; commits per author; files that change with it, by share."""

    edits: tuple[Edit, ...]
    authors: tuple[tuple[str, int], ...]
    together: tuple[tuple[str, float], ...]
