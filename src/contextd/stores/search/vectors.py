"""Vectors as int8 rows with a scale each. Search is an exact scan in blocks, with or without filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 19  # numbers converted at a time, so that they fit the processor's cache

_LARGEST = 1e30  # limit of a component: products and sums stay finite in 32 bits
_STEPS = 2.0**30  # quantization steps of a query component: times 127 and 2**16 dimensions still exact in 64 bits

Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of some rows in one space. A scale of 0 marks a row without a vector."""

    rows: NDArray[Any]
    matrix: NDArray[np.int8]
    scales: Float


def quantize(vectors: Float) -> bytes:
    """Return rows as bytes: the scales, then the int8 values. A scale of 0 marks an unusable vector."""
    largest = np.abs(vectors).max(axis=1, initial=0)
    good = (largest > 1 / _LARGEST) & (largest < _LARGEST)  # False for NaN
    scales = np.where(good, largest / 127, 0).astype(np.float32)
    clean = np.where(good[:, None], vectors, 0)
    values = np.rint(clean / np.where(good, scales, 1)[:, None]).astype(np.int8)
    return scales.tobytes() + values.tobytes()


def restore(data: bytes, count: int) -> tuple[NDArray[np.int8], Float]:
    """Return the values and scales of a blob of `count` rows."""
    scales = np.frombuffer(data, np.float32, count)
    values = np.frombuffer(data, np.int8, offset=4 * count).reshape(count, -1)
    return values, scales


def merge_parts(parts: tuple[Vectors, ...], most: int) -> tuple[Vectors, ...]:
    """Return the same rows in fewer parts: small parts at the end are merged, up to `most` rows."""
    found = list(parts)
    while len(found) > 1 and found[-2].matrix.shape[1:] == found[-1].matrix.shape[1:]:
        first, last = found[-2:]
        if len(first.rows) > 2 * len(last.rows) or len(first.rows) + len(last.rows) > most:
            break
        rows = np.concatenate((first.rows, last.rows))
        order = np.argsort(rows, kind="stable")
        order = order[np.append(rows[order][1:] != rows[order][:-1], True)]  # the later vector of a row wins
        matrix, scales = np.concatenate((first.matrix, last.matrix)), np.concatenate((first.scales, last.scales))
        found[-2:] = [Vectors(rows[order], matrix[order], scales[order])]
    return tuple(found)


def cosines(parts: Sequence[Vectors], vector: Float, total: int) -> Float:
    """Return the cosine of every row with a unit vector; -2 for rows without a vector.

    Not a matrix product: that is divided among threads, and at this size their synchronization costs ten times the computation.
    """
    result = np.full(total, -2, np.float32)
    for part in parts:
        if part.matrix.shape[1:] != vector.shape:
            continue
        step = max(1, _BLOCK // len(vector))
        for start in range(0, len(part.rows), step):
            block = slice(start, start + step)
            scores = np.vecdot(part.matrix[block].astype(np.float32), vector) * part.scales[block]
            result[_where(part.rows, block)] = np.where(part.scales[block] > 0, scores, -2)
    return result


def exact_cosines(parts: Sequence[Vectors], vector: Float, rows: NDArray[Any]) -> Float:
    """Return the same for some rows, with rounding that does not depend on their position: equal vectors have equal cosines.

    Whole numbers below 2**53 are exact in 64 bits, in any order of addition.
    """
    result = np.full(len(rows), -2, np.float32)
    steps = np.rint(vector.astype(np.float64) * _STEPS)
    for part in parts:
        if part.matrix.shape[1:] != vector.shape or not len(part.rows):
            continue
        places = np.minimum(np.searchsorted(part.rows, rows), len(part.rows) - 1)
        there = np.flatnonzero((part.rows[places] == rows) & (part.scales[places] > 0))
        some = places[there]
        result[there] = np.vecdot(part.matrix[some].astype(np.float64), steps) * (part.scales[some] / _STEPS)
    return result


def _where(rows: NDArray[Any], block: slice) -> Any:
    """Return the rows of a block; adjacent rows as a slice, which is much cheaper to write to."""
    part = rows[block]
    first, last = int(part[0]), int(part[-1])
    return slice(first, last + 1) if last - first == len(part) - 1 else part
