"""Combine the hits of several workspaces. Each was ranked with its own statistics; they meet on the calibrated score."""

from __future__ import annotations

from collections.abc import Sequence

from contextd.values.answer import Hit

_REPEATED = 0.95  # factor per earlier hit of the same list, so that many chats do not crowd out one function; set by hand


def combine(lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Return the best k hits of all lists by score. The order within each list is kept."""
    waiting = [list(reversed(hits)) for hits in lists if hits]
    lengths = [len(hits) for hits in waiting]
    merged: list[Hit] = []
    while any(waiting) and len(merged) < k:
        heads = [
            (hits[-1].score * _REPEATED ** (length - len(hits)), hits[-1].chunk.uri, place)
            for place, (hits, length) in enumerate(zip(waiting, lengths, strict=True))
            if hits
        ]
        merged.append(waiting[max(heads)[2]].pop())
    return merged
