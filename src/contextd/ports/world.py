"""Protocols of stores, sources, embedders and the machine: implemented by adapters, wired in `assemble`."""

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
# A document, its parsed content (None if the content is already stored), and its vectors by space.
Written = tuple[DocumentRow, Parsed | None, Mapping[str, Matrix]]


class Tokens(Protocol):
    """Counts tokens as a named model would."""

    @property
    def name(self) -> str:
        """The tokenizer's name, shown with every count."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Vectors of different spaces are never compared."""

    @property
    def space(self) -> str:
        """The id of the space: model, version, dimension."""

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, one row each."""

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question."""


def pair_space(deep: str) -> str:
    """Return the space of message pairs: a message with the one before it, embedded by the model of a deep space.

    Question vectors are the same in both spaces.
    """
    return f"pair/{deep.partition('/')[2]}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """All inputs besides the bytes that decide how a document is stored. If it changes, everything is read again."""

    text: str
    language_of: Callable[[str, bytes], str]
    variant_of: Callable[[str], str] = lambda path: ""  # by path: an extra input, if the path changes how bytes are stored


class Events(Protocol):
    """Events about changed files below a root. Events get lost; only a scan is reliable."""

    def wait(self, seconds: float) -> frozenset[str]:
        """Return changed paths, after a short time without events; none if there was no event for `seconds`."""

    def close(self) -> None:
        """Stop listening."""


class Past(Protocol):
    """The history of a project's files, such as git's."""

    def history(self, path: str, limit: int) -> History | None:
        """Return the history of a file or folder; None if there is none."""

    def origin(self, path: str, line: int) -> tuple[Edit, str] | None:
        """Return the commit that last changed a line, and its full message; None if there is none."""


class Machine(Protocol):
    """The user's machine. Its other work has priority."""

    def busy(self) -> str:
        """Return why background work should wait; empty if it need not."""

    def yield_to_others(self) -> None:
        """Lower the priority of this thread below all others."""


class Parser(Protocol):
    """Scrubs documents, cuts them into chunks and counts tokens. A crash or a hang affects one document."""

    def rest(self) -> None:
        """Release memory until the next call of `parse`."""

    def parse(self, raws: Iterable[Raw]) -> Iterator[Outcome]:
        """Yield the outcome of every document, in any order."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file of the project, by its path below the root."""

    uri: str
    stamp: Stamp
    language: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A skipped file, with the reason for people. `unseen`: a folder that could not be listed."""

    uri: str
    reason: str
    unseen: bool = False


class Source(Protocol):
    """A source of documents."""

    @property
    def id(self) -> int:
        """The id of the source; stable for the same place."""

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Yield all files, or those at and below `paths`, without reading them. A missing path is a `Skip`."""

    def position(self) -> str:
        """Return a text that changes with every change that causes no event; empty if all changes cause events."""

    def folders(self) -> frozenset[str]:
        """Return the folders to watch for changes."""

    def change(self, uri: str, stamp: Stamp) -> str:
        """Return how a document changed since it had this stamp, in words; empty if it did not."""

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder that may hold files of the project."""

    def present(self, path: str) -> bool:
        """Return whether a path exists; for an empty path, whether the root exists."""

    def judge(self, path: str) -> FileState | Skip:
        """Return whether one path below the root belongs to the project, or why it is skipped."""

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """Return the bytes and the stamp of one document, or why it cannot be read."""


class FileSource(Source, Protocol):
    """A folder with its own rules about which files to index."""

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about rules that the last scan could not use."""


class Retriever(Protocol):
    """Finds chunks by its own method. A plug-in is a factory of a retriever (entry points `contextd.retrievers`)."""

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        """Return at most k suggestions for a question. Called in a separate thread; a timeout or an error becomes a warning."""


class Reranker(Protocol):
    """Reads a question and texts together. It is slow, so it gets few texts and a deadline."""

    def scores(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        """Return a score for each text, in order; higher is better. Fewer if the deadline, on the monotonic clock, passes."""


class Links(Protocol):
    """Definitions, references and imports of the candidate documents."""

    def defining(self, names: Collection[str]) -> list[tuple[int, Definition]]:
        """Return document and definition of each definition whose last part is one of the names."""

    def outline(self, documents: Collection[int]) -> list[tuple[int, Definition]]:
        """Return document and definition of each definition in some documents."""

    def references(self, names: Collection[str]) -> list[Site]:
        """Return where the names are called or inherited from."""

    def imports(self, documents: Collection[int]) -> list[Site]:
        """Return the imports of some documents."""

    def importing(self, stems: Collection[str]) -> list[Site]:
        """Return the imports whose last part is one of the stems."""


class Arms(Protocol):
    """The results of one question in each arm, and the scores of any chunk in every arm."""

    @property
    def found(self) -> Mapping[str, Sequence[Found]]:
        """The best chunks of each arm."""

    @property
    def scale(self) -> float:
        """The unit of word scores; divided by it, scores of different questions are comparable."""

    def scores(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """Return the scores of some chunks in every arm."""


class View(Protocol):
    """One workspace at one position, as one reader may see it. Access lists and scope apply before any ranking.

    A document is visible if the reader may see it and its source is in the scope. A candidate is a visible document inside the
    whole scope. Only candidates can be hits.
    """

    @property
    def fields(self) -> frozenset[str]:
        """The available fields, of `chunk`, `document`, `name`, `defined`, `stem`, `folder`, `parts`, `mention`, `turns`."""

    def retrieve(self, wanted: Wanted) -> Arms:
        """Return the best chunks of every requested arm, in one call."""

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> Matrix:
        """Return the vectors of chunks, one row each; zeros for a chunk without a vector."""

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Return the metadata of chunks, without their texts."""

    def dimension(self, space: str) -> int:
        """Return the length of the vectors of a space; 0 if it has none."""

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """Return the candidates that a person linked with some documents, by document."""

    @property
    def size(self) -> int:
        """The number of visible chunks."""

    def chunks_of(self, documents: Collection[int]) -> Mapping[int, Sequence[Chunk]]:
        """Return all chunks of some documents, in order; none for a document that is no candidate."""

    def text(self, document: int) -> str:
        """Return the whole stored text of a document; empty if it is no candidate."""

    def uris(self) -> Mapping[int, str]:
        """Return the uris of the candidates, by document id."""

    @property
    def links(self) -> Links:
        """Definitions, references and imports of the candidates."""

    def within(self, scope: Scope) -> View:
        """Return a view of the same snapshot with another scope."""

    def knows(self, path: str) -> bool:
        """Return whether a visible document is at or below a path, or matches a pattern."""

    def languages(self) -> frozenset[str]:
        """Return the languages of the visible documents."""

    def kinds(self) -> frozenset[str]:
        """Return the kinds of the visible chunks; in a view of memories, of the candidates."""

    def topics(self) -> frozenset[str]:
        """Return the topics of the candidates, before the filter by topic."""

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """Return chunks with their texts, in the order asked for. Chunks that are no candidates are left out."""

    @property
    def spaces(self) -> Mapping[str, int]:
        """The number of visible chunks with a vector, by space."""


class Store(Protocol):
    """The documents of one workspace, for readers. Any thread may call it."""

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[View]:
        """Open a view of the current snapshot, which does not change while open. Raises `Unavailable` at the deadline."""

    def changes(self, after: int) -> Iterator[Change]:
        """Yield every change after a position of the change feed, in order, deletions included.

        Raises `IndexMismatch` if changes after the position are no longer stored.
        """


class Waiting(Protocol):
    """Contents without vectors."""

    def missing_vectors(self, space: str, limit: int, besides: Collection[str] = ()) -> list[tuple[int, list[str]]]:
        """Return contents without vectors in a space, with the texts to embed. Skips documents whose uri is in `besides`."""

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Store vectors of contents that are still stored."""


class Notes(Protocol):
    """Metadata of a project besides its documents: settings, failures, scrubbed secrets, counts for people."""

    def note_error(self, uri: str, error: str, stamp: Stamp) -> None:
        """Record that a file failed, with its stamp at that time."""

    def failed_stamps(self) -> dict[str, Stamp]:
        """Return the stamps of the failed files at the time they failed, by uri."""

    def clear_errors(self, uris: Sequence[str]) -> None:
        """Delete the failures of files that were read since, or that no longer exist."""

    def setting(self, name: str) -> str | None:
        """Return a setting of the index; None if it is not set."""

    def set_setting(self, name: str, value: str) -> None:
        """Store a setting of the index."""

    def finds(self, source: int) -> list[tuple[str, int, str]]:
        """Return the secrets scrubbed in the documents of a source: path, line, rule."""

    def failures(self) -> list[tuple[str, str, int]]:
        """Return the files that failed: path, error, number of retries."""

    def summary(self) -> dict[str, object]:
        """Return counts and sizes, for people."""

    def size(self) -> int:
        """Return the number of bytes on disk."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to one workspace that readers see at once, at one position of the change feed."""

    written: Sequence[Written] = ()
    touched: Sequence[DocumentRow] = ()  # documents with a new stamp and the same content: readers see no change
    removed: Collection[int] = ()  # document ids
    granted: Collection[frozenset[str]] = ()  # access lists that the documents refer to by `access_list_id`
    shared: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by source: a new access list for all its documents


class Lease(Protocol):
    """The right to write one project, held by one process at a time."""

    def check(self) -> None:
        """Raise `Busy` if the lease was lost."""


class ProjectStore(Store, Waiting, Protocol):
    """The documents of one project, for its one writer, which holds the lease. The store decides when to fold."""

    @property
    def jobs(self) -> Jobs:
        """The job queue of this index."""

    @property
    def notes(self) -> Notes:
        """Settings, failures, scrubbed secrets and counts."""

    def documents(self, source: int) -> dict[str, DocumentRow]:
        """Return the documents of a source, by uri."""

    def stamps(self, source: int, documents: Sequence[int]) -> dict[str, Stamp]:
        """Return the stamps of some documents of a source, by uri."""

    def holds(self, content: int) -> bool:
        """Return whether a content is stored with its terms, so that a document can be written without parsing it."""

    def apply(self, batch: Batch, lease: Lease) -> int:
        """Write a batch in one transaction. Returns its position; a batch that changes nothing takes no new one."""

    def adopt(self, space: str) -> int:
        """Drop vectors of older spaces of the same tier, once contents have theirs in this space. Returns how many."""

    def settle(self, lease: Lease, *, vacuum: bool = True) -> None:
        """End a run: delete contents without a document, update derived structures, erase deleted text."""

    def check(self) -> None:
        """Read all stored data. Raises `StorageError` if data is damaged."""

    def close(self) -> None:
        """Close files and drop the snapshot in memory. The next reader opens them again."""
