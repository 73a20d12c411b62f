"""A query: who asks, what may answer, the options, and the plan made from its text."""

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
    """Who asks: a name and groups. There is no superuser."""

    name: str
    groups: frozenset[str] = frozenset()

    @property
    def principals(self) -> frozenset[str]:
        """The reader's name, their groups, and everyone."""
        return frozenset((self.name, EVERYONE, *self.groups))


THE_OWNER = Reader(OWNER)
VECTOR_ONLY = "vector_only"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which chunks may answer. Workspaces and reader always apply; an empty field does not filter."""

    workspaces: tuple[int, ...]
    reader: Reader
    sources: frozenset[int] = frozenset()
    paths: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    recall: Recall | None = None  # filters for memories
    excluded: tuple[str, ...] = ()  # paths and patterns to exclude
    hidden: tuple[str, ...] = ()  # paths and patterns that do not exist for this reader: not in statistics either
    now: int = 0  # time of the query, in microseconds; 0 for the time at which it is answered


@dataclass(frozen=True, slots=True)
class Query:
    """A query with all its options. `deadline` is on the monotonic clock."""

    text: str
    scope: Scope
    budget: int = 1500
    template: str = "markdown"
    k: int = 12
    min_score: float = 0.3
    rest_score: float = 0.3  # threshold for filling the remaining budget, once a hit reaches `min_score`
    mmr_lambda: float = 0.7  # of maximal marginal relevance: 1 keeps the order as it is
    history: tuple[str, ...] = ()
    now: int = 0
    deadline: float | None = None
    occasional: frozenset[int] = frozenset()  # sources used only if the question is about them, such as commits
    rerank: bool = False  # whether the best chat messages and memories are reranked
    ranker: str = "relevance"
    vector: NDArray[np.float32] | None = None  # the query vector, if the caller gives one


@dataclass(frozen=True, slots=True)
class Narrow:
    """The caller's filters for a query."""

    paths: Sequence[str] = ()
    languages: Iterable[str] = ()
    kinds: Iterable[str] = ()
    personal: bool = True
    since: int | None = None
    until: int | None = None
    recall: Recall | None = None
    memories_only: bool = False
    exclude: Sequence[str] = ()
    memories: bool = True  # false: files, chats and documents alone


@dataclass(frozen=True, slots=True)
class Facet:
    """One facet of a question: its own question, why it matters, its topics, and its weight in the answer."""

    name: str
    title: str  # heading of its part of the answer
    question: str
    rationale: str = ""
    topics: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The parsed query: route, terms and names to search for, and the narrowed scope. `act` to `facets` are for memories."""

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
    entities: tuple[str, ...] = ()  # people, places and things it names
    windows: tuple[tuple[int, int], ...] = ()  # time ranges it mentions, in microseconds
    bare: bool = False  # asks only what was said at a time or by a person
    private: bool = False  # about private matters: not for a remote model
    act: str = ""  # recall, task, question or preference_update
    subject: str = ""  # shopping, recommendation, planning, information or empty
    proposal: str = ""  # a memory to propose to the person
    facets: tuple[Facet, ...] = ()
    wants_latest: bool = False  # only the newest commits
    wants_people: bool = False  # only the authors of commits
    families: Mapping[str, str] = field(default_factory=dict)  # other words of the same family, and the term each stands for
    forms: Mapping[str, str] = field(default_factory=dict)  # other inflected forms, and the term each stands for
    wordless: bool = False  # has no word that is worth searching for, as in "how does it work"
    domain: str = ""  # the topic of the person that it belongs to
    topics: tuple[str, ...] = ()  # topics of the person that it touches
    confidence: float = 0.0  # in act and subject, 0 to 1
    k: int = 0  # suggested number of hits; 0: as the caller wants
    wanted_strategy: str = ""  # by a language model, instead of the strategy of the rules
    wanted_ratio: float | None = None  # by a language model, instead of the fitted weights
    model: str = ""  # the language model that understood it; empty for the rules

    @property
    def strategy(self) -> str:
        """How it is searched: names and paths by words, a question without telling words by vectors, others by both."""
        if self.wanted_strategy:
            return self.wanted_strategy
        if self.route in ("symbol", "path", "trace"):
            return "keyword_heavy"
        return VECTOR_ONLY if self.wordless else "hybrid"

    @property
    def usual_ratio(self) -> float:
        """The approximate share of vectors against words, by route. `fuse` has the exact weights."""
        return {"symbol": 0.1, "path": 0.1, "trace": 0.2, "issue": 0.4}.get(self.route, 0.5)

    @property
    def ratio(self) -> float:
        """The share of vectors against words: 0 searches by words, 1 by vectors."""
        if self.strategy == VECTOR_ONLY:
            return 1.0
        return self.usual_ratio if self.wanted_ratio is None else self.wanted_ratio
