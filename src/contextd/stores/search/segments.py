"""The arrays of a snapshot: the base, one memory-mapped file, and segments of later contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search import arrays
from contextd.stores.search.postings import Postings, postings_of
from contextd.stores.search.vectors import Vectors

Ints = NDArray[np.int64]

MERGED = 2048  # maximum rows of a merged segment; segments are merged since each is searched separately


@dataclass(frozen=True)
class Base:
    """The arrays of one generation."""

    generation: int
    contents: Ints
    starts: Ints
    kind_of_row: NDArray[Any]
    postings: Postings
    lengths: NDArray[np.float32]
    vectors: Mapping[str, Vectors]

    @cached_property
    def content_of_row(self) -> Ints:
        """For each row the position of its content."""
        return np.repeat(np.arange(len(self.contents)), np.diff(self.starts))

    @cached_property
    def content_lengths(self) -> NDArray[np.float32]:
        """The number of terms of each content."""
        return _sums(self.lengths, self.starts)


@dataclass(frozen=True)
class Segment:
    """Contents written after the base, in the order they were read."""

    contents: Ints
    sizes: Ints
    kinds: NDArray[Any]
    postings: Postings
    lengths: NDArray[np.float32]

    @cached_property
    def content_lengths(self) -> NDArray[np.float32]:
        """The number of terms of each content."""
        return _sums(self.lengths, np.concatenate((np.zeros(1, np.int64), np.cumsum(self.sizes))))


def place_in(base: Base, content: int) -> int | None:
    """Return the position of a content in the base; None if it is not there."""
    place = int(np.searchsorted(base.contents, content))
    return place if place < len(base.contents) and int(base.contents[place]) == content else None


def segment_of(fresh: Sequence[tuple[int, list[Any]]], kinds: Mapping[int, list[str]]) -> Segment:
    """Return a segment of contents with their terms."""
    pieces = [piece for _, words in fresh for piece in words]
    sizes = [len(keys) for keys, _ in pieces]
    keys = np.concatenate([keys for keys, _ in pieces]) if pieces else np.zeros(0, np.uint64)
    counts = np.concatenate([counts for _, counts in pieces]) if pieces else np.zeros(0, np.uint8)
    lengths = np.array([counts.sum(dtype=np.float32) for _, counts in pieces], np.float32)
    rows = np.repeat(np.arange(len(pieces)), sizes)
    names = [kind for content, _ in fresh for kind in kinds.get(content, [])]
    contents = np.array([content for content, _ in fresh], np.int64)
    counts_of = np.array([len(words) for _, words in fresh], np.int64)
    return Segment(contents, counts_of, np.array(names, object), postings_of(keys, rows, counts), lengths)


def merged(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the same rows in fewer segments. Small neighbors are merged, so that each row is merged only a few times."""
    found = list(segments)
    while len(found) > 1:
        first, last = (len(segment.lengths) for segment in found[-2:])
        if first > 2 * last or first + last > MERGED:
            break
        found[-2:] = [_joined(*found[-2:])]
    return tuple(found)


def _joined(first: Segment, last: Segment) -> Segment:
    """Return two segments as one."""
    keys, rows, counts = first.postings.expanded()
    more_keys, more_rows, more_counts = last.postings.expanded()
    shifted = np.concatenate((rows.astype(np.int64), more_rows.astype(np.int64) + len(first.lengths)))
    return Segment(
        np.concatenate((first.contents, last.contents)),
        np.concatenate((first.sizes, last.sizes)),
        np.concatenate((first.kinds, last.kinds)),
        postings_of(np.concatenate((keys, more_keys)), shifted, np.concatenate((counts, more_counts))),
        np.concatenate((first.lengths, last.lengths)),
    )


def _sums(lengths: NDArray[np.float32], starts: Ints) -> NDArray[np.float32]:
    """Return the sum of lengths of each content. The sums are exact, since lengths are whole numbers."""
    sums = np.concatenate((np.zeros(1), np.cumsum(lengths, dtype=np.float64)))
    return (sums[starts[1:]] - sums[starts[:-1]]).astype(np.float32)


def base_path(folder: Path, generation: int) -> Path:
    """Return the path of the base file of a generation."""
    return folder / f"base-{generation:06d}.arrays"


def read_base(folder: Path | None, generation: int) -> Base:
    """Return the base of a generation; an empty base for generation 0. Raises `StorageError` for a damaged file."""
    if folder is None or generation == 0:
        return EMPTY
    found, extra = arrays.read(base_path(folder, generation))
    postings = Postings(found["keys"], found["key_starts"], found["rows"], found["counts"])
    everything = np.arange(int(found["starts"][-1]))
    vectors = {space: Vectors(everything, found[f"matrix:{space}"], found[f"scales:{space}"]) for space in extra["spaces"]}
    return Base(
        generation,
        found["contents"],
        found["starts"],
        np.array(extra["kinds"] or [""], dtype=object)[found["kinds"]],
        postings,
        found["lengths"],
        vectors,
    )


EMPTY = Base(
    0,
    np.zeros(0, np.int64),
    np.zeros(1, np.int64),
    np.zeros(0, object),
    Postings(np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)),
    np.zeros(0, np.float32),
    {},
)
