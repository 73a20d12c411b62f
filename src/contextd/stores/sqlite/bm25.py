"""BM25 over chunks and over whole documents in one pass, with the statistics of what the reader may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.stores.sqlite.snapshot import Snapshot

_K1, _B = 1.2, 0.75  # the usual values; the code benchmark is flat around them
_MOST_TERMS = 48  # the rarest ones of a long query: the others change nothing but the time

Float = NDArray[np.float32]
Mask = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Scores:
    """For every row, and for every content: the score, and the share of the query's weight that occurs in it."""

    rows: Float
    row_coverage: Float
    contents: Float
    content_coverage: Float


def idf(seen: int, frequency: int) -> float:
    """How much a term tells; never negative."""
    return float(np.log1p((seen - frequency + 0.5) / (frequency + 0.5)))


Occurrences = tuple[NDArray[np.int64], Float]


def occurrences(snapshot: Snapshot, keys: Sequence[int], visible: Mask) -> dict[int, Occurrences]:
    """The visible rows of each term, and how often it occurs in each."""
    parts: list[list[Occurrences]] = [[] for _ in keys]
    for first, postings in snapshot.postings():
        for place, (start, end) in enumerate(postings.places(keys)):
            if end > start:
                rows = postings.rows[start:end].astype(np.int64) + first
                parts[place].append((rows, postings.counts[start:end].astype(np.float32)))
    return {key: _visible(_joined(found), visible) for key, found in zip(keys, parts, strict=True)}


def _joined(parts: list[Occurrences]) -> Occurrences:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([counts for _, counts in parts])


def _visible(found: Occurrences, visible: Mask) -> Occurrences:
    if visible is None:
        return found
    keep = visible[found[0]]
    return found[0][keep], found[1][keep]


def bm25(snapshot: Snapshot, terms: Mapping[int, float], visible: Mask) -> Scores:
    """Score everything; what is not visible keeps zero and counts for nothing."""
    total, contents = snapshot.total, len(snapshot.contents)
    seen = total if visible is None else int(visible.sum())
    lengths = snapshot.lengths
    average = _mean(lengths if visible is None else lengths[visible])
    content_lengths = snapshot.content_lengths
    holding = _holding(snapshot, visible)
    content_average, holders = _mean(content_lengths[holding]), int(holding.sum())
    found = occurrences(snapshot, list(terms), visible)
    chosen = _rarest(terms, found)
    weight = sum(terms[key] * idf(seen, len(found[key][0])) for key in chosen) or 1.0
    result = [np.zeros(size, np.float32) for size in (total, total, contents, contents)]
    for key in chosen:
        rows, counts = found[key]
        value = terms[key] * idf(seen, len(rows))
        _add(result[0], result[1], rows, counts, lengths, average, value, weight)
        places, sums = _by_content(snapshot, rows, counts)
        in_contents = terms[key] * idf(holders, len(places))
        _add(result[2], result[3], places, sums, content_lengths, content_average, in_contents, weight, value)
    return Scores(*result)


def _add(
    scores: Float,
    coverage: Float,
    rows: NDArray[np.int64],
    counts: Float,
    lengths: Float,
    average: float,
    value: float,
    weight: float,
    share: float | None = None,
) -> None:
    norm = _K1 * (1 - _B + _B * lengths[rows] / average)
    scores[rows] += value * counts * (_K1 + 1) / (counts + norm)
    coverage[rows] += (value if share is None else share) / weight


def _mean(lengths: Float) -> float:
    """Exact, whatever the order: lengths are whole numbers, and so are their sums in 64 bits."""
    return float(lengths.sum(dtype=np.float64)) / len(lengths) if len(lengths) else 1.0


def _rarest(terms: Mapping[int, float], found: Mapping[int, Occurrences]) -> list[int]:
    """The terms that count, at most so many, the rarest first; ties by key, so that the choice is the same every time."""
    there = sorted((len(found[key][0]), key) for key in terms if len(found[key][0]))[:_MOST_TERMS]
    missing = [key for key in terms if not len(found[key][0])]
    return [key for _, key in there] + missing[: max(0, _MOST_TERMS - len(there))]


def _by_content(snapshot: Snapshot, rows: NDArray[np.int64], counts: Float) -> tuple[NDArray[np.int64], Float]:
    if not len(rows):
        return rows, counts
    places = snapshot.content_of_row[rows]
    first = np.flatnonzero(np.concatenate((np.array([True]), places[1:] != places[:-1])))
    return places[first], np.add.reduceat(counts, first)


def _holding(snapshot: Snapshot, visible: Mask) -> NDArray[np.bool_]:
    """Which contents have visible rows."""
    sizes = np.diff(snapshot.starts)
    if visible is None:
        return sizes > 0
    seen = np.zeros(len(snapshot.contents), bool)
    seen[snapshot.content_of_row[visible]] = True
    return seen
