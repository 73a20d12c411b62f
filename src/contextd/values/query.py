"""A question with everything that decides its answer: who asks, what may answer, and what the question means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextd.values.document import EVERYONE, OWNER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contextd.values.memory import Recall


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks: a name and groups. Nobody is a superuser."""

    name: str
    groups: frozenset[str] = frozenset()

    @property
    def principals(self) -> frozenset[str]:
        """All that this reader is: themselves, their groups, and one of everyone."""
        return frozenset((self.name, EVERYONE, *self.groups))


THE_OWNER = Reader(OWNER)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which chunks may answer. Workspaces and reader always apply; an empty field does not narrow."""

    workspaces: tuple[int, ...]
    reader: Reader
    sources: frozenset[int] = frozenset()
    paths: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    recall: Recall | None = None  # what of the memories
    excluded: tuple[str, ...] = ()  # paths and patterns of what may not answer
    now: int = 0  # of the question, in microseconds; 0 for the time at which it is answered


@dataclass(frozen=True, slots=True)
class Query:
    """A question with everything that decides its answer. `deadline` is on the monotonic clock."""

    text: str
    scope: Scope
    budget: int = 1500
    template: str = "markdown"
    k: int = 12
    min_score: float = 0.3
    rest_score: float = 0.3  # what may fill the room that is left in an answer, once something reaches `min_score`
    mmr_lambda: float = 0.7  # of maximal marginal relevance: 1 keeps the order as it is
    history: tuple[str, ...] = ()
    now: int = 0
    deadline: float | None = None
    occasional: frozenset[int] = frozenset()  # sources that answer only when the question is about what they hold
    rerank: bool = False  # whether the best of chats and memories are read once more
    ranker: str = "relevance"
    vector: NDArray[np.float32] | None = None  # the question itself, where it is one


@dataclass(frozen=True, slots=True)
class Narrow:
    """How a caller narrows a query."""

    paths: Sequence[str] = ()
    languages: Iterable[str] = ()
    kinds: Iterable[str] = ()
    personal: bool = True
    since: int | None = None
    until: int | None = None
    recall: Recall | None = None
    memories_only: bool = False
    exclude: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Facet:
    """One side of a question: what is asked, why it matters, the topics it is about, and its share of the answer."""

    name: str
    title: str  # what stands above its part of an answer
    question: str
    rationale: str = ""
    topics: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the query means: its class, the words and names to look for, the narrowed scope; act to facets only for memories."""

    route: str
    text: str
    scope: Scope
    terms: Mapping[str, float]
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    wants_tests: bool = False
    wants_history: bool = False
    wants_docs: bool = False
    wants_value: bool = False  # a number: how many, at most, by default
    entities: tuple[str, ...] = ()  # what is named: people, places, things
    windows: tuple[tuple[int, int], ...] = ()  # times it speaks of, in microseconds
    bare: bool = False  # it asks what was said then, or by whom, and nothing more
    private: bool = False  # about what is nobody else's business: not for a remote model
    act: str = ""  # recall, task, question or preference_update
    subject: str = ""  # shopping, recommendation, planning, information or nothing
    proposal: str = ""  # what could be remembered, if the person wants it
    facets: tuple[Facet, ...] = ()
    wants_latest: bool = False  # of the past what is newest
    wants_people: bool = False  # of the past who did it
    families: Mapping[str, str] = field(default_factory=dict)  # other words of the same family, and the term each stands for

    @property
    def strategy(self) -> str:
        """How it is searched: names and paths by words, the rest by words and meaning."""
        return "keyword_heavy" if self.route in ("symbol", "path", "trace") else "hybrid"

    @property
    def ratio(self) -> float:
        """The share of meaning beside words, about: what `fuse` weighs in detail."""
        return {"symbol": 0.1, "path": 0.1, "trace": 0.2, "issue": 0.4}.get(self.route, 0.5)
