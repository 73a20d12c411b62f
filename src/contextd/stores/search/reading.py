"""The protocol a database engine implements for search: the rows of one workspace in one read transaction.

Snapshots, masks, BM25, vectors and views above it are the same for every engine. Rows are plain tuples; the methods name their
fields in order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from contextd.values.document import Definition
from contextd.values.memory import Recall

# Id, source, uri, content, access list, language, time of change, terms of the path.
DocumentTuple = tuple[int, int, str, int, int, str, int, bytes]


class Head(NamedTuple):
    """The change feed position of a workspace, and the state of its base file."""

    seq: int
    collected: int  # changes up to this position are no longer stored
    generation: int
    folded: int  # the base file holds the changes up to this position


class PieceRow(NamedTuple):
    """A chunk without its text. `heading` is a JSON list; `kind` has the kinds of its units, separated by spaces."""

    ordinal: int
    kind: str
    label: str
    heading: str
    start_line: int
    end_line: int
    start: int
    end: int
    tokens: int


class Reading(Protocol):
    """One read transaction on the rows of one workspace."""

    @property
    def workspace(self) -> int:
        """The id of the workspace."""

    def head(self) -> Head:
        """Return the head of the workspace; zeros if nothing was ever written."""

    def living(self) -> Iterable[DocumentTuple]:
        """Return all living documents."""

    def changed(self, after: int) -> Iterable[tuple[DocumentTuple, bool]]:
        """Return the documents written or removed after a position, in order; True for a removed one."""

    def words(self, after: int) -> Iterable[tuple[int, bytes]]:
        """Return content and packed terms of contents written after a position and not in the base file, by content."""

    def kinds(self, after: int) -> Iterable[tuple[int, str]]:
        """Return content and kinds of each chunk of the same contents, in order."""

    def vectors(self, after: int) -> Iterable[tuple[int, str, bytes]]:
        """Return content, space and packed vectors written after a position and not in the base file, by content."""

    def access_lists(self, principals: Collection[str]) -> Sequence[int]:
        """Return the ids of the access lists that name one of the principals."""

    def texts(self, contents: Collection[int]) -> Mapping[int, str]:
        """Return the texts of contents."""

    def all_texts(self) -> Iterator[tuple[int, str]]:
        """Yield content and text of every content, by content."""

    def pieces(self, contents: Collection[int]) -> Iterable[tuple[int, PieceRow]]:
        """Return content and row of every chunk of some contents, in order."""

    def pieces_at(self, places: Collection[tuple[int, int]]) -> Iterable[tuple[int, PieceRow]]:
        """Return content and row of the chunks with these contents and ordinals."""

    def names(self, content: int) -> Sequence[str]:
        """Return the names that each chunk of a content defines, as JSON lists, in order."""

    def ordinals_at(self, content: int, line: int) -> Sequence[int]:
        """Return the ordinals of the chunks of a content that contain a line."""

    def definitions_of(self, names: Collection[str]) -> Iterable[tuple[int, Definition]]:
        """Return content and definition of each definition whose last part is one of the names, ignoring case."""

    def definitions_in(self, contents: Collection[int]) -> Iterable[tuple[int, Definition]]:
        """Return content and definition of each definition in some contents."""

    def references_to(self, names: Collection[str]) -> Iterable[tuple[str, int, int, Sequence[int]]]:
        """Return name, kind, content and lines of each reference to one of the names."""

    def imports_of(self, stems: Collection[str]) -> Iterable[tuple[int, str, int]]:
        """Return content, target and line of each import whose last part is one of the stems."""

    def imports_in(self, contents: Collection[int]) -> Iterable[tuple[int, str, int]]:
        """Return content, target and line of each import in some contents."""


class MemoryReading(Reading, Protocol):
    """The same, with the metadata of memories."""

    def left_out(self, asked: Recall, now: int) -> Iterable[int]:
        """Return the documents of memories that are not valid at that time, are never recalled, or do not match the filters."""

    def of_kinds(self, kinds: Collection[str]) -> Iterable[int]:
        """Return the documents of memories of these kinds."""

    def memory_kinds(self, documents: Collection[int]) -> Iterable[str]:
        """Return the kinds of the memories of some documents."""

    def memory_topics(self, documents: Collection[int]) -> Iterable[str]:
        """Return the topics of the memories of some documents."""

    def known(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Return document, kind, time said, confidence, pinned, feedback, whom it is about, who stated it, topics as JSON."""

    def stated(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Return document, kind, confidence, time said, attribute, value with its unit, author, whether a person stated it."""

    def related(self, documents: Collection[int]) -> Iterable[tuple[int, int, str]]:
        """Return document, linked document and kind of each link, oldest first."""
