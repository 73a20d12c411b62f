"""Protocols of a store: what a search reads, what the one writer of a project writes, and what is noted beside documents."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from contextd.ports.world import Matrix
from contextd.values.answer import Found, Spread
from contextd.values.document import About, Change, Chunk, ChunkId, Definition, DocumentRow, Parsed, Site, Stamp
from contextd.values.job import Jobs
from contextd.values.memory import Related
from contextd.values.query import Scope
from contextd.values.retrieval import Wanted

Written = tuple[DocumentRow, Parsed, Mapping[str, Matrix]]  # a document, its content, and its vectors by space


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

    @property
    def spread(self) -> Mapping[str, Spread]:
        """The cosines of the question to all candidates, by space."""

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

    def unembedded(self, space: str) -> int:
        """Return the number of visible chunks that were never embedded in a space. Zero vectors count as embedded."""


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
    reused: Sequence[DocumentRow] = ()  # documents whose content is stored already
    touched: Sequence[DocumentRow] = ()  # documents with a new stamp and the same content: readers see no change
    removed: Collection[int] = ()  # document ids
    granted: Collection[frozenset[str]] = ()  # access lists that the documents refer to by `access_list_id`
    shared: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by source: a new access list for all its documents


class Applied(NamedTuple):
    """What became of a batch: its position, and reused documents whose content is not stored any more."""

    position: int
    refused: Sequence[DocumentRow]


class Lease(Protocol):
    """The right to write one project, held by one process at a time."""

    def check(self) -> None:
        """Raise `LeaseLost` if this process does not hold the lease any more."""


class ProjectStore(Store, Waiting, Protocol):
    """The documents of one project, for its one writer, which holds the lease. The store decides when to fold."""

    def version(self) -> Hashable:
        """Return a value that changes with every commit of any process."""

    @property
    def jobs(self) -> Jobs:
        """The job queue of this index."""

    @property
    def notes(self) -> Notes:
        """Settings, failures, scrubbed secrets and counts."""

    def documents(self, source: int) -> dict[str, DocumentRow]:
        """Return the documents of a source, by uri."""

    def living(self, documents: Collection[int]) -> frozenset[int]:
        """Return those of some documents that are there, of any source."""

    def stamps(self, source: int, documents: Sequence[int]) -> dict[str, Stamp]:
        """Return the stamps of some documents of a source, by uri."""

    def holds(self, content: int) -> bool:
        """Return whether a content is stored with its terms, so that a document can be written without parsing it."""

    def apply(self, batch: Batch, lease: Lease) -> Applied:
        """Write a batch in one transaction. A batch that changes nothing takes no new position.

        A reused document whose content was deleted since `holds` is refused: the caller parses it and writes it again.
        """

    def adopt(self, space: str) -> int:
        """Drop vectors of older spaces of the same tier, once contents have theirs in this space. Returns how many."""

    def fold(self, lease: Lease) -> None:
        """Bring derived structures up to date now. `apply` does so by itself when much is new."""

    def settle(self, lease: Lease, *, vacuum: bool = True) -> None:
        """End a run: delete contents without a document, and erase deleted text."""

    def check(self) -> None:
        """Read all stored data. Raises `StorageError` if data is damaged."""

    def close(self) -> None:
        """Close files and drop the snapshot in memory. The next reader opens them again."""
