"""Every chunk of the best files, as one step hands them to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.types import About, ChunkId


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Every chunk of the best files, without its text."""

    chunks: tuple[ChunkId, ...]
    about: tuple[About, ...]
    arms: Mapping[str, NDArray[np.float64]]  # the standing of each chunk, and
    ranges: Mapping[str, tuple[float, float]]  # the least and the most of everything that was retrieved
    files: NDArray[np.float64]  # the score of the chunk's file
    declared: Mapping[ChunkId, tuple[float, int]]  # how well a chunk declares the name that is asked for, and on which line

    def __len__(self) -> int:
        return len(self.chunks)
