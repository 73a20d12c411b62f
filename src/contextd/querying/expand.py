"""Widen chosen hits by the text around them, while the budget lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextd.ports import View
from contextd.types import Chunk, ChunkId, Hit

_SHARE = 0.5  # of the budget: what is found counts more than what surrounds it


def expand(hits: Sequence[Hit], views: Sequence[View], budget: int) -> list[Hit]:
    """Hits, in order, with neighbors joined to the best ones when all hits together leave room."""
    spare = budget * 0.8 - sum(hit.chunk.tokens + 20 for hit in hits)
    if spare <= 0 or not hits:
        return list(hits)
    room = min(spare, budget * _SHARE)
    wider, taken = [], {hit.chunk.id for hit in hits}
    for hit in hits:
        grown = _grown(hit, taken, views, room / 2)
        room -= grown.chunk.tokens - hit.chunk.tokens
        wider.append(grown)
    return wider


def _grown(hit: Hit, taken: set[ChunkId], views: Sequence[View], room: float) -> Hit:
    """The hit with the chunk before and after it, where they are not hits themselves and there is room."""
    chunk = hit.chunk
    if room < 40 or chunk.pieces_in_document < 2:
        return hit
    beside = [chunk.id._replace(ordinal=chunk.id.ordinal + step) for step in (-1, 1) if chunk.id.ordinal + step >= 0]
    around = {one.id.ordinal: one for view in views for one in view.get(beside)}
    for ordinal in (chunk.id.ordinal - 1, chunk.id.ordinal + 1):
        near = around.get(ordinal)
        if near is None or near.id in taken or near.tokens > room or not _touching(chunk, near):
            continue
        taken.add(near.id)
        chunk = _joined(chunk, near)
        room -= near.tokens
    return replace(hit, chunk=chunk)


def _touching(one: Chunk, two: Chunk) -> bool:
    return one.end >= two.start >= one.start or two.end >= one.start >= two.start


def _said(chunk: Chunk) -> str:
    return f"{chunk.label}: {chunk.text}" if chunk.label else chunk.text


def _joined(one: Chunk, two: Chunk) -> Chunk:
    first, last = (one, two) if one.start <= two.start else (two, one)
    text = first.text + last.text[max(0, first.end - last.start) :]
    if one.label != two.label and one.kind == "chat_message":  # then it is said who said what
        one = replace(one, label="")
        text = f"{_said(first).rstrip()}\n{_said(last)}"
    return replace(
        one,
        text=text,
        start=first.start,
        end=max(first.end, last.end),
        start_line=first.start_line,
        end_line=max(first.end_line, last.end_line),
        tokens=one.tokens + two.tokens,
    )
