"""Postings: from a term to the rows it occurs in. The base file and newer segments use the same structure."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[Any]
Counts = NDArray[np.uint8]

_ENTRY = 9  # bytes of a posting: a key and a count


@dataclass(frozen=True, slots=True)
class Postings:
    """Sorted keys; `rows[starts[i]:starts[i + 1]]` are the rows of key i, ascending, with a count for each."""

    keys: Keys
    starts: NDArray[np.int64]
    rows: Rows
    counts: Counts

    def places(self, keys: Sequence[int]) -> list[tuple[int, int]]:
        """Return where the rows of each key begin and end; an empty range for a missing key."""
        wanted = np.array(keys, np.uint64)
        if not len(self.keys) or not len(wanted):
            return [(0, 0)] * len(wanted)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        there = self.keys[found] == wanted
        bounds = zip(
            np.where(there, self.starts[found], 0).tolist(), np.where(there, self.starts[found + 1], 0).tolist(), strict=True
        )
        return list(bounds)

    def part(self, number: int, of: int) -> Postings:
        """Return part `number` of `of` equal parts of the key space; `of` is a power of two."""
        step = (1 << 64) // of
        first = int(np.searchsorted(self.keys, np.uint64(number * step)))
        last = int(np.searchsorted(self.keys, np.uint64((number + 1) * step - 1), "right"))
        start, end = self.starts[first], self.starts[last]
        return Postings(
            self.keys[first:last], self.starts[first : last + 1] - start, self.rows[start:end], self.counts[start:end]
        )

    def expanded(self) -> tuple[Keys, Rows, Counts]:
        """Return one key, row and count for each posting."""
        return np.repeat(self.keys, np.diff(self.starts)), self.rows, self.counts


def postings_of(keys: Keys, rows: Rows, counts: Counts) -> Postings:
    """Return the postings of keys, rows and counts in any order."""
    order = np.lexsort((rows, keys))
    keys = keys[order]
    first = np.flatnonzero(np.concatenate((np.array([True]), keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)
    starts = np.append(first, len(keys)).astype(np.int64)
    return Postings(keys[first], starts, rows[order], counts[order])


def pack(words: Sequence[bytes]) -> bytes:
    """Return the encoded terms of a content's pieces as one blob."""
    return struct.pack(f"<I{len(words)}I", len(words), *map(len, words)) + b"".join(words)


def unpack(data: bytes) -> list[tuple[Keys, Counts]]:
    """Return the keys and counts of each piece."""
    (number,) = struct.unpack_from("<I", data)
    sizes = struct.unpack_from(f"<{number}I", data, 4)
    position, found = 4 + 4 * number, []
    for size in sizes:
        entries = size // _ENTRY
        keys = np.frombuffer(data, np.uint64, entries, position)
        found.append((keys, np.frombuffer(data, np.uint8, entries, position + 8 * entries)))
        position += size
    return found


def smallest(rows: Rows, most: int) -> Rows:
    """Return row numbers in the smallest integer type that holds `most`."""
    return rows.astype(np.uint16 if most <= 0xFFFF else np.uint32)
