"""What the core asks of the world, as narrow protocols: implemented by adapters, wired in `assemble`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import Found, Suggestion
from contextd.values.document import About, Change, Chunk, ChunkId, Definition, DocumentRow, Outcome, Parsed, Raw, Site, Stamp
from contextd.values.git_history import Edit, History
from contextd.values.job import Jobs
from contextd.values.memory import Related
from contextd.values.query import Plan, Scope
from contextd.values.retrieval import Wanted

Matrix = NDArray[np.float32]
# A document, its content (None if that is stored already), and its vectors by space.
Written = tuple[DocumentRow, Parsed | None, Mapping[str, Matrix]]


class Tokens(Protocol):
    """Counts tokens as a named model would."""

    @property
    def name(self) -> str:
        """The tokenizer's name, shown with every count."""

    def count(self, text: str) -> int:
        """The number of tokens of a text."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Vectors of two spaces never meet."""

    @property
    def space(self) -> str:
        """What identifies the space: model, version, dimension."""

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    def documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text."""

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""


def pair_space(deep: str) -> str:
    """The space of messages with the one before them, made by the model of a deep space: questions are the same in both."""
    return f"pair/{deep.partition('/')[2]}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything but the bytes that decides how a document is stored: when it changes, everything is read again."""

    text: str
    language_of: Callable[[str, bytes], str]
    variant_of: Callable[[str], str] = lambda path: ""  # what a path changes about how its bytes are stored


class Events(Protocol):
    """Hints that something changed below a root. Hints get lost; a scan is the truth."""

    def wait(self, seconds: float) -> frozenset[str]:
        """Paths that changed, once it has been quiet for a moment; none after so many seconds without any."""

    def close(self) -> None:
        """Stop listening."""


class Past(Protocol):
    """The past of a project's files, if something keeps it."""

    def history(self, path: str, limit: int) -> History | None:
        """The history of a file or folder; None when there is none."""

    def origin(self, path: str, line: int) -> tuple[Edit, str] | None:
        """The commit that last changed a line, and its whole message."""


class Machine(Protocol):
    """The user's machine, whose own work comes first."""

    def busy(self) -> str:
        """Why background work should wait; empty if it need not."""

    def yield_to_others(self) -> None:
        """Let this thread run only when others do not."""


class Parser(Protocol):
    """Scrubs, cuts and counts documents where a crash or a hang costs one of them."""

    def rest(self) -> None:
        """Give memory back until there is work again."""

    def parse(self, raws: Iterable[Raw]) -> Iterator[Outcome]:
        """The outcome of every one, in any order."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file that belongs to the project, by its path below the root."""

    uri: str
    stamp: Stamp
    language: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A file that does not belong, and the reason a person can ask for. `unseen`: a folder that could not be listed."""

    uri: str
    reason: str
    unseen: bool = False


class Source(Protocol):
    """Where documents come from."""

    @property
    def id(self) -> int:
        """Stable for the same place."""

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Everything there is, or what is at and below some paths, without reading it; a path that is gone is a skip."""

    def position(self) -> str:
        """What changes when there is something new of which no event tells; empty where events tell everything."""

    def folders(self) -> frozenset[str]:
        """The folders that hold what belongs, for those who want to be told of changes."""

    def change(self, uri: str, stamp: Stamp) -> str:
        """What happened to a document since it had this stamp, in words; empty if nothing did."""

    def is_folder(self, path: str) -> bool:
        """Whether a path is a folder that may hold what belongs."""

    def present(self, path: str) -> bool:
        """Whether there is something at a path; at the empty one: whether the place itself is there."""

    def judge(self, path: str) -> FileState | Skip:
        """The verdict on one path below the root."""

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """The bytes of one document, or why it cannot be read."""


class FileSource(Source, Protocol):
    """A folder with rules of its own about which files belong."""

    def warnings(self) -> tuple[str, ...]:
        """The rules that the last scan could not use, in words."""


class Retriever(Protocol):
    """Finds chunks in a way of its own; a plug-in is a factory of one (entry points `contextd.retrievers`)."""

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        """At most k suggestions for a question, in a thread of its own; too slow or broken, it costs a warning."""


class Reranker(Protocol):
    """Reads a question and texts together; slow, so it is given few and a time."""

    def scores(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        """A score for each text in order, the higher the better; fewer when the deadline, on the monotonic clock, comes."""


class Links(Protocol):
    """Definitions, references and imports of the documents that may answer."""

    def defining(self, names: Collection[str]) -> list[tuple[int, Definition]]:
        """Document and definition of everything whose last part is one of these names."""

    def outline(self, documents: Collection[int]) -> list[tuple[int, Definition]]:
        """Document and definition of everything that some documents define."""

    def references(self, names: Collection[str]) -> list[Site]:
        """Where some names are called or inherited from."""

    def imports(self, documents: Collection[int]) -> list[Site]:
        """What some documents import."""

    def importing(self, stems: Collection[str]) -> list[Site]:
        """Imports whose last part is one of these."""


class Arms(Protocol):
    """What one question found in each arm, and how any chunk stands in all of them."""

    @property
    def found(self) -> Mapping[str, Sequence[Found]]:
        """The best of each arm."""

    @property
    def scale(self) -> float:
        """What the scores of chunks for words are measured in, to compare those of one question with another's."""

    def scores(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """The scores of some chunks in every arm."""


class View(Protocol):
    """One workspace at one moment, as one reader may see it. Rights and scope apply before any ranking."""

    @property
    def fields(self) -> frozenset[str]:
        """The fields there are, of `chunk`, `document`, `name`, `defined`, `stem`, `folder`, `parts`, `mention`, `turns`."""

    def retrieve(self, wanted: Wanted) -> Arms:
        """The best chunks of every arm that is asked: one call for all of them."""

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> Matrix:
        """The vectors of these chunks, a row each; zeros for one without."""

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from, without their texts."""

    def dimension(self, space: str) -> int:
        """How long the vectors of a space are; 0 where there are none."""

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """What a person linked with some documents, as far as it may answer, by document."""

    @property
    def size(self) -> int:
        """How many chunks may be seen."""

    def chunks_of(self, documents: Collection[int]) -> Mapping[int, Sequence[Chunk]]:
        """All chunks of some documents, in order; none of a document that may not answer."""

    def text(self, document: int) -> str:
        """The whole stored text of a document; empty for one that may not answer."""

    def uris(self) -> Mapping[int, str]:
        """The documents that may answer, by id."""

    @property
    def links(self) -> Links:
        """What the documents that may answer define, refer to and import."""

    def within(self, scope: Scope) -> View:
        """The same moment, seen by another scope."""

    def knows(self, path: str) -> bool:
        """Whether a document that may be seen is at or below a path, or fits a pattern."""

    def languages(self) -> frozenset[str]:
        """The languages of the documents that may be seen."""

    def kinds(self) -> frozenset[str]:
        """The kinds of the chunks that may be seen."""

    def topics(self) -> frozenset[str]:
        """The topics of what may be seen."""

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts; one that may not be seen is missing."""

    @property
    def spaces(self) -> Mapping[str, int]:
        """How many visible chunks have a vector in each space."""


class Store(Protocol):
    """One workspace's documents, for readers."""

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[View]:
        """What may be seen now; does not change while it is open. Raises `Unavailable` if it cannot be had by the deadline."""

    def changes(self, after: int) -> Iterator[Change]:
        """Every change behind a position, in order, deletions too."""


class Waiting(Protocol):
    """Contents that wait for vectors."""

    def missing_vectors(self, space: str, limit: int, besides: Collection[str] = ()) -> list[tuple[int, list[str]]]:
        """Contents without vectors in a space, with the texts to embed; those of documents `besides`, by uri, are left out."""

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Keep vectors for contents."""


class Notes(Protocol):
    """What is noted beside the documents of a project: settings, failures, finds, counts for people."""

    def note_error(self, uri: str, error: str, stamp: Stamp) -> None:
        """Record that a file failed, and in which state of the file."""

    def failed_stamps(self) -> dict[str, Stamp]:
        """The state in which each file that failed was read."""

    def clear_errors(self, uris: Sequence[str]) -> None:
        """Forget failures of files that are well again, or gone."""

    def setting(self, name: str) -> str | None:
        """A value kept with the index."""

    def set_setting(self, name: str, value: str) -> None:
        """Keep a value with the index."""

    def finds(self, source: int) -> list[tuple[str, int, str]]:
        """Secrets that were scrubbed in the documents of a source: path, line, rule."""

    def failures(self) -> list[tuple[str, str, int]]:
        """Files that failed: path, error, retries."""

    def summary(self) -> dict[str, object]:
        """Counts and sizes, for people."""

    def size(self) -> int:
        """Bytes on disk."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to one workspace that readers see together, at one position of the change feed."""

    written: Sequence[Written] = ()
    touched: Sequence[DocumentRow] = ()  # documents with a new stamp and the same content: no change for readers
    removed: Collection[int] = ()  # documents
    granted: Collection[frozenset[str]] = ()  # access lists that its documents name by `access_list_id`
    shared: Mapping[int, frozenset[str]] = field(default_factory=dict)  # sources, each with a new access list for its documents


class Lease(Protocol):
    """The right to write one project, held by one process at a time."""

    def check(self) -> None:
        """Raise `Busy` if the lease was lost."""


class ProjectStore(Store, Waiting, Protocol):
    """The documents of one project, for its one writer, who holds the lease. When to fold is the store's decision."""

    @property
    def jobs(self) -> Jobs:
        """Work on this index that was asked for."""

    @property
    def notes(self) -> Notes:
        """Settings, failures, finds and counts."""

    def documents(self, source: int) -> dict[str, DocumentRow]:
        """The documents of a source by uri."""

    def stamps(self, source: int, documents: Sequence[int]) -> dict[str, Stamp]:
        """The stamps of some documents of a source, by uri."""

    def holds(self, content: int) -> bool:
        """Whether a content is stored with its words, so that a document can be written without parsing it."""

    def apply(self, batch: Batch, lease: Lease) -> int:
        """Write a batch in one transaction; the position it has. A batch without a change takes none."""

    def adopt(self, space: str) -> int:
        """Drop the vectors of older spaces of the same tier, now that contents have theirs in this one; how many."""

    def settle(self, lease: Lease, *, vacuum: bool = True) -> None:
        """End a run: collect contents without a document, bring derived structures up to date, erase deleted text."""

    def check(self) -> None:
        """Read everything that is stored. Raises `StorageError` for damage."""

    def close(self) -> None:
        """Close files and drop what is held in memory; the next reader opens them again."""
