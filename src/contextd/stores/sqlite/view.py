"""A snapshot as one reader may see it: masks for rights and scope, then the searches, then texts by id.

Rights and sources decide the statistics, the whole scope decides the candidates; both are applied before any ranking, and
rights once more when texts are fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property

import apsw
import numpy as np
from numpy.typing import NDArray

from contextd.stores.sqlite.bm25 import Scores, bm25, frequency, idf
from contextd.stores.sqlite.database import rows, unpacked
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.stores.sqlite.vectors import cosines
from contextd.types import About, Chunk, ChunkId, Found, Scope

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]

_ACLS = "select distinct acl_id from acl where workspace_id = ? and principal in (select value from json_each(?))"
_TEXT = "select text from content where workspace_id = ? and content_id = ?"
_CHUNKS = """
select ordinal, kind, label, heading, start_line, end_line, start_at, end_at, tokens
from chunk where workspace_id = ? and content_id = ? order by ordinal"""


class View:
    """Answers for one workspace, one reader, one moment."""

    def __init__(self, connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> None:
        self._connection, self._snapshot, self._scope = connection, snapshot, scope
        self._arms: dict[str, Float] = {}
        self._scores: dict[tuple[tuple[int, float], ...], Scores] = {}

    def words(self, terms: Mapping[int, float], k: int, *, field: str) -> list[Found]:
        """The best chunks by the words of a field: `chunk`, `document`, `name`, `stem` or `folder`."""
        if field in ("stem", "folder"):
            return self._by_path(terms, k, field)
        if field == "name":
            score = self._named(terms)
            self._arms["name"] = score
            return self._top(score, score, k)
        scores = self._bm25(terms)
        self._arms |= {
            "chunk": scores.rows,
            "chunk_coverage": scores.row_coverage,
            "document": scores.contents[self._snapshot.content_of_row],
            "document_coverage": scores.content_coverage[self._snapshot.content_of_row],
        }
        if field == "chunk":
            return self._top(scores.rows, scores.row_coverage, k)
        return self._top_contents(scores.contents, scores.content_coverage, k, scores.rows)

    def near(self, vector: Float, k: int, *, space: str) -> list[Found]:
        """The chunks nearest to a vector, by exact search."""
        scores = cosines(self._snapshot.vectors.get(space, ()), vector, self._snapshot.total)
        self._arms[space] = scores
        return self._top(np.where(scores > -2, scores + 2, 0), scores, k, offset=-2)

    def fill(self, chunks: Sequence[ChunkId]) -> Mapping[str, Sequence[float]]:
        """The scores of these chunks in every arm asked so far."""
        places = np.array([self._row(chunk) for chunk in chunks], np.int64)
        return {name: scores[places].tolist() for name, scores in self._arms.items()} if chunks else {}

    def frequency(self, keys: Sequence[int]) -> list[int]:
        """In how many visible chunks each term occurs."""
        return [frequency(self._snapshot, key, self._visible) for key in keys]

    def spaces(self) -> Mapping[str, int]:
        """How many visible chunks have a vector in each space."""
        visible = self._visible
        return {
            space: sum(
                int((p.scales[...] > 0).sum() if visible is None else visible[p.rows[p.scales > 0]].sum()) for p in parts
            )
            for space, parts in self._snapshot.vectors.items()
        }

    def size(self) -> int:
        """How many chunks may be seen."""
        return self._snapshot.total if self._visible is None else int(self._visible.sum())

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts, in the order asked for."""
        found: dict[ChunkId, Chunk] = {}
        for document in dict.fromkeys(chunk.document for chunk in chunks):
            wanted = {chunk.ordinal for chunk in chunks if chunk.document == document}
            found |= {chunk.id: chunk for chunk in self._of_document(document, wanted)}
        return [found[chunk] for chunk in chunks if chunk in found]

    def vectors(self, chunks: Sequence[ChunkId], space: str) -> Float:
        """The vectors of these chunks, a row each; zeros for one without."""
        parts = self._snapshot.vectors.get(space, ())
        if not parts or not chunks:
            return np.zeros((len(chunks), 0), np.float32)
        wanted = np.array([self._row(chunk) for chunk in chunks], np.int64)
        result = np.zeros((len(chunks), parts[0].matrix.shape[1]), np.float32)
        for part in parts:
            order = np.searchsorted(part.rows, wanted)
            there = np.flatnonzero(part.rows[np.minimum(order, len(part.rows) - 1)] == wanted)
            places = order[there]
            result[there] = part.matrix[places].astype(np.float32) * part.scales[places, None]
        return result

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from, without their texts."""
        rows, kinds = self._snapshot.rows, self._snapshot.kinds
        return [About(rows[c.document][2], rows[c.document][5], str(kinds[self._row(c)]), rows[c.document][6]) for c in chunks]

    def neighbors(self, chunk: ChunkId) -> list[Chunk]:
        """All chunks of a chunk's document, in order."""
        return self._of_document(chunk.document, None)

    # Rights and scope

    @cached_property
    def _allowed(self) -> Bools:
        """Documents the reader may see, from the sources asked for."""
        principals = json.dumps(sorted(self._scope.reader.principals))
        acls = [row[0] for row in self._connection.execute(_ACLS, (self._snapshot.workspace, principals))]
        allowed = np.isin(self._snapshot.acls, np.array(acls, np.int64))
        if self._scope.sources:
            allowed &= np.array([row[1] in self._scope.sources for row in self._snapshot.documents], bool)
        return allowed

    @cached_property
    def _candidates(self) -> Bools:
        """Documents that may answer: allowed, and inside the whole scope."""
        scope, documents = self._scope, self._snapshot.documents
        keep = self._allowed.copy()
        if scope.paths:
            keep &= np.array([_below(row[2], scope.paths) for row in documents], bool)
        if scope.languages:
            keep &= np.array([row[5] in scope.languages for row in documents], bool)
        if scope.since is not None:
            keep &= np.array([row[6] >= scope.since for row in documents], bool)
        if scope.until is not None:
            keep &= np.array([row[6] <= scope.until for row in documents], bool)
        return keep

    @cached_property
    def _visible(self) -> Bools | None:
        """Rows that count for statistics; None for all of them."""
        mask = self._rows_of(self._allowed)
        return None if mask.all() else mask

    @cached_property
    def _answering(self) -> Bools:
        """Rows that may be hits."""
        mask = self._rows_of(self._candidates)
        if self._scope.kinds:
            mask &= np.isin(self._snapshot.kinds, np.array(sorted(self._scope.kinds), dtype=object))
        return mask

    def _rows_of(self, documents: Bools) -> Bools:
        places = self._snapshot.content_of_document[documents]
        contents = np.zeros(len(self._snapshot.contents), bool)
        contents[places[places >= 0]] = True
        return np.repeat(contents, np.diff(self._snapshot.starts))

    # Searches

    def _bm25(self, terms: Mapping[int, float]) -> Scores:
        key = tuple(sorted(terms.items()))
        if key not in self._scores:
            self._scores[key] = bm25(self._snapshot, terms, self._visible)
        return self._scores[key]

    def _named(self, terms: Mapping[int, float]) -> Float:
        """The share of the names asked for that each row defines, rare names counting more."""
        score = np.zeros(self._snapshot.total, np.float32)
        seen = self.size()
        values = {key: weight * idf(seen, frequency(self._snapshot, key, self._visible)) for key, weight in terms.items()}
        whole = sum(values.values()) or 1.0
        for first, postings in self._snapshot.postings():
            for key, value in values.items():
                found, _ = postings.find(key)
                score[found.astype(np.int64) + first] += value / whole
        return score if self._visible is None else np.where(self._visible, score, 0)

    def _by_path(self, terms: Mapping[int, float], k: int, field: str) -> list[Found]:
        """Documents by the share of the terms their paths hold, rare ones counting more."""
        documents = np.zeros(len(self._snapshot.documents), np.float32)
        seen, whole = int(self._allowed.sum()), 0.0
        for key, weight in terms.items():
            found, _ = self._snapshot.paths.find(key)
            here = found[self._allowed[found]]
            value = weight * idf(seen, len(here))
            documents[here] += value
            whole += value
        documents /= whole or 1.0
        contents = np.zeros(len(self._snapshot.contents) + 1, np.float32)
        allowed = np.flatnonzero(self._allowed)
        np.maximum.at(contents, self._snapshot.content_of_document[allowed], documents[allowed])
        self._arms[field] = contents[self._snapshot.content_of_row]
        best = self._arms.get("chunk", np.zeros(self._snapshot.total, np.float32))
        return self._top_contents(contents[:-1], contents[:-1], k, best)

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0) -> list[Found]:
        """The k best rows above zero that may answer."""
        masked = np.where(self._answering, scores, 0)
        best = _best(masked, k, self._snapshot.contents[self._snapshot.content_of_row])
        return [Found(self._chunk(row), float(masked[row]) + offset, float(coverage[row])) for row in best]

    def _top_contents(self, scores: Float, coverage: Float, k: int, by_row: Float) -> list[Found]:
        """The k best contents, each by its best row."""
        answering = np.zeros(len(scores), bool)
        answering[self._snapshot.content_of_row[self._answering]] = True
        found = []
        for place in _best(np.where(answering, scores, 0), k, self._snapshot.contents):
            inside = np.arange(self._snapshot.starts[place], self._snapshot.starts[place + 1])
            inside = inside[self._answering[inside]]
            row = int(inside[np.argmax(by_row[inside])])
            found.append(Found(self._chunk(row), float(scores[place]), float(coverage[place])))
        return found

    # Between rows and ids

    def _chunk(self, row: int) -> ChunkId:
        place = int(self._snapshot.content_of_row[row])
        order, contents = self._snapshot.documents_by_content
        start, end = np.searchsorted(contents, [place, place + 1])
        documents = order[start:end]
        document = int(documents[self._candidates[documents]][0])
        return ChunkId(self._snapshot.documents[document][0], row - int(self._snapshot.starts[place]))

    def _row(self, chunk: ChunkId) -> int:
        content = self._snapshot.rows[chunk.document][3]
        return int(self._snapshot.starts[self._snapshot.place_of_content[content]]) + chunk.ordinal

    def _of_document(self, document: int, ordinals: set[int] | None) -> list[Chunk]:
        row = self._snapshot.rows.get(document)
        if row is None or not self._may_see(document):
            return []
        workspace = self._snapshot.workspace
        stored = rows(self._connection, _TEXT, (workspace, row[3]))
        if not stored:
            return []
        text = unpacked(stored[0][0])
        pieces = rows(self._connection, _CHUNKS, (workspace, row[3]))
        return [
            Chunk(
                ChunkId(document, ordinal), workspace, row[2], row[5], kind, label, tuple(json.loads(heading)),
                text[start:end], start_line, end_line, start, end, tokens, row[6], len(pieces),
            )
            for ordinal, kind, label, heading, start_line, end_line, start, end, tokens in pieces
            if ordinals is None or ordinal in ordinals
        ]  # fmt: skip

    def _may_see(self, document: int) -> bool:
        return document in self._seen_documents

    @cached_property
    def _seen_documents(self) -> set[int]:
        documents = self._snapshot.documents
        return {documents[place][0] for place in np.flatnonzero(self._candidates)}


def _best(scores: Float, k: int, contents: NDArray[np.int64]) -> list[int]:
    """The places of the k largest values above zero, largest first.

    Ties go by content and place in it, which do not depend on what else there is or on when it was folded.
    """
    above = np.flatnonzero(scores > 0)
    if len(above) > k:
        threshold = np.partition(scores[above], len(above) - k)[len(above) - k]
        above = above[scores[above] >= threshold]
    order = np.lexsort((above, contents[above], -scores[above]))
    return [int(place) for place in above[order][:k]]


def _below(uri: str, paths: Sequence[str]) -> bool:
    return any(uri == path or uri.startswith(path.rstrip("/") + "/") or path in ("", ".") for path in paths)
