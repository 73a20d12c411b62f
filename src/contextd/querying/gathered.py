"""All chunks of the best files, as `gather` passes them to `order`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.values.document import About, ChunkId


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """All chunks of the best files, without their texts."""

    chunks: tuple[ChunkId, ...]
    about: tuple[About, ...]
    arms: Mapping[str, NDArray[np.float64]]  # score of each chunk in every arm
    ranges: Mapping[str, tuple[float, float]]  # minimum and maximum over everything retrieved, by arm
    files: NDArray[np.float64]  # score of each chunk's file
    declared: Mapping[ChunkId, tuple[float, int]]  # how well a chunk declares the name asked for, and on which line
    closed: Callable[[], Sequence[str]]  # files with candidates that are not opened

    def __len__(self) -> int:
        return len(self.chunks)

    def without(self, read: Collection[int]) -> list[str]:
        """Describe the chunks not in `read`, one line per file: `src/app.py, chunks 3-7, 9 of 12`."""
        left: dict[str, list[int]] = {}
        for place in sorted(set(range(len(self))) - set(read)):
            left.setdefault(self.about[place].uri, []).append(self.chunks[place].ordinal + 1)
        pieces = {where.uri: where.pieces for where in self.about}
        return [f"{uri}, chunks {_ranges(numbers)} of {pieces[uri]}" for uri, numbers in left.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers, joining consecutive ones to ranges."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in found)
