"""A snapshot as one reader may see it: masks for rights and scope, then the searches, then texts by id.

Rights and sources decide the statistics, the whole scope decides the candidates; both are applied before any ranking, and
rights once more when texts are fetched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from contextd.stores.sqlite.arms import SqliteArms
from contextd.stores.sqlite.database import rows, unpacked
from contextd.stores.sqlite.masks import Masks
from contextd.stores.sqlite.rows import RowMap
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.stores.sqlite.structure import SqliteLinks
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.memory import Related
from contextd.values.query import Scope
from contextd.values.retrieval import Wanted

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]

_TEXT = "select text from content where workspace_id = ? and content_id = ?"
_TEXTS = "select content_id, text from content where workspace_id = ? and content_id in (select value from json_each(?))"
_PIECE = "kind, label, heading, start_line, end_line, start_at, end_at, tokens"
_CHUNKS = f"""
select content_id, ordinal, {_PIECE} from chunk where workspace_id = ? and content_id in (select value from json_each(?))
order by content_id, ordinal"""  # noqa: S608
_SOME = f"""
select content_id, ordinal, {_PIECE} from json_each(?) j
cross join chunk on content_id = j.value ->> 0 and ordinal = j.value ->> 1 where workspace_id = ?"""  # noqa: S608


class SqliteView:
    """Answers for one workspace, one reader, one moment."""

    fields = frozenset({"chunk", "document", "name", "defined", "stem", "folder"})

    def __init__(self, connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> None:
        self._connection, self._snapshot, self._scope = connection, snapshot, scope
        self._documents, self._masks = snapshot.documents, self._may_answer(connection, snapshot, scope)
        self._map = RowMap(snapshot, self._masks)

    @staticmethod
    def _may_answer(connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> Masks:
        return Masks(connection, snapshot, scope)

    def within(self, scope: Scope) -> SqliteView:
        """The same moment, seen by another scope."""
        return SqliteView(self._connection, self._snapshot, scope)

    def retrieve(self, wanted: Wanted) -> SqliteArms:
        """The best of every arm that is asked."""
        return SqliteArms(self._connection, self._snapshot, self._masks, self._map, wanted)

    def chunks_of(self, documents: Collection[int]) -> dict[int, list[Chunk]]:
        """All chunks of some documents, in order; none of a document that may not answer."""
        contents = {one: self._map.content(one) for one in documents if self._map.may_see(one)}
        wanted = (self._snapshot.workspace, json.dumps(sorted(set(contents.values()))))
        texts = {content: unpacked(data) for content, data in rows(self._connection, _TEXTS, wanted)}
        pieces: dict[int, list[Any]] = {content: [] for content in texts}
        for content, *rest in rows(self._connection, _CHUNKS, wanted):
            pieces[content].append(rest)
        return {
            one: [self._chunk(ChunkId(one, ordinal), texts[content], rest) for ordinal, *rest in pieces.get(content, ())]
            if (content := contents.get(one)) is not None and texts.get(content)
            else []
            for one in documents
        }

    @cached_property
    def links(self) -> SqliteLinks:
        """What the documents that may answer define, refer to and import."""
        return SqliteLinks(self._connection, self._snapshot, self._masks)

    def uris(self) -> Mapping[int, str]:
        """The documents that may answer, by id."""
        return {row[0]: row[2] for row in self._documents.by_uri(self._masks.candidates)}

    def text(self, document: int) -> str:
        """The whole stored text of a document; empty for one that may not answer."""
        place = self._documents.place(document)
        if place is None or not self._masks.candidates[place]:
            return ""
        stored = rows(self._connection, _TEXT, (self._snapshot.workspace, self._documents.at(place)[3]))
        return unpacked(stored[0][0]) if stored else ""

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
        workspace, wanted = self._snapshot.workspace, json.dumps(sorted(set(contents.values())))
        texts = {content: unpacked(data) for content, data in rows(self._connection, _TEXTS, (workspace, wanted))}
        pairs = json.dumps(sorted({(content, one.ordinal) for one, content in contents.items()}))
        pieces = {(content, ordinal): rest for content, ordinal, *rest in rows(self._connection, _SOME, (pairs, workspace))}
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

    def _chunk(self, chunk: ChunkId, whole: str, piece: Sequence[Any]) -> Chunk:
        row = self._map.document(chunk.document)
        place = self._map.content_place(chunk.document)
        total = int(self._snapshot.starts[place + 1] - self._snapshot.starts[place])
        kind, label, heading, start_line, end_line, start, end, tokens = piece
        return Chunk(
            chunk, self._snapshot.workspace, row[2], row[5], kind.partition(" ")[0], label, tuple(json.loads(heading)),
            whole[start:end], start_line, end_line, start, end, tokens, row[6], total, kinds=tuple(kind.split(" ")),
        )  # fmt: skip
