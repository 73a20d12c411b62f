"""What is found on the way to an answer, and the answer: values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from contextd.values.document import Chunk, ChunkId
from contextd.values.query import Plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contextd.values.memory import Relation
    from contextd.values.trace import Trace

NO_VECTOR = -2.0  # in place of the cosine of a chunk without a vector

CHANCE = "chance"  # among the arms of a chunk: that it holds the lines that answer


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found."""

    hits: Sequence[Hit]
    plan: Plan
    trace: Trace


class Found(NamedTuple):
    """One answer of one arm: comparable inside that arm of that workspace only."""

    chunk: ChunkId
    score: float
    coverage: float


class Suggestion(NamedTuple):
    """What a retriever from outside proposes: a chunk by its id, or a file with or without a line. The store checks it."""

    score: float
    chunk: ChunkId | None = None
    uri: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates of one workspace with their standing in every arm."""

    chunks: tuple[ChunkId, ...]
    arms: Mapping[str, NDArray[np.float64]]
    strength: float | None = None  # of the best chunk by words, comparable between questions; None where words are not asked
    scores: Callable[[Sequence[ChunkId]], Mapping[str, NDArray[np.float64]]] = lambda _: {}  # of other chunks, in every arm

    def __len__(self) -> int:
        return len(self.chunks)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A chunk on its way to becoming a hit: its standing in every arm, and one score."""

    chunk: ChunkId
    arms: Mapping[str, float]
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, its calibrated relevance 0..1, and why it is there."""

    chunk: Chunk
    score: float
    rank_score: float
    why: Mapping[str, float] = field(default_factory=dict)
    facet: str = ""  # the name of the facet it answers
    focus: int = 0  # the line that counts most, where one does: of a declaration
    relation: Relation | None = None  # of one that is there because it is linked with another


@dataclass(frozen=True, slots=True)
class Context:
    """The answer: text within the budget, the hits it was made of, and how it came about."""

    text: str
    tokens: int
    budget: int
    tokenizer: str
    template: str
    hits: tuple[Hit, ...]
    plan: Plan
    trace: Trace
    truncated: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """What it was made of: uris, and memories by their ids."""
        return tuple(dict.fromkeys(hit.chunk.uri.removeprefix("memory:") for hit in self.hits))

    @property
    def scores(self) -> Mapping[str, float]:
        """The best rank score of each of them."""
        ranked = sorted(self.hits, key=lambda hit: hit.rank_score)
        return {hit.chunk.uri.removeprefix("memory:"): hit.rank_score for hit in ranked}

    @property
    def budget_used(self) -> float:
        """The share of the budget it takes, in percent."""
        return 100 * self.tokens / self.budget
