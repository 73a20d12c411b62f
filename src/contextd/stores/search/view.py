"""A snapshot as one reader may see it: masks for rights and scope, then the searches, then texts by id.

Rights and sources decide the statistics, the whole scope decides the candidates; both are applied before any ranking, and
rights once more when texts are fetched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.arms import SnapshotArms
from contextd.stores.search.links import SnapshotLinks
from contextd.stores.search.masks import Masks
from contextd.stores.search.reading import PieceRow, Reading
from contextd.stores.search.row_map import RowMap
from contextd.stores.search.snapshot import Snapshot
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.memory import Related
from contextd.values.query import Scope
from contextd.values.retrieval import Wanted

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]


_NOTHING = -1  # no source and no content has this id


class SnapshotView:
    """Answers for one workspace, one reader, one moment."""

    fields = frozenset({"chunk", "document", "name", "defined", "stem", "folder"})

    def __init__(self, reading: Reading, snapshot: Snapshot, scope: Scope) -> None:
        self._reading, self._snapshot, self._scope = reading, snapshot, scope
        self._documents, self._masks = snapshot.documents, self._may_answer()
        self._map = RowMap(snapshot, self._masks)

    def _may_answer(self) -> Masks:
        return Masks(self._reading, self._snapshot, self._scope)

    def within(self, scope: Scope) -> SnapshotView:
        """The same moment, seen by another scope."""
        return SnapshotView(self._reading, self._snapshot, scope)

    def retrieve(self, wanted: Wanted) -> SnapshotArms:
        """The best of every arm that is asked."""
        return SnapshotArms(self._reading, self._snapshot, self._masks, self._map, wanted)

    def chunks_of(self, documents: Collection[int]) -> dict[int, list[Chunk]]:
        """All chunks of some documents, in order; none of a document that may not answer."""
        contents = {one: self._map.content(one) for one in documents if self._map.may_see(one)}
        wanted = set(contents.values())
        texts = self._reading.texts(wanted)
        pieces: dict[int, list[PieceRow]] = {content: [] for content in texts}
        for place, piece in self._reading.pieces(wanted):
            pieces[place].append(piece)
        return {
            one: [self._chunk(ChunkId(one, piece.ordinal), texts[content], piece) for piece in pieces[content]]
            if (content := contents.get(one, _NOTHING)) in texts
            else []
            for one in documents
        }

    @cached_property
    def links(self) -> SnapshotLinks:
        """What the documents that may answer define, refer to and import."""
        return SnapshotLinks(self._reading, self._snapshot, self._masks)

    def uris(self) -> Mapping[int, str]:
        """The documents that may answer, by id."""
        return {row[0]: row[2] for row in self._documents.by_uri(self._masks.candidates)}

    def text(self, document: int) -> str:
        """The whole stored text of a document; empty for one that may not answer."""
        place = self._documents.place(document)
        if place is None or not self._masks.candidates[place]:
            return ""
        content = self._documents.at(place)[3]
        return self._reading.texts([content]).get(content, "")

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """What a person linked with some documents; nobody links files."""
        return {}

    def knows(self, path: str) -> bool:
        """Whether a document that may be seen is at or below a path, or fits a pattern."""
        return bool((self._documents.below((path,)) & self._masks.allowed).any())

    def languages(self) -> frozenset[str]:
        """The languages of the documents that may be seen."""
        return frozenset(self._documents.languages[self._masks.allowed].tolist())

    def kinds(self) -> frozenset[str]:
        """The kinds of the chunks that may be seen."""
        kinds = self._snapshot.kinds
        seen = kinds if self._masks.visible is None else kinds[self._masks.visible]
        return frozenset(" ".join(set(seen.tolist())).split())

    def topics(self) -> frozenset[str]:
        """The topics of what may be seen: files have none."""
        return frozenset()

    @cached_property
    def spaces(self) -> Mapping[str, int]:
        """How many visible chunks have a vector in each space."""
        visible = self._masks.visible
        return self._snapshot.spaces if visible is None else self._snapshot.spaces_of(visible)

    def dimension(self, space: str) -> int:
        """How long the vectors of a space are; 0 where there are none."""
        return next((int(part.matrix.shape[1]) for part in self._snapshot.vectors.get(space, ())), 0)

    @property
    def size(self) -> int:
        """How many chunks may be seen."""
        return self._masks.size

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts, in the order asked for."""
        contents = {one: self._map.content(one.document) for one in chunks if self._map.may_see(one.document)}
        texts = self._reading.texts(set(contents.values()))
        wanted = {(content, one.ordinal) for one, content in contents.items()}
        pieces = {(content, piece.ordinal): piece for content, piece in self._reading.pieces_at(wanted)}
        return [
            self._chunk(one, texts[content], pieces[content, one.ordinal])
            for one, content in contents.items()
            if content in texts and (content, one.ordinal) in pieces
        ]

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> Float:
        """The vectors of these chunks, a row each; zeros for one without."""
        parts = self._snapshot.vectors.get(space, ())
        if not parts or not chunks:
            return np.zeros((len(chunks), 0), np.float32)
        wanted = self._map.rows(chunks)
        result = np.zeros((len(chunks), parts[0].matrix.shape[1]), np.float32)
        for part in parts:
            order = np.searchsorted(part.rows, wanted)
            there = np.flatnonzero(part.rows[np.minimum(order, len(part.rows) - 1)] == wanted)
            places = order[there]
            result[there] = part.matrix[places].astype(np.float32) * part.scales[places, None]
        return result

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from, without their texts."""
        places = self._map.rows(chunks)
        contents = self._snapshot.content_of_row[places]
        sizes = (self._snapshot.starts[contents + 1] - self._snapshot.starts[contents]).tolist()
        documents = [self._map.document(chunk.document) for chunk in chunks]
        kinds = [tuple(kind.split(" ")) for kind in self._snapshot.kinds[places].tolist()]
        return [
            About(document[2], document[5], several[0], document[6], size, kinds=several)
            for document, several, size in zip(documents, kinds, sizes, strict=True)
        ]

    # Inside

    def _chunk(self, chunk: ChunkId, whole: str, piece: PieceRow) -> Chunk:
        row = self._map.document(chunk.document)
        place = self._map.content_place(chunk.document)
        total = int(self._snapshot.starts[place + 1] - self._snapshot.starts[place])
        _, kind, label, heading, start_line, end_line, start, end, tokens = piece
        return Chunk(
            chunk, self._snapshot.workspace, row[2], row[5], kind.partition(" ")[0], label, tuple(json.loads(heading)),
            whole[start:end], start_line, end_line, start, end, tokens, row[6], total, kinds=tuple(kind.split(" ")),
        )  # fmt: skip


def only(scope: Scope, source: int) -> Scope:
    """The scope narrowed to one source: nothing, where that one is not asked for."""
    asked = not scope.sources or source in scope.sources
    return replace(scope, sources=frozenset({source if asked else _NOTHING}))
