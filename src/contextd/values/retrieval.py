"""What is asked of all arms of a collection at once: values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextd.values.answer import Suggestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Words:
    """Keys of words with their weights, looked for in one field; of names and paths, an alias stands for one of the words."""

    field: str
    terms: Mapping[int, float]
    k: int
    aliases: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The best `k` of every arm: words of fields, vectors by space, times, lines of files, and what others proposed."""

    k: int
    words: Mapping[str, Words] = dataclasses.field(default_factory=dict)  # by arm; `chunk` and `document` are of the same words
    vectors: Mapping[str, NDArray[np.float32]] = dataclasses.field(default_factory=dict)
    windows: Sequence[tuple[int, int]] = ()
    places: Sequence[tuple[str, int]] = ()
    suggested: Mapping[str, Sequence[Suggestion]] = dataclasses.field(default_factory=dict)
