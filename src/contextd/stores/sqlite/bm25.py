"""BM25 over chunks and over whole documents in one pass, with the statistics of what the reader may see."""

from __future__ import annotations

from collections.abc import Mapping
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


def frequency(snapshot: Snapshot, key: int, visible: Mask) -> int:
    """In how many visible rows a term occurs."""
    total = 0
    for first, postings in snapshot.postings():
        rows, _ = postings.find(key)
        total += len(rows) if visible is None else int(visible[rows.astype(np.int64) + first].sum())
    return total


def bm25(snapshot: Snapshot, terms: Mapping[int, float], visible: Mask) -> Scores:
    """Score everything; what is not visible keeps zero and counts for nothing."""
    total, contents = snapshot.total, len(snapshot.contents)
    seen = total if visible is None else int(visible.sum())
    lengths = snapshot.lengths
    average = _mean(lengths if visible is None else lengths[visible])
    content_lengths = snapshot.content_lengths
    holding = _holding(snapshot, visible)
    content_average = _mean(content_lengths[holding])
    chosen = _rarest(snapshot, terms, visible)
    weight = sum(w * idf(seen, df) for w, df in chosen.values()) or 1.0
    result = [np.zeros(size, np.float32) for size in (total, total, contents, contents)]
    for key, (term_weight, df) in chosen.items():
        value = term_weight * idf(seen, df)
        rows, counts = _rows(snapshot, key, visible)
        _add(result[0], result[1], rows, counts, lengths, average, value, weight)
        places, sums = _by_content(snapshot, rows, counts)
        in_contents = value_of_contents(term_weight, int(holding.sum()), len(places))
        _add(result[2], result[3], places, sums, content_lengths, content_average, in_contents, weight, value)
    return Scores(*result)


def value_of_contents(weight: float, seen: int, frequency: int) -> float:
    """The weight of a term among whole documents."""
    return weight * idf(seen, frequency)


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


def _rarest(snapshot: Snapshot, terms: Mapping[int, float], visible: Mask) -> dict[int, tuple[float, int]]:
    """The terms that occur, at most so many, the rarest first; ties by key, so that the choice is the same every time."""
    known = {key: (weight, frequency(snapshot, key, visible)) for key, weight in terms.items()}
    found = sorted(((df, key) for key, (_, df) in known.items() if df))[:_MOST_TERMS]
    missing = {key: known[key] for key in known if not known[key][1]}
    return {key: known[key] for _, key in found} | dict(list(missing.items())[: max(0, _MOST_TERMS - len(found))])


def _rows(snapshot: Snapshot, key: int, visible: Mask) -> tuple[NDArray[np.int64], Float]:
    rows, counts = [], []
    for first, postings in snapshot.postings():
        found, times = postings.find(key)
        if len(found):
            rows.append(found.astype(np.int64) + first)
            counts.append(times.astype(np.float32))
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    all_rows, all_counts = np.concatenate(rows), np.concatenate(counts)
    if visible is None:
        return all_rows, all_counts
    keep = visible[all_rows]
    return all_rows[keep], all_counts[keep]


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
