"""Between the rows of a snapshot and the chunks of documents that a reader may see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.masks import Masks
from contextd.stores.search.reading import DocumentTuple
from contextd.stores.search.snapshot import Snapshot
from contextd.values.answer import Found
from contextd.values.document import ChunkId

Float = NDArray[np.float32]
Ints = NDArray[np.int64]


class RowMap:
    """The rows of one snapshot under one set of masks."""

    def __init__(self, snapshot: Snapshot, masks: Masks) -> None:
        self._snapshot, self._masks, self._documents = snapshot, masks, snapshot.documents
        self._row_of: dict[ChunkId, int] = {}

    def found(self, rows: Ints, scores: Float, coverage: Float) -> list[Found]:
        """Rows as chunks of the documents that stand for them: the first by uri of those that may answer."""
        places = self._snapshot.content_of_row[rows]
        documents = self._documents.ids[self._masks.document_of_content[places]]
        ordinals = rows - self._snapshot.starts[places]
        chunks = list(map(ChunkId._make, zip(documents.tolist(), ordinals.tolist(), strict=True)))
        self._row_of.update(zip(chunks, rows.tolist(), strict=True))
        return list(map(Found._make, zip(chunks, scores.tolist(), coverage.tolist(), strict=True)))

    def rows(self, chunks: Sequence[ChunkId]) -> Ints:
        """The rows of some chunks."""
        return np.array([self.row(chunk) for chunk in chunks], np.int64)

    def row(self, chunk: ChunkId) -> int:
        """The row of a chunk."""
        row = self._row_of.get(chunk)
        if row is None:
            place = self.content_place(chunk.document)
            row = self._row_of[chunk] = int(self._snapshot.starts[place]) + chunk.ordinal
        return row

    def may_see(self, document: int) -> bool:
        """Whether a document may answer."""
        place = self._documents.place(document)
        return place is not None and bool(self._masks.candidates[place])

    def document(self, document: int) -> DocumentTuple:
        """What is known of a document."""
        place = self._documents.place(document)
        if place is None:
            raise KeyError(document)
        return self._documents.at(place)

    def content(self, document: int) -> int:
        """The id of the content of a document."""
        return self.document(document)[3]

    def content_place(self, document: int) -> int:
        """The place of the content of a document in the snapshot."""
        at = self._documents.place(document)
        place = -1 if at is None else int(self._snapshot.content_of_document[at])
        if place < 0:
            raise KeyError(document)
        return place
