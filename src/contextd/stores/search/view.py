"""A snapshot as one reader may see it: masks for access lists and scope, then searches, then texts by id.

Access lists and sources decide the statistics; the whole scope decides the candidates. Both apply before any ranking. They are
checked again when texts are read.
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
    """A view of one snapshot for one reader and scope; used inside the read transaction of `reading`."""

    fields = frozenset({"chunk", "document", "name", "defined", "stem", "folder"})

    def __init__(self, reading: Reading, snapshot: Snapshot, scope: Scope) -> None:
        self._reading, self._snapshot, self._scope = reading, snapshot, scope
        self._documents, self._masks = snapshot.documents, self._make_masks()
        self._map = RowMap(snapshot, self._masks)

    def _make_masks(self) -> Masks:
        return Masks(self._reading, self._snapshot, self._scope)

    def within(self, scope: Scope) -> SnapshotView:
        """Return a view of the same snapshot with another scope."""
        return SnapshotView(self._reading, self._snapshot, scope)

    def retrieve(self, wanted: Wanted) -> SnapshotArms:
        """Return the best chunks of every requested arm."""
        return SnapshotArms(self._reading, self._snapshot, self._masks, self._map, wanted)

    def chunks_of(self, documents: Collection[int]) -> dict[int, list[Chunk]]:
        """Return all chunks of some documents, in order; none for a document that is no candidate."""
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
        """Definitions, references and imports of the candidates."""
        return SnapshotLinks(self._reading, self._snapshot, self._masks)

    def uris(self) -> Mapping[int, str]:
        """Return the uris of the candidates, by document id."""
        return {row[0]: row[2] for row in self._documents.by_uri(self._masks.candidates)}

    def text(self, document: int) -> str:
        """Return the whole stored text of a document; empty if it is no candidate."""
        place = self._documents.place(document)
        if place is None or not self._masks.candidates[place]:
            return ""
        content = self._documents.at(place)[3]
        return self._reading.texts([content]).get(content, "")

    def related(self, documents: Collection[int]) -> Mapping[int, Sequence[Related]]:
        """Return no links: only memories are linked by people."""
        return {}

    def knows(self, path: str) -> bool:
        """Return whether a visible document is at or below a path, or matches a pattern."""
        return bool((self._documents.below((path,)) & self._masks.allowed).any())

    def languages(self) -> frozenset[str]:
        """Return the languages of the visible documents."""
        return frozenset(self._documents.languages[self._masks.allowed].tolist())

    def kinds(self) -> frozenset[str]:
        """Return the kinds of the visible chunks."""
        kinds = self._snapshot.kinds
        seen = kinds if self._masks.visible is None else kinds[self._masks.visible]
        return frozenset(" ".join(set(seen.tolist())).split())

    def topics(self) -> frozenset[str]:
        """Return no topics: files have none."""
        return frozenset()

    @cached_property
    def spaces(self) -> Mapping[str, int]:
        """The number of visible chunks with a vector, by space."""
        visible = self._masks.visible
        return self._snapshot.spaces if visible is None else self._snapshot.spaces_of(visible)

    def unembedded(self, space: str) -> int:
        """Return the number of visible chunks that were never embedded in a space. Zero vectors count as embedded."""
        visible = self._masks.visible
        return self._snapshot.unembedded(space, self._snapshot.living if visible is None else visible)

    def dimension(self, space: str) -> int:
        """Return the length of the vectors of a space; 0 if it has none."""
        return next((int(part.matrix.shape[1]) for part in self._snapshot.vectors.get(space, ())), 0)

    @property
    def size(self) -> int:
        """The number of visible chunks."""
        return self._masks.size

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """Return chunks with their texts, in the order asked for. Chunks that are no candidates are left out."""
        contents = {one: self._map.content(one.document) for one in chunks if self._map.may_see(one.document)}
        texts = self._snapshot.texts.of(set(contents.values()), self._reading)
        wanted = {(content, one.ordinal) for one, content in contents.items()}
        pieces = {(content, piece.ordinal): piece for content, piece in self._reading.pieces_at(wanted)}
        return [
            self._chunk(one, texts[content], pieces[content, one.ordinal])
            for one, content in contents.items()
            if content in texts and (content, one.ordinal) in pieces
        ]

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> Float:
        """Return the vectors of chunks, one row each; zeros for a chunk without a vector."""
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
        """Return the metadata of chunks, without their texts."""
        places = self._map.rows(chunks)
        contents = self._snapshot.content_of_row[places]
        sizes = (self._snapshot.starts[contents + 1] - self._snapshot.starts[contents]).tolist()
        kinds = self._snapshot.kinds[places].tolist()
        each = list(zip((chunk.document for chunk in chunks), kinds, sizes, strict=True))
        known = {one: self._about(*one) for one in set(each)}  # many chunks of a document have the same
        return [known[one] for one in each]

    # Inside

    def _about(self, document: int, kinds: str, pieces: int) -> About:
        _, _, uri, _, _, language, modified, _ = self._map.document(document)
        several = tuple(kinds.split(" "))
        return About(uri, language, several[0], modified, pieces, kinds=several)

    def _chunk(self, chunk: ChunkId, whole: str, piece: PieceRow) -> Chunk:
        row = self._map.document(chunk.document)
        place = self._map.content_place(chunk.document)
        total = int(self._snapshot.starts[place + 1] - self._snapshot.starts[place])
        _, kind, label, heading, start_line, end_line, start, end, tokens = piece
        return Chunk(
            chunk, self._snapshot.workspace, row[2], row[5], kind.partition(" ")[0], label, _heading(heading),
            whole[start:end], start_line, end_line, start, end, tokens, row[6], total, kinds=tuple(kind.split(" ")),
            document_length=len(whole),
        )  # fmt: skip


def _heading(stored: str) -> tuple[str, ...]:
    """Return the headings above a chunk. Code has none."""
    return () if stored == "[]" else tuple(json.loads(stored))


def only(scope: Scope, source: int) -> Scope:
    """Return the scope narrowed to one source; it matches nothing if the scope excludes that source."""
    asked = not scope.sources or source in scope.sources
    return replace(scope, sources=frozenset({source if asked else _NOTHING}))
