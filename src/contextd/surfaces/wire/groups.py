"""Hits by document, as every surface shows them: line ranges, adjacent chunks joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextd.values.answer import Hit


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """Lines of a document, with the labels of the chunks in them."""

    start_line: int
    end_line: int
    labels: Sequence[str]


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """The hits of one document."""

    path: str
    score: float
    ranges: Sequence[RangeAnswer]


def groups(hits: Sequence[Hit]) -> list[GroupAnswer]:
    """Hits by document, chunks that follow each other joined."""
    files: dict[str, list[Hit]] = {}
    for hit in hits:
        files.setdefault(hit.chunk.uri, []).append(hit)
    return [GroupAnswer(uri, round(max(hit.score for hit in own), 4), ranges(own)) for uri, own in files.items()]


def ranges(hits: Sequence[Hit]) -> list[RangeAnswer]:
    """Line ranges of one document's hits, adjacent ones joined."""
    joined: list[RangeAnswer] = []
    for hit in sorted(hits, key=lambda each: each.chunk.start):
        chunk = hit.chunk
        labels = [chunk.label] if chunk.label else []
        if joined and chunk.start_line <= joined[-1].end_line + 1:
            last = joined[-1]
            joined[-1] = RangeAnswer(last.start_line, max(last.end_line, chunk.end_line), [*last.labels, *labels])
        else:
            joined.append(RangeAnswer(chunk.start_line, chunk.end_line, labels))
    return joined
