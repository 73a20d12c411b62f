"""BM25 over chunks and over whole contents in one pass, with statistics of the visible rows only.

The postings of all terms of a query are joined into a few arrays, so a long query takes as many steps as one word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.snapshot import Snapshot

_K1, _B = 1.2, 0.75  # the usual values; the code benchmark is flat around them
_MOST_TERMS = 48  # the rarest terms of a long query; the others only cost time

Float = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_] | None
NO_ALIASES: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Scores:
    """For every row and every content: the score, and the share of the query's weight that occurs in it.

    `scale` makes row scores comparable between queries. It is the score of a row full of all terms, divided by the square root
    of their number, since no row has all terms of a long query.
    """

    rows: Float
    row_coverage: Float
    contents: Float
    content_coverage: Float
    scale: float


@dataclass(frozen=True, slots=True)
class Entries:
    """Occurrences of terms: a place (row, content or document), the number of the term, and the count. Each pair is unique."""

    places: Ints
    terms: Ints
    counts: Float
    frequency: Ints  # by term: the number of places it occurs in

    def worth(self, weights: NDArray[np.float64], seen: int) -> NDArray[np.float64]:
        """Return the weight of each term among `seen` places. Rare terms weigh more; no weight is negative."""
        rest = np.maximum(seen - self.frequency, 0)
        return weights * np.log1p((rest + 0.5) / (self.frequency + 0.5))

    def shares(self, worth: NDArray[np.float64], size: int, whole: float | None = None) -> Float:
        """Return for every place the share of the total weight that occurs there."""
        sums = np.bincount(self.places, weights=worth[self.terms], minlength=size)
        return (sums / ((worth.sum() if whole is None else whole) or 1.0)).astype(np.float32)

    def by_content(self, snapshot: Snapshot) -> Entries:
        """Return the same occurrences by content. The rows of a content are adjacent within each term."""
        places = snapshot.content_of_row[self.places]
        new = (np.diff(places, prepend=-1) != 0) | (np.diff(self.terms, prepend=-1) != 0)
        first = np.flatnonzero(new)
        sums = np.add.reduceat(self.counts, first) if len(first) else self.counts
        return _entries(places[first], self.terms[first], sums, len(self.frequency))


def _joined(places: Ints, terms: Ints, counts: Float) -> tuple[Ints, Ints, Float]:
    """Return each place of a term once, by term and place; aliases of a term are summed."""
    order = np.lexsort((places, terms))
    places, terms, counts = places[order], terms[order], counts[order]
    first = np.flatnonzero((np.diff(places, prepend=-1) != 0) | (np.diff(terms, prepend=-1) != 0))
    return places[first], terms[first], np.add.reduceat(counts, first) if len(first) else counts


def _numbers(keys: Sequence[int], aliases: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return all keys to look up, and the number of the term that each stands for."""
    place = {key: number for number, key in enumerate(keys)}
    others = [(alias, place[key]) for alias, key in aliases.items() if key in place and alias not in place]
    return [*keys, *(alias for alias, _ in others)], [*range(len(keys)), *(number for _, number in others)]


def _entries(places: Ints, terms: Ints, counts: Float, number: int, visible: Mask = None) -> Entries:
    if visible is not None:
        keep = visible[places]
        places, terms, counts = places[keep], terms[keep], counts[keep]
    return Entries(places, terms, counts, np.bincount(terms, minlength=number))


def occurrences(snapshot: Snapshot, keys: Sequence[int], visible: Mask, aliases: Mapping[int, int] = NO_ALIASES) -> Entries:
    """Return the occurrences of terms in visible rows. An alias counts as its term."""
    every, numbers = _numbers(keys, aliases)
    places, terms, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    for first, postings in snapshot.postings():
        bounds = postings.places(every)
        for start, end in bounds:
            if end > start:
                places.append(postings.rows[start:end].astype(np.int64) + first)
                counts.append(postings.counts[start:end].astype(np.float32))
        terms.append(np.repeat(np.array(numbers, np.int64), np.array([end - start for start, end in bounds], np.int64)))
    found, which, often = np.concatenate(places), np.concatenate(terms), np.concatenate(counts)
    if len(every) > len(keys):
        found, which, often = _joined(found, which, often)
    return _entries(found, which, often, len(keys), visible)


def in_paths(
    snapshot: Snapshot, keys: Sequence[int], allowed: NDArray[np.bool_], aliases: Mapping[int, int] = NO_ALIASES
) -> Entries:
    """Return the occurrences of terms in the paths of allowed documents. An alias counts as its term."""
    every, numbers = _numbers(keys, aliases)
    places, found = snapshot.documents.path_entries(every)
    terms, counts = np.array(numbers, np.int64)[found], np.ones(len(places), np.float32)
    if len(every) > len(keys):
        places, terms, counts = _joined(places, terms, counts)
    return _entries(places, terms, counts, len(keys), allowed)


def bm25(snapshot: Snapshot, terms: Mapping[int, float], visible: Mask, aliases: Mapping[int, int] = NO_ALIASES) -> Scores:
    """Score all rows and contents. An alias counts as its term. Invisible rows score zero and do not count in statistics."""
    keys = _rarest(snapshot, sorted(terms), visible)
    lengths, content_lengths = snapshot.lengths, snapshot.content_lengths
    average = _mean(lengths if visible is None else lengths[visible])
    holding = _holding(snapshot, visible)
    rows = occurrences(snapshot, keys, visible, aliases)
    contents = rows.by_content(snapshot)
    weights = np.array([terms[key] for key in keys])
    worth = rows.worth(weights, snapshot.total if visible is None else int(visible.sum()))
    in_contents = contents.worth(weights, int(holding.sum()))
    return Scores(
        _scores(rows, worth, lengths, average),
        rows.shares(worth, len(lengths)),
        _scores(contents, in_contents, content_lengths, _mean(content_lengths[holding])),
        contents.shares(worth, len(content_lengths)),
        (_K1 + 1) * float(worth.sum()) / math.sqrt(len(keys)) if keys else 0.0,
    )


def bm25_around(snapshot: Snapshot, terms: Mapping[int, float], visible: Mask, reach: int) -> Float:
    """Score each row by the words of all rows up to `reach` away in the same content, as if they were one text."""
    keys, of_row = _rarest(snapshot, sorted(terms), visible), snapshot.content_of_row
    found = occurrences(snapshot, keys, visible)
    lengths = np.zeros(snapshot.total, np.float32)
    places, numbers, counts = list[Ints](), list[Ints](), list[Float]()
    seen = snapshot.lengths if visible is None else np.where(visible, snapshot.lengths, 0)
    for step in range(-reach, reach + 1):
        first, end = max(0, -step), snapshot.total - max(0, step)
        inside = of_row[first:end] == of_row[first + step : end + step]
        lengths[first:end] += np.where(inside, seen[first + step : end + step], 0)
        there = np.clip(found.places - step, 0, snapshot.total - 1)
        near = (there == found.places - step) & (of_row[there] == of_row[found.places])
        places.append(there[near])
        numbers.append(found.terms[near])
        counts.append(found.counts[near])
    joined = _joined(np.concatenate(places), np.concatenate(numbers), np.concatenate(counts))
    around = _entries(*joined, len(keys), visible)
    size = snapshot.total if visible is None else int(visible.sum())
    worth = around.worth(np.array([terms[key] for key in keys]), size)
    return _scores(around, worth, lengths, _mean(lengths if visible is None else lengths[visible]) or 1.0)


def _scores(found: Entries, worth: NDArray[np.float64], lengths: Float, average: float) -> Float:
    norm = _K1 * (1 - _B + _B * lengths[found.places] / average)
    each = worth[found.terms] * found.counts * (_K1 + 1) / (found.counts + norm)
    return np.bincount(found.places, weights=each, minlength=len(lengths)).astype(np.float32)


def _mean(lengths: Float) -> float:
    """Return the mean. It does not depend on the order: sums of whole numbers are exact in 64 bits."""
    return float(lengths.sum(dtype=np.float64)) / len(lengths) if len(lengths) else 1.0


def _rarest(snapshot: Snapshot, keys: list[int], visible: Mask) -> list[int]:
    """Return at most `_MOST_TERMS` terms: the rarest of those that occur, then terms that do not occur."""
    if len(keys) <= _MOST_TERMS:
        return keys
    frequency = [0] * len(keys)
    for first, postings in snapshot.postings():
        for place, (start, end) in enumerate(postings.places(keys)):
            if visible is None or start == end:
                frequency[place] += end - start
            else:
                frequency[place] += int(np.count_nonzero(visible[postings.rows[start:end].astype(np.int64) + first]))
    order = sorted(range(len(keys)), key=lambda place: (not frequency[place], frequency[place]))
    return [keys[place] for place in sorted(order[:_MOST_TERMS])]


def _holding(snapshot: Snapshot, visible: Mask) -> NDArray[np.bool_]:
    """Return which contents have visible rows."""
    sizes = np.diff(snapshot.starts)
    if visible is None:
        return sizes > 0
    seen = np.zeros(len(snapshot.contents), bool)
    seen[snapshot.content_of_row[visible]] = True
    return seen
