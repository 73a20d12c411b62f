"""Candidates, hits and the answer: values only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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

CHANCE = "chance"  # among the arms of a chunk: the probability that it holds the answer


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    hits: Sequence[Hit]
    plan: Plan
    trace: Trace


class Found(NamedTuple):
    """One result of one arm. Scores are comparable only within that arm and workspace."""

    chunk: ChunkId
    score: float
    coverage: float


class Suggestion(NamedTuple):
    """A suggestion of a plug-in: a chunk by its id, or a file with or without a line. The store checks it."""

    score: float
    chunk: ChunkId | None = None
    uri: str = ""
    line: int = 0


class Spread(NamedTuple):
    """The cosines of a question to all candidates of a space."""

    mean: float
    deviation: float
    size: int  # number of candidates


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates of one workspace with their scores in every arm."""

    chunks: tuple[ChunkId, ...]
    arms: Mapping[str, NDArray[np.float64]]
    strength: float | None = None  # of the best chunk by words, comparable between questions; None if words are not searched
    scores: Callable[[Sequence[ChunkId]], Mapping[str, NDArray[np.float64]]] = lambda _: {}  # for other chunks, in every arm
    proposed: Mapping[str, Collection[int]] = field(default_factory=dict)  # by arm: the documents of its best chunks
    spread: Mapping[str, Spread] = field(default_factory=dict)  # by space, over all candidates

    def __len__(self) -> int:
        return len(self.chunks)


@dataclass(slots=True, eq=False)  # not frozen: a question makes three thousand, and a frozen one takes three times as long
class Candidate:
    """A chunk that may become a hit: its scores in every arm, and one total score. Never changed."""

    chunk: ChunkId
    arms: Mapping[str, float]
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with its calibrated relevance 0..1 and the scores behind it."""

    chunk: Chunk
    score: float
    rank_score: float
    why: Mapping[str, float] = field(default_factory=dict)
    facet: str = ""  # name of the facet it answers
    focus: int = 0  # most important line, such as that of a declaration; 0 if there is none
    relation: Relation | None = None  # set if the hit was added by a link


@dataclass(frozen=True, slots=True)
class Context:
    """The answer: text within the budget, the hits in it, and the trace."""

    text: str
    tokens: int
    budget: int
    tokenizer: str
    template: str
    hits: tuple[Hit, ...]
    plan: Plan
    trace: Trace
    truncated: bool = False
    statements: tuple[str, ...] = ()  # the facts as a language model shortened them; empty if it did not

    @property
    def ids(self) -> tuple[str, ...]:
        """The uris of the hits, and the ids of memories."""
        return tuple(dict.fromkeys(hit.chunk.uri.removeprefix("memory:") for hit in self.hits))

    @property
    def scores(self) -> Mapping[str, float]:
        """The best rank score of each id."""
        ranked = sorted(self.hits, key=lambda hit: hit.rank_score)
        return {hit.chunk.uri.removeprefix("memory:"): hit.rank_score for hit in ranked}

    @property
    def budget_used(self) -> float:
        """The used share of the budget, in percent."""
        return 100 * self.tokens / self.budget
