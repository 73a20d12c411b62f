"""Maps the rows of a snapshot to chunks of candidate documents, and back."""

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
    """The rows of one snapshot with one set of masks."""

    def __init__(self, snapshot: Snapshot, masks: Masks) -> None:
        self._snapshot, self._masks, self._documents = snapshot, masks, snapshot.documents
        self._first_row: dict[int, int] = {}  # by document

    def found(self, rows: Ints, scores: Float, coverage: Float) -> list[Found]:
        """Return rows as chunks. Of several candidate documents with the same content, the first by uri is used."""
        places = self._snapshot.content_of_row[rows]
        documents = self._documents.ids[self._masks.document_of_content[places]]
        first = self._snapshot.starts[places]
        chunks = list(map(ChunkId._make, zip(documents.tolist(), (rows - first).tolist(), strict=True)))
        self._first_row.update(zip(documents.tolist(), first.tolist(), strict=True))
        return list(map(Found._make, zip(chunks, scores.tolist(), coverage.tolist(), strict=True)))

    def rows(self, chunks: Sequence[ChunkId]) -> Ints:
        """Return the rows of some chunks."""
        for document in {chunk.document for chunk in chunks} - self._first_row.keys():
            self.row(ChunkId(document, 0))
        return np.array([self._first_row[document] + ordinal for document, ordinal in chunks], np.int64)

    def row(self, chunk: ChunkId) -> int:
        """Return the row of a chunk. Raises `KeyError` if its document is not in the snapshot."""
        first = self._first_row.get(chunk.document)
        if first is None:
            first = self._first_row[chunk.document] = int(self._snapshot.starts[self.content_place(chunk.document)])
        return first + chunk.ordinal

    def may_see(self, document: int) -> bool:
        """Return whether a document is a candidate."""
        place = self._documents.place(document)
        return place is not None and bool(self._masks.candidates[place])

    def document(self, document: int) -> DocumentTuple:
        """Return a document by its id. Raises `KeyError` if it is not in the snapshot."""
        place = self._documents.place(document)
        if place is None:
            raise KeyError(document)
        return self._documents.at(place)

    def content(self, document: int) -> int:
        """Return the content id of a document."""
        return self.document(document)[3]

    def content_place(self, document: int) -> int:
        """Return the position of a document's content in the snapshot. Raises `KeyError` if it has none."""
        at = self._documents.place(document)
        place = -1 if at is None else int(self._snapshot.content_of_document[at])
        if place < 0:
            raise KeyError(document)
        return place
