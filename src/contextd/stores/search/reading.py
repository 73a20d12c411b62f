"""What a search asks of a database engine: the rows of one workspace in one read transaction.

An engine implements this protocol once; snapshots, masks, BM25, vectors and views above it are the same for every engine.
Rows are plain tuples in the order that the methods name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from contextd.values.document import Definition
from contextd.values.memory import Recall

# Id, source, uri, content, access list, language, time of change, terms of the path.
DocumentTuple = tuple[int, int, str, int, int, str, int, bytes]


class Head(NamedTuple):
    """The position of a workspace, and of its base file."""

    seq: int
    collected: int  # changes up to this position are no longer listed
    generation: int
    folded: int  # the position that the base file holds


class PieceRow(NamedTuple):
    """A chunk without its text: `heading` is a JSON list, `kind` the kinds of its units separated by spaces."""

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
        """The position of the workspace; zeros if nothing was ever written."""

    def living(self) -> Iterable[DocumentTuple]:
        """All documents."""

    def changed(self, after: int) -> Iterable[tuple[DocumentTuple, bool]]:
        """Documents written or removed after a position, in order; True for a removed one."""

    def words(self, after: int) -> Iterable[tuple[int, bytes]]:
        """Content and packed word lists of contents written after a position and not in the base file, by content."""

    def kinds(self, after: int) -> Iterable[tuple[int, str]]:
        """Content and kinds of each chunk of the same contents, in order."""

    def vectors(self, after: int) -> Iterable[tuple[int, str, bytes]]:
        """Content, space and packed vectors written after a position and not in the base file, by content."""

    def access_lists(self, principals: Collection[str]) -> Sequence[int]:
        """The ids of the access lists that name one of the principals."""

    def texts(self, contents: Collection[int]) -> Mapping[int, str]:
        """The texts of contents."""

    def all_texts(self) -> Iterator[tuple[int, str]]:
        """Content and text of every content, by content."""

    def pieces(self, contents: Collection[int]) -> Iterable[tuple[int, PieceRow]]:
        """Content and chunk of every chunk of some contents, in order."""

    def pieces_at(self, places: Collection[tuple[int, int]]) -> Iterable[tuple[int, PieceRow]]:
        """Content and chunk of the chunks with these contents and ordinals."""

    def names(self, content: int) -> Sequence[str]:
        """The defined names of each chunk of a content, as JSON lists, in order."""

    def ordinals_at(self, content: int, line: int) -> Sequence[int]:
        """The ordinals of the chunks of a content that contain a line."""

    def definitions_of(self, names: Collection[str]) -> Iterable[tuple[int, Definition]]:
        """Content and definition of each definition whose last part is one of the names, in any case."""

    def definitions_in(self, contents: Collection[int]) -> Iterable[tuple[int, Definition]]:
        """Content and definition of each definition in some contents."""

    def references_to(self, names: Collection[str]) -> Iterable[tuple[str, int, int, Sequence[int]]]:
        """Name, kind, content and lines of each reference to one of the names."""

    def imports_of(self, stems: Collection[str]) -> Iterable[tuple[int, str, int]]:
        """Content, target and line of each import whose last part is one of the stems."""

    def imports_in(self, contents: Collection[int]) -> Iterable[tuple[int, str, int]]:
        """Content, target and line of each import in some contents."""


class MemoryReading(Reading, Protocol):
    """The same, with what is known of memories beside their texts."""

    def left_out(self, asked: Recall, now: int) -> Iterable[int]:
        """Documents of memories that may not answer: not valid at that time, never recalled, or not asked for."""

    def of_kinds(self, kinds: Collection[str]) -> Iterable[int]:
        """Documents of memories of these kinds."""

    def memory_kinds(self, documents: Collection[int]) -> Iterable[str]:
        """The kinds of the memories of some documents."""

    def memory_topics(self, documents: Collection[int]) -> Iterable[str]:
        """The topics of the memories of some documents."""

    def known(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Document, kind, time said, confidence, pinned, feedback, whom it is about, topics as JSON."""

    def stated(self, documents: Collection[int]) -> Iterable[tuple[Any, ...]]:
        """Document, kind, confidence, time said, attribute, value with its unit."""

    def related(self, documents: Collection[int]) -> Iterable[tuple[int, int, str]]:
        """Document, linked document and kind of each link, in the order they were made."""
