"""What a process knows of one workspace at one position of its change feed, as arrays: immutable, shared by all readers.

Rows are chunks. The rows of the base file come first, ordered by content; rows of newer contents follow. A snapshot is moved
forward by reading only what changed; when the base file changed or the feed was collected, it is loaded anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from contextd.stores.sqlite import arrays
from contextd.stores.sqlite.postings import Postings, turn, unpack
from contextd.stores.sqlite.vectors import Vectors, restore

Ints = NDArray[np.int64]

_MOST_SEGMENTS = 64  # each is searched by itself: more are better read again as one

_HEAD = "select seq, collected_seq, generation, folded_seq from workspace where workspace_id = ?"
_LIVING = """
select document_id, source_id, uri, content_id, acl_id, language, modified, path_terms
from document where workspace_id = ? and dead_seq is null"""
_CHANGED = """
select document_id, source_id, uri, content_id, acl_id, language, modified, path_terms, dead_seq
from document where workspace_id = ?1 and (seq > ?2 or dead_seq > ?2)
order by max(seq, coalesce(dead_seq, 0)), dead_seq is null"""
_WORDS = "select content_id, data from words where workspace_id = ? and seq > ? order by content_id"
_KINDS = """
select content_id, kind from chunk
where workspace_id = ?1 and content_id in (select content_id from words where workspace_id = ?1 and seq > ?2)
order by content_id, ordinal"""
_VECTORS = """
select content_id, space, data from vector where workspace_id = ? and seq > ? and length(data) > 0 order by content_id"""


@dataclass(frozen=True, slots=True)
class Head:
    """The position of a workspace and of its base."""

    seq: int
    collected: int
    generation: int
    folded: int


@dataclass(frozen=True, slots=True)
class Base:
    """The arrays of one generation."""

    generation: int
    contents: Ints
    starts: Ints
    kinds: NDArray[np.uint8]
    kind_names: list[str]
    postings: Postings
    lengths: NDArray[np.float32]
    vectors: Mapping[str, Vectors]


@dataclass(frozen=True, slots=True)
class Segment:
    """Contents that came after the base, in the order they came."""

    contents: list[int]
    sizes: list[int]
    kinds: list[str]
    postings: Postings
    lengths: NDArray[np.float32]


DocumentTuple = tuple[int, int, str, int, int, str, int, bytes]


@dataclass(frozen=True)
class Snapshot:
    """Everything a view needs, at one position."""

    workspace: int
    head: Head
    base: Base
    segments: tuple[Segment, ...]
    vectors: Mapping[str, tuple[Vectors, ...]]
    rows: Mapping[int, DocumentTuple]

    @cached_property
    def contents(self) -> Ints:
        """The id of every content, by position."""
        newer = [content for segment in self.segments for content in segment.contents]
        return np.concatenate((self.base.contents, np.array(newer, np.int64)))

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each content begin, and at the end the number of rows."""
        sizes = [size for segment in self.segments for size in segment.sizes]
        return np.concatenate((self.base.starts, self.base.starts[-1] + np.cumsum(np.array(sizes, np.int64))))

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.starts[-1])

    @cached_property
    def place_of_content(self) -> Mapping[int, int]:
        """The position of each content by its id."""
        return {content: place for place, content in enumerate(self.contents.tolist())}

    @cached_property
    def content_of_row(self) -> Ints:
        """The position of the content each row belongs to."""
        return np.repeat(np.arange(len(self.contents)), np.diff(self.starts))

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """How many terms each row has."""
        return np.concatenate([self.base.lengths, *(segment.lengths for segment in self.segments)])

    @cached_property
    def content_lengths(self) -> NDArray[np.float32]:
        """How many terms each content has."""
        sums = np.concatenate((np.zeros(1), np.cumsum(self.lengths, dtype=np.float64)))
        return (sums[self.starts[1:]] - sums[self.starts[:-1]]).astype(np.float32)

    @cached_property
    def kinds(self) -> NDArray[Any]:
        """The kind of every row."""
        names = np.array(self.base.kind_names or [""], dtype=object)
        return np.concatenate([names[self.base.kinds], *(np.array(s.kinds, dtype=object) for s in self.segments)])

    @cached_property
    def documents(self) -> list[DocumentTuple]:
        """The living documents whose content is known, ordered by uri."""
        return sorted(self.rows.values(), key=lambda row: row[2])

    @cached_property
    def content_of_document(self) -> Ints:
        """The position of each document's content; -1 if it has none (an empty file)."""
        wanted = np.array([row[3] for row in self.documents], np.int64)
        order = np.argsort(self.contents, kind="stable")
        known = self.contents[order]
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        if not len(known):
            return np.full(len(wanted), -1, np.int64)
        return np.where(known[place] == wanted, order[place], -1)

    @cached_property
    def document_ids(self) -> Ints:
        """The id of each document."""
        return np.array([row[0] for row in self.documents], np.int64)

    @cached_property
    def place_of_document(self) -> Mapping[int, int]:
        """The position of each document by its id."""
        return {row[0]: place for place, row in enumerate(self.documents)}

    @cached_property
    def content_id_of_row(self) -> Ints:
        """The id of the content each row belongs to."""
        return self.contents[self.content_of_row]

    @cached_property
    def living(self) -> NDArray[np.bool_]:
        """Rows that some document has."""
        return self.rows_of(np.ones(len(self.documents), bool))

    @cached_property
    def spaces(self) -> Mapping[str, int]:
        """How many living rows have a vector in each space."""
        return {
            space: sum(int(self.living[part.rows[part.scales > 0]].sum()) for part in parts)
            for space, parts in self.vectors.items()
        }

    def rows_of(self, documents: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows of some documents, as a mask."""
        places = self.content_of_document[documents]
        contents = np.zeros(len(self.contents), bool)
        contents[places[places >= 0]] = True
        return np.repeat(contents, np.diff(self.starts))

    @cached_property
    def acls(self) -> Ints:
        """The access list of each document."""
        return np.array([row[4] for row in self.documents], np.int64)

    @cached_property
    def sources(self) -> Ints:
        """The source of each document."""
        return np.array([row[1] for row in self.documents], np.int64)

    @cached_property
    def paths(self) -> Postings:
        """From the terms of paths to documents."""
        sizes = [len(row[7]) // 8 for row in self.documents]
        keys = np.frombuffer(b"".join(row[7] for row in self.documents), np.uint64)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        return turn(keys, rows, np.ones(len(keys), np.uint8))

    @cached_property
    def documents_by_content(self) -> tuple[Ints, Ints]:
        """Documents ordered by content (ties by uri), and the content of each."""
        order = np.argsort(self.content_of_document, kind="stable")
        return order, self.content_of_document[order]

    def postings(self) -> Iterable[tuple[int, Postings]]:
        """All word lists with the row at which each begins."""
        yield 0, self.base.postings
        first = int(self.base.starts[-1])
        for segment in self.segments:
            yield first, segment.postings
            first += len(segment.lengths)


def head_of(connection: apsw.Connection, workspace: int) -> Head:
    """Where a workspace is now."""
    row = connection.execute(_HEAD, (workspace,)).fetchone()
    return Head(*row) if row else Head(0, 0, 0, 0)


def load(connection: apsw.Connection, workspace: int, folder: Path | None) -> Snapshot:
    """The state of a workspace, from nothing."""
    head = head_of(connection, workspace)
    base = read_base(folder, head.generation)
    rows = living_documents(connection, workspace)
    segments = _segments(connection, workspace, -1, base, ())
    start = Snapshot(workspace, head, base, segments, {space: (part,) for space, part in base.vectors.items()}, rows)
    return with_vectors(start, connection, head.folded if head.generation else -1)


def living_documents(connection: apsw.Connection, workspace: int) -> dict[int, DocumentTuple]:
    """The documents that are there now, by id."""
    return {row[0]: row for row in connection.execute(_LIVING, (workspace,))}


def advance(old: Snapshot, connection: apsw.Connection, folder: Path | None) -> Snapshot:
    """The same workspace at its present position."""
    head = head_of(connection, old.workspace)
    if head == old.head:
        return old
    if head.generation != old.head.generation or head.collected > old.head.seq or len(old.segments) > _MOST_SEGMENTS:
        return load(connection, old.workspace, folder)
    rows = dict(old.rows)
    for *row, dead in connection.execute(_CHANGED, (old.workspace, old.head.seq)):
        if dead is None:
            rows[row[0]] = tuple(row)
        elif row[0] in rows and rows[row[0]][3] == row[3]:
            del rows[row[0]]
    segments = _segments(connection, old.workspace, old.head.seq, old.base, old.segments)
    merged = Snapshot(old.workspace, head, old.base, segments, old.vectors, rows)
    return with_vectors(merged, connection, old.head.seq)


def _segments(
    connection: apsw.Connection, workspace: int, after: int, base: Base, old: tuple[Segment, ...]
) -> tuple[Segment, ...]:
    kinds: dict[int, list[str]] = {}
    for content, kind in connection.execute(_KINDS, (workspace, after)):
        kinds.setdefault(content, []).append(kind)
    known = {content for segment in old for content in segment.contents}
    fresh = [
        (content, unpack(data))
        for content, data in connection.execute(_WORDS, (workspace, after))
        if content not in known and not _in_base(base, content)
    ]
    return (*old, segment_of(fresh, kinds)) if fresh else old


def _in_base(base: Base, content: int) -> bool:
    place = int(np.searchsorted(base.contents, content))
    return place < len(base.contents) and int(base.contents[place]) == content


def segment_of(fresh: Sequence[tuple[int, list[Any]]], kinds: Mapping[int, list[str]]) -> Segment:
    """A segment of contents with their word lists."""
    pieces = [piece for _, words in fresh for piece in words]
    sizes = [len(keys) for keys, _ in pieces]
    keys = np.concatenate([keys for keys, _ in pieces]) if pieces else np.zeros(0, np.uint64)
    counts = np.concatenate([counts for _, counts in pieces]) if pieces else np.zeros(0, np.uint8)
    lengths = np.array([counts.sum(dtype=np.float32) for _, counts in pieces], np.float32)
    rows = np.repeat(np.arange(len(pieces)), sizes)
    names = [kind for content, _ in fresh for kind in kinds.get(content, [])]
    contents, counts_of = [content for content, _ in fresh], [len(words) for _, words in fresh]
    return Segment(contents, counts_of, names, turn(keys, rows, counts), lengths)


def with_vectors(snapshot: Snapshot, connection: apsw.Connection, after: int) -> Snapshot:
    """Add the vectors that came after a position."""
    found: dict[str, list[tuple[Ints, Any, Any]]] = {}
    for content, space, data in connection.execute(_VECTORS, (snapshot.workspace, after)):
        place = snapshot.place_of_content.get(content)
        if place is not None:
            rows = np.arange(snapshot.starts[place], snapshot.starts[place + 1])
            found.setdefault(space, []).append((rows, *restore(data, len(rows))))
    if not found:
        return snapshot
    vectors = dict(snapshot.vectors)
    for space, entries in found.items():
        entries.sort(key=lambda entry: int(entry[0][0]) if len(entry[0]) else -1)  # searches count on rows in order
        part = Vectors(*(np.concatenate(column) for column in zip(*entries, strict=True)))
        vectors[space] = (*vectors.get(space, ()), part)
    return Snapshot(snapshot.workspace, snapshot.head, snapshot.base, snapshot.segments, vectors, snapshot.rows)


def base_path(folder: Path, generation: int) -> Path:
    """The file of a generation."""
    return folder / f"base-{generation:06d}.arrays"


def read_base(folder: Path | None, generation: int) -> Base:
    """The base of a generation; an empty one for none."""
    if folder is None or generation == 0:
        return EMPTY
    found, extra = arrays.read(base_path(folder, generation))
    postings = Postings(found["keys"], found["key_starts"], found["rows"], found["counts"])
    everything = np.arange(int(found["starts"][-1]))
    vectors = {space: Vectors(everything, found[f"matrix:{space}"], found[f"scales:{space}"]) for space in extra["spaces"]}
    return Base(
        generation,
        found["contents"],
        found["starts"],
        found["kinds"],
        extra["kinds"],
        postings,
        found["lengths"],
        vectors,
    )


EMPTY = Base(
    0,
    np.zeros(0, np.int64),
    np.zeros(1, np.int64),
    np.zeros(0, np.uint8),
    [],
    Postings(np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)),
    np.zeros(0, np.float32),
    {},
)
