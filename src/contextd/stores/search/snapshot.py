"""A snapshot: one workspace at one position of its change feed, as arrays. It is immutable and shared by all readers.

Rows are chunks. The rows of the base file come first, ordered by content; rows of newer contents follow in segments. A new
snapshot is made from the old one by reading only the changes. If these are no longer stored, it is loaded from the database.
Array positions of rows and contents stay the same as long as the base does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.documents import Documents, OrderedDocuments
from contextd.stores.search.postings import Postings, unpack
from contextd.stores.search.reading import Head, Reading
from contextd.stores.search.segments import MERGED, Base, Ints, Segment, merged, place_in, read_base, segment_of
from contextd.stores.search.texts import LatelyRead
from contextd.stores.search.vectors import Vectors, merge_parts, restore

_MOST_DEAD, _SOME_DEAD = 2, 4096  # load anew when there are more than 2 * living + 4096 rows


class Placed:
    """The positions of the contents of ordered documents; unchanged as long as these documents and the base are."""

    def __init__(self, contents: Ints) -> None:
        self.contents = contents

    @cached_property
    def by_content(self) -> tuple[Ints, Ints]:
        """Positions of documents, ordered by content (ties by uri), and the content of each."""
        order = np.argsort(self.contents, kind="stable")
        return order, self.contents[order]


@dataclass(frozen=True)
class Snapshot:
    """All arrays of a view, at one position of the change feed."""

    workspace: int
    head: Head
    base: Base
    segments: tuple[Segment, ...]
    newer: Mapping[int, int]  # positions of contents that are not in the base, by id
    vectors: Mapping[str, tuple[Vectors, ...]]
    documents: Documents
    placed: Placed  # positions of the contents of the ordered documents
    newer_placed: Ints  # and of the newer documents
    acls: dict[frozenset[str], tuple[int, ...]] = field(default_factory=dict, init=False)  # by principals, once looked up
    texts: LatelyRead = field(default_factory=LatelyRead, init=False)

    @cached_property
    def content_of_document(self) -> Ints:
        """For each document the position of its content; -1 if it has none (an empty file)."""
        return np.concatenate((self.placed.contents, self.newer_placed))

    @cached_property
    def contents(self) -> Ints:
        """The id of each content, by position."""
        return np.concatenate([self.base.contents, *(segment.contents for segment in self.segments)])

    @cached_property
    def starts(self) -> Ints:
        """The first row of each content, and at the end the number of rows."""
        sizes = np.concatenate([np.zeros(0, np.int64), *(segment.sizes for segment in self.segments)])
        return np.concatenate((self.base.starts, self.base.starts[-1] + np.cumsum(sizes)))

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.starts[-1])

    def place_of_content(self, content: int) -> int | None:
        """Return the position of a content by its id; None if it is not here."""
        return self.newer.get(content, place_in(self.base, content))

    @cached_property
    def content_of_row(self) -> Ints:
        """For each row the position of its content."""
        first = len(self.base.contents)
        newer = np.repeat(np.arange(first, len(self.contents)), np.diff(self.starts[first:]))
        return np.concatenate((self.base.content_of_row, newer))

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """The number of terms of each row."""
        return np.concatenate([self.base.lengths, *(segment.lengths for segment in self.segments)])

    @cached_property
    def content_lengths(self) -> NDArray[np.float32]:
        """The number of terms of each content."""
        return np.concatenate([self.base.content_lengths, *(segment.content_lengths for segment in self.segments)])

    @cached_property
    def kinds(self) -> NDArray[Any]:
        """The kinds of each row, separated by spaces."""
        return np.concatenate([self.base.kind_of_row, *(segment.kinds for segment in self.segments)])

    @cached_property
    def content_id_of_row(self) -> Ints:
        """For each row the id of its content."""
        return self.contents[self.content_of_row]

    @cached_property
    def living(self) -> NDArray[np.bool_]:
        """Mask of the rows of living documents."""
        return self.rows_of(self.documents.alive)

    @cached_property
    def spaces(self) -> Mapping[str, int]:
        """The number of living rows with a vector, by space."""
        return self.spaces_of(self.living)

    def spaces_of(self, rows: NDArray[np.bool_]) -> Mapping[str, int]:
        """Return the number of rows of a mask with a vector, by space. A row may have an older vector in another part."""
        found = {}
        for space, parts in self.vectors.items():
            there = np.zeros(self.total, bool)
            for part in parts:
                there[part.rows[part.scales > 0]] = True
            found[space] = int((there & rows).sum())
        return found

    def unembedded(self, space: str, rows: NDArray[np.bool_]) -> int:
        """Return the number of rows of a mask that were never embedded in a space. In a base, every row counts as embedded."""
        there = np.zeros(self.total, bool)
        for part in self.vectors.get(space, ()):
            there[part.rows] = True
        return int((rows & ~there).sum())

    def rows_of(self, documents: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the rows of some documents."""
        places = self.content_of_document[documents]
        contents = np.zeros(len(self.contents), bool)
        contents[places[places >= 0]] = True
        return np.repeat(contents, np.diff(self.starts))

    def postings(self) -> Iterable[tuple[int, Postings]]:
        """Yield the postings of the base and of each segment, with the number of its first row."""
        yield 0, self.base.postings
        first = int(self.base.starts[-1])
        for segment in self.segments:
            yield first, segment.postings
            first += len(segment.lengths)


def load(reading: Reading, folder: Path | None) -> Snapshot:
    """Load a snapshot of a workspace. Raises `FileNotFoundError` or `StorageError` if its base is missing or damaged."""
    head = reading.head()
    base = read_base(folder, head.generation)
    return assembled(reading, head, base, _segments(reading, -1, base, {}), living_documents(reading))


def assembled(reading: Reading, head: Head, base: Base, segments: tuple[Segment, ...], documents: Documents) -> Snapshot:
    """Return a snapshot of its parts, with the vectors that are not in the base."""
    newer = _placed({}, segments, len(base.contents))
    documents = documents.in_order() if documents.newer else documents
    placed = Placed(_places(documents.contents, base, newer))
    vectors = {space: (part,) for space, part in base.vectors.items()}
    start = Snapshot(reading.workspace, head, base, segments, newer, vectors, documents, placed, placed.contents[:0])
    return with_vectors(start, reading, head.folded if base.generation else -1)


def living_documents(reading: Reading) -> Documents:
    """Return the living documents."""
    return Documents(OrderedDocuments(reading.living()))


def advance(old: Snapshot, reading: Reading, folder: Path | None) -> Snapshot:
    """Return a snapshot at the current position, made from an older one where possible."""
    head = reading.head()
    if head == old.head:
        return old
    if head.collected > old.head.seq:
        return load(reading, folder)
    documents = old.documents.changed(reading.changed(old.head.seq))
    if head.generation != old.head.generation:
        base = read_base(folder, head.generation)
        return assembled(reading, head, base, _segments(reading, -1, base, {}), documents)
    fresh = _segments(reading, old.head.seq, old.base, old.newer)
    newer = _placed(old.newer, fresh, len(old.base.contents) + len(old.newer)) if fresh else old.newer
    same = documents.ordered is old.documents.ordered
    placed = old.placed if same else Placed(_places(documents.ordered.columns["contents"], old.base, newer))
    known = old.newer_placed if same else old.newer_placed[:0]
    fresh_places = _places(documents.newer_columns["contents"][len(known) :], old.base, newer)
    moved = Snapshot(
        old.workspace,
        head,
        old.base,
        merged(old.segments + fresh),
        newer,
        old.vectors,
        documents,
        placed,
        np.concatenate((known, fresh_places)),
    )
    if moved.total > _MOST_DEAD * int(moved.living.sum()) + _SOME_DEAD:  # dead rows cost memory and time
        return load(reading, folder)
    return with_vectors(moved, reading, old.head.seq)


def _segments(reading: Reading, after: int, base: Base, known: Mapping[int, int]) -> tuple[Segment, ...]:
    """Return the unknown contents written after a position, as one segment; none if there are no such contents."""
    kinds: dict[int, list[str]] = {}
    for content, kind in reading.kinds(after):
        kinds.setdefault(content, []).append(kind)
    fresh = [
        (content, unpack(data))
        for content, data in reading.words(after)
        if content not in known and place_in(base, content) is None
    ]
    return (segment_of(fresh, kinds),) if fresh else ()


def _placed(known: Mapping[int, int], segments: Sequence[Segment], first: int) -> dict[int, int]:
    """Return the positions of contents, those of new segments numbered from `first`."""
    contents = [content for segment in segments for content in segment.contents.tolist()]
    return {**known, **{content: place for place, content in enumerate(contents, first)}}


def _places(contents: Ints, base: Base, newer: Mapping[int, int]) -> Ints:
    """Return the positions of contents by their ids; -1 for a missing content."""
    if not len(contents):
        return np.zeros(0, np.int64)
    found = np.full(len(contents), -1, np.int64)
    if len(base.contents):
        place = np.minimum(np.searchsorted(base.contents, contents), len(base.contents) - 1)
        found = np.where(base.contents[place] == contents, place, -1)
    for missing in np.flatnonzero(found < 0).tolist() if newer else ():
        found[missing] = newer.get(int(contents[missing]), -1)
    return found


def with_vectors(snapshot: Snapshot, reading: Reading, after: int) -> Snapshot:
    """Return the snapshot with the vectors written after a position."""
    found: dict[str, list[tuple[Ints, Any, Any]]] = {}
    for content, space, data in reading.vectors(after):
        place = snapshot.place_of_content(content)
        if place is not None:
            rows = np.arange(snapshot.starts[place], snapshot.starts[place + 1])
            found.setdefault(space, []).append((rows, *restore(data, len(rows))))
    if not found:
        return snapshot
    vectors = dict(snapshot.vectors)
    for space, entries in found.items():
        entries.sort(key=lambda entry: int(entry[0][0]) if len(entry[0]) else -1)  # searches need ascending rows
        part = Vectors(*(np.concatenate(column) for column in zip(*entries, strict=True)))
        vectors[space] = merge_parts((*vectors.get(space, ()), part), MERGED)
    return replace(snapshot, vectors=vectors)
