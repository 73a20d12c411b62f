"""The words of contextd as plain values: nothing here does anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contextd.memory import Recall, Relation
    from contextd.trace import Trace

OWNER = "owner"
EVERYONE = "everyone"
MEMORIES = 1  # the source all memories come from
CHATS = 2  # and all chats and notes that were imported
COMMIT = "commit"  # the language of a commit as a document
MEMORY = "memory"  # of a memory
CHAT = "chat"  # and of a sitting of a conversation
NO_VECTOR = -2.0  # in place of the cosine of a chunk without a vector
CHANCE = "chance"  # among the arms of a chunk: that it holds the lines that answer


class ChunkId(NamedTuple):
    """Names a chunk at one moment; not promised across edits."""

    document: int
    ordinal: int


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
class Piece:
    """What a chunker cuts: a span of the stored text, with everything but its place in the world."""

    start: int
    end: int
    start_line: int
    end_line: int
    kind: str  # of the largest unit in it, then of the others, with spaces between
    label: str = ""
    heading: tuple[str, ...] = ()
    tokens: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Find:
    """A secret that was scrubbed: where and by which rule, never what."""

    line: int
    rule: str


class Definition(NamedTuple):
    """A name that a document defines: qualified by what it stands in, with its first and last line."""

    label: str
    kind: str
    line: int
    end_line: int


CALL, INHERIT, IMPORT = 0, 1, 2  # how code refers to a name


class Reference(NamedTuple):
    """A name that a document refers to, how, and on which lines; of an import the name is what is imported, as written."""

    name: str
    kind: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text after scrub and chunk. `words` holds one encoded term list per piece."""

    text: str
    pieces: tuple[Piece, ...]
    words: tuple[bytes, ...]
    finds: tuple[Find, ...] = ()
    warnings: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """One document for the parser: its bytes and how to read them."""

    uri: str
    data: bytes
    language: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one: a parsed document, or the reason why not."""

    raw: Raw
    parsed: Parsed | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without reading it, that a file has not changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as the store keeps it, without its text."""

    id: int
    source: int
    uri: str
    content: int
    acl: int
    language: str
    stamp: Stamp
    digest: bytes
    modified: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The retrievable piece of a document, as a reader gets it."""

    id: ChunkId
    workspace: int
    uri: str
    language: str
    kind: str
    label: str
    heading: tuple[str, ...]
    text: str
    start_line: int
    end_line: int
    start: int
    end: int
    tokens: int
    modified: int
    pieces_in_document: int = 1
    confidence: float = 1.0
    value: str = ""  # what a memory states of its label, with the unit
    kinds: tuple[str, ...] = ()  # of all units in it: small neighbors share a chunk; the first is `kind`

    @property
    def unit(self) -> ChunkId:
        """What has a share of an answer of its own: a document, or a message of a chat."""
        return self.id if self.kind == "chat_message" else ChunkId(self.id.document, 0)


class About(NamedTuple):
    """What can be said of a chunk without its text."""

    uri: str
    language: str
    kind: str
    modified: int
    pieces: int
    confidence: float = 1.0
    pinned: bool = False
    feedback: int = 0  # how often it was called useful, less how often it was not
    topics: tuple[str, ...] = ()
    whose: str = ""  # whom a memory is about; empty for who told it
    kinds: tuple[str, ...] = ()  # of all units in it; the first is `kind`


class Found(NamedTuple):
    """One answer of one arm: comparable inside that arm of that workspace only."""

    chunk: ChunkId
    score: float
    coverage: float


class Site(NamedTuple):
    """Where a document refers to a name: called, inherited from, or imported (then the name is the target as written)."""

    document: int
    name: str
    kind: int
    lines: tuple[int, ...]


class Suggestion(NamedTuple):
    """What a retriever from outside proposes: a chunk by its id, or a file with or without a line. The store checks it."""

    score: float
    chunk: ChunkId | None = None
    uri: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the change feed."""

    seq: int
    workspace: int
    document: int
    what: str


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


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates of one workspace with their standing in every arm."""

    chunks: tuple[ChunkId, ...]
    arms: Mapping[str, NDArray[np.float64]]
    strength: float | None = None  # of the best chunk by words, comparable between questions; None where words are not asked

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
