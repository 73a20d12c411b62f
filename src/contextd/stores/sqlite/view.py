"""A snapshot as one reader may see it: masks for rights and scope, then the searches, then texts by id.

Rights and sources decide the statistics, the whole scope decides the candidates; both are applied before any ranking, and
rights once more when texts are fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from contextd.paths import names_file
from contextd.stores.sqlite.bm25 import NO_ALIASES, Scores, bm25, in_paths, occurrences
from contextd.stores.sqlite.choose import below, best_of, near_the_cut, one_of, weights_of
from contextd.stores.sqlite.database import rows, unpacked
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.stores.sqlite.structure import Structure
from contextd.stores.sqlite.vectors import cosines, exact_cosines
from contextd.types import About, Chunk, ChunkId, Found, Scope, Suggestion

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]

_ACLS = "select distinct acl_id from acl where workspace_id = ? and principal in (select value from json_each(?))"
_AT = """
select ordinal from chunk where workspace_id = ? and content_id = ? and start_line <= ? and end_line >= ?"""
_TEXTS = "select content_id, text from content where workspace_id = ? and content_id in (select value from json_each(?))"
_PIECE = "kind, label, heading, start_line, end_line, start_at, end_at, tokens"
_CHUNKS = f"select ordinal, {_PIECE} from chunk where workspace_id = ? and content_id = ? order by ordinal"  # noqa: S608
_SOME = f"""
select content_id, ordinal, {_PIECE} from json_each(?) j
cross join chunk on content_id = j.value ->> 0 and ordinal = j.value ->> 1 where workspace_id = ?"""  # noqa: S608


class View(Structure):
    """Answers for one workspace, one reader, one moment."""

    fields = frozenset({"chunk", "document", "name", "defined", "stem", "folder"})

    def __init__(self, connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> None:
        self._connection, self._snapshot, self._scope = connection, snapshot, scope
        self._arms: dict[str, Float] = {}  # scores by row
        self._content_arms: dict[str, Float] = {}  # scores by content: the same for all its rows
        self._asked: dict[str, Float] = {}  # vectors by space
        self._row_of: dict[ChunkId, int] = {}
        self._scores: dict[tuple[tuple[int, float], ...], Scores] = {}

    def within(self, scope: Scope) -> View:
        """The same moment, seen by another scope."""
        return View(self._connection, self._snapshot, scope)

    def words(self, terms: Mapping[int, float], k: int, *, field: str, aliases: Mapping[int, int] = NO_ALIASES) -> list[Found]:
        """The best chunks by the words of a field; of names and paths, an alias stands for one of the terms."""
        if field in ("stem", "folder"):
            return self._by_path(terms, k, field, aliases)
        if field == "defined":
            return self._by_definitions(terms, k, aliases)
        if field in ("name", "parts", "mention", "own"):
            score = self._arms[field] = self._named(terms)
            return self._top(score, score, k)
        scores = self._bm25(terms)
        if self._arms.get("chunk") is not scores.rows:
            self.__dict__.pop("_leaders", None)
        self._arms |= {"chunk": scores.rows, "chunk_coverage": scores.row_coverage}
        self._content_arms |= {"document": scores.contents, "document_coverage": scores.content_coverage}
        if field == "chunk":
            return self._top(scores.rows, scores.row_coverage, k)
        return self._top_contents(scores.contents, scores.content_coverage, k)

    def scale(self, terms: Mapping[int, float]) -> float:
        """What the scores of chunks for some words are measured in, to compare those of one question with another's."""
        return self._bm25(terms).scale

    def at(self, places: Sequence[tuple[str, int]]) -> list[Found]:
        """The chunks at some lines of files; a file is named by its path, or by the end of a longer one."""
        score = np.zeros(self._snapshot.total, np.float32)
        for document, uri in self.uris().items():
            for path, line in places:
                if names_file(path, uri):
                    content = self._snapshot.rows[document][3]
                    at = rows(self._connection, _AT, (self._snapshot.workspace, content, line, line))
                    score[[self._row(ChunkId(document, ordinal)) for (ordinal,) in at]] = 1
        self._arms["place"] = score
        return self._top(score, score, len(places) * 2)

    def during(self, times: Sequence[tuple[int, int]], k: int) -> list[Found]:
        """What was said in some windows of time, what has most of the words asked for so far first."""
        said = np.array([row[6] for row in self._snapshot.documents], np.int64)
        inside = np.zeros(len(said), bool)
        for first, last in times:
            inside |= (said >= first) & (said <= last)
        score = self._snapshot.rows_of(inside).astype(np.float32)
        self._arms["during"] = score
        words = self._arms.get("chunk", score)
        return self._top(score * (1 + words), score, k)

    def suggested(self, name: str, suggestions: Sequence[Suggestion]) -> list[Found]:
        """What a retriever from outside proposed, as far as it is there and in scope: chunks, and files by their best chunk."""
        places, files = np.zeros((2, self._snapshot.total), np.float32)
        documents = {uri: number for number, uri in self.uris().items()}
        for one in suggestions:
            document = one.chunk.document if one.chunk is not None else documents.get(one.uri)
            if document is None or not self._may_see(document) or not 0 < one.score < float("inf"):
                continue
            score = places if one.chunk is not None or one.line else files
            for row in self._rows_at(document, one):
                score[row] = max(float(score[row]), one.score)
        self._arms[name] = np.maximum(places, files)
        contents = np.zeros(len(self._snapshot.contents), np.float32)
        np.maximum.at(contents, self._snapshot.content_of_row, files)
        found = self._top(places, places, len(suggestions))
        return found + self._top_contents(contents, contents, len(suggestions))

    def _rows_at(self, document: int, one: Suggestion) -> Sequence[int]:
        """The rows of a suggestion: the chunk it names, the one at its line, or all of its file."""
        place = self._snapshot.place_of_content.get(self._snapshot.rows[document][3])
        if place is None:
            return ()
        first, end = int(self._snapshot.starts[place]), int(self._snapshot.starts[place + 1])
        if one.chunk is not None:
            return (first + one.chunk.ordinal,) if 0 <= one.chunk.ordinal < end - first else ()
        if not one.line:
            return range(first, end)
        content = self._snapshot.rows[document][3]
        at = rows(self._connection, _AT, (self._snapshot.workspace, content, one.line, one.line))
        return [first + ordinal for (ordinal,) in at]

    def near(self, vector: Float, k: int, *, space: str) -> list[Found]:
        """The chunks nearest to a vector, by exact search."""
        scores = cosines(self._snapshot.vectors.get(space, ()), vector, self._snapshot.total)
        self._arms[space], self._asked[space] = scores, vector
        known = np.flatnonzero(self._answering & (scores > -2))
        self._sharpen(space, known[near_the_cut(scores[known], k)])
        return self._top(np.where(scores > -2, scores + 2, 0), scores, k, offset=-2)

    def _sharpen(self, space: str, rows: Ints) -> None:
        """Make the cosines of some rows exact: ties are ties wherever a row stands."""
        self._arms[space][rows] = exact_cosines(self._snapshot.vectors.get(space, ()), self._asked[space], rows)

    def fill(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """The scores of these chunks in every arm asked so far."""
        if not chunks:
            return {}
        places = self._rows(chunks)
        around = np.unique(np.clip(places[:, None] + np.arange(-1, 2), 0, self._snapshot.total - 1))  # messages have neighbors
        for space in self._asked:
            self._sharpen(space, around)
        contents = self._snapshot.content_of_row[places]
        found = {name: scores[places].astype(np.float64) for name, scores in self._arms.items()}
        return found | {name: scores[contents].astype(np.float64) for name, scores in self._content_arms.items()}

    def chunks_of(self, document: int) -> list[Chunk]:
        """All chunks of a document, in order."""
        if not self._may_see(document):
            return []
        text = self.text(document)
        here = (self._snapshot.workspace, self._snapshot.rows[document][3])
        pieces = rows(self._connection, _CHUNKS, here) if text else []
        return [self._chunk(ChunkId(document, ordinal), text, rest) for ordinal, *rest in pieces]

    def knows(self, path: str) -> bool:
        """Whether a document that may be seen is at or below a path, or fits a pattern."""
        documents = zip(self._snapshot.documents, self._allowed, strict=True)
        inside = below((path,))
        return any(allowed and inside(row[2]) for row, allowed in documents)

    def languages(self) -> frozenset[str]:
        """The languages of the documents that may be seen."""
        return frozenset(row[5] for row, allowed in zip(self._snapshot.documents, self._allowed, strict=True) if allowed)

    def kinds(self) -> frozenset[str]:
        """The kinds of the chunks that may be seen."""
        kinds = self._snapshot.kinds
        return frozenset((kinds if self._visible is None else kinds[self._visible]).tolist())

    def topics(self) -> frozenset[str]:
        """The topics of what may be seen: files have none."""
        return frozenset()

    def spaces(self) -> Mapping[str, int]:
        """How many visible chunks have a vector in each space."""
        return self._spaces

    @cached_property
    def _spaces(self) -> Mapping[str, int]:
        visible = self._visible
        if visible is None:
            return self._snapshot.spaces
        return {
            space: sum(int(visible[part.rows[part.scales > 0]].sum()) for part in parts)
            for space, parts in self._snapshot.vectors.items()
        }

    def dimension(self, space: str) -> int:
        """How long the vectors of a space are; 0 where there are none."""
        return next((int(part.matrix.shape[1]) for part in self._snapshot.vectors.get(space, ())), 0)

    def size(self) -> int:
        """How many chunks may be seen."""
        return self._snapshot.total if self._visible is None else int(self._visible.sum())

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts, in the order asked for."""
        contents = {one: self._snapshot.rows[one.document][3] for one in chunks if self._may_see(one.document)}
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
        wanted = self._rows(chunks)
        result = np.zeros((len(chunks), parts[0].matrix.shape[1]), np.float32)
        for part in parts:
            order = np.searchsorted(part.rows, wanted)
            there = np.flatnonzero(part.rows[np.minimum(order, len(part.rows) - 1)] == wanted)
            places = order[there]
            result[there] = part.matrix[places].astype(np.float32) * part.scales[places, None]
        return result

    def about(self, chunks: Sequence[ChunkId]) -> list[About]:
        """Where these chunks come from, without their texts."""
        places = self._rows(chunks)
        contents = self._snapshot.content_of_row[places]
        sizes = (self._snapshot.starts[contents + 1] - self._snapshot.starts[contents]).tolist()
        documents = [self._snapshot.rows[chunk.document] for chunk in chunks]
        return [
            About(document[2], document[5], kind, document[6], size)
            for document, kind, size in zip(documents, self._snapshot.kinds[places].tolist(), sizes, strict=True)
        ]

    # Rights and scope

    @cached_property
    def _allowed(self) -> Bools:
        """Documents the reader may see, from the sources asked for."""
        principals = json.dumps(sorted(self._scope.reader.principals))
        acls = [row[0] for row in self._connection.execute(_ACLS, (self._snapshot.workspace, principals))]
        allowed = one_of(self._snapshot.acls, acls)
        return allowed & one_of(self._snapshot.sources, self._scope.sources) if self._scope.sources else allowed

    @cached_property
    def _candidates(self) -> Bools:
        """Documents that may answer: allowed, and inside the whole scope."""
        scope, documents = self._scope, self._snapshot.documents
        keep = self._allowed.copy()
        if scope.paths:
            inside = below(scope.paths)
            keep &= np.array([inside(row[2]) for row in documents], bool)
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
            mask = mask & self._of_kinds()
        return mask

    def _of_kinds(self) -> Bools:
        return one_of(self._snapshot.kinds, self._scope.kinds)

    @cached_property
    def _answering_contents(self) -> Bools:
        """Contents with rows that may be hits."""
        if self._answering.all():
            return np.diff(self._snapshot.starts) > 0
        answering = np.zeros(len(self._snapshot.contents), bool)
        answering[self._snapshot.content_of_row[self._answering]] = True
        return answering

    def _rows_of(self, documents: Bools) -> Bools:
        if documents.all():
            return self._snapshot.living
        return self._snapshot.rows_of(documents)

    # Searches

    def _bm25(self, terms: Mapping[int, float]) -> Scores:
        key = tuple(sorted(terms.items()))
        if key not in self._scores:
            self._scores[key] = bm25(self._snapshot, terms, self._visible)
        return self._scores[key]

    def _named(self, terms: Mapping[int, float]) -> Float:
        """The share of the names asked for that each row defines, rare names counting more."""
        found = occurrences(self._snapshot, list(terms), self._visible)
        return found.shares(found.worth(weights_of(terms), self.size()), self._snapshot.total)

    def _by_path(self, terms: Mapping[int, float], k: int, field: str, aliases: Mapping[int, int]) -> list[Found]:
        """Documents by the share of the terms their paths hold, rare ones counting more."""
        found = in_paths(self._snapshot, list(terms), self._allowed, aliases)
        documents = found.shares(found.worth(weights_of(terms), int(self._allowed.sum())), len(self._snapshot.documents))
        contents = np.zeros(len(self._snapshot.contents) + 1, np.float32)
        allowed = np.flatnonzero(self._allowed & (documents > 0))
        np.maximum.at(contents, self._snapshot.content_of_document[allowed], documents[allowed])
        self._content_arms[field] = contents[:-1]
        return self._top_contents(contents[:-1], contents[:-1], k)

    def _by_definitions(self, terms: Mapping[int, float], k: int, aliases: Mapping[int, int]) -> list[Found]:
        """Contents by the share of the terms that are in the names they define, rare ones counting more."""
        found = occurrences(self._snapshot, list(terms), self._visible, aliases).by_content(self._snapshot)
        contents = found.shares(found.worth(weights_of(terms), int(self._allowed.sum())), len(self._snapshot.contents))
        self._content_arms["defined"] = contents
        return self._top_contents(contents, contents, k)

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0) -> list[Found]:
        """The k best rows above zero that may answer."""
        masked = np.where(self._answering, scores, 0)
        best = best_of(masked, k, self._snapshot.content_id_of_row)
        return self._found(best, (masked[best] + offset).astype(np.float32), coverage[best])

    def _top_contents(self, scores: Float, coverage: Float, k: int) -> list[Found]:
        """The k best contents, each by its leading row."""
        best = best_of(np.where(self._answering_contents, scores, 0), k, self._snapshot.contents)
        return self._found(self._leaders[best], scores[best], coverage[best])

    @cached_property
    def _leaders(self) -> Ints:
        """The row of each content that may answer and has most of the words asked for so far; the first of several."""
        leaders, of_row = self._snapshot.starts[:-1].copy(), self._snapshot.content_of_row
        if not self._answering.all():
            rows = np.flatnonzero(self._answering)[::-1]
            leaders[of_row[rows]] = rows
        scores = self._arms.get("chunk")
        if scores is not None:
            rows = np.flatnonzero((scores > 0) & self._answering)
            rising = rows[np.lexsort((-rows, scores[rows]))]
            leaders[of_row[rising]] = rising  # what is written last stays
        return leaders

    # Between rows and ids

    def _found(self, rows: Ints, scores: Float, coverage: Float) -> list[Found]:
        """Rows as chunks of the documents that stand for them: the first by uri of those that may answer."""
        places = self._snapshot.content_of_row[rows]
        documents = self._snapshot.document_ids[self._document_of_content[places]]
        ordinals = rows - self._snapshot.starts[places]
        chunks = list(map(ChunkId._make, zip(documents.tolist(), ordinals.tolist(), strict=True)))
        self._row_of.update(zip(chunks, rows.tolist(), strict=True))
        return list(map(Found._make, zip(chunks, scores.tolist(), coverage.tolist(), strict=True)))

    @cached_property
    def _document_of_content(self) -> Ints:
        order, contents = self._snapshot.documents_by_content
        keep = np.flatnonzero(self._candidates[order])[::-1]
        result = np.zeros(len(self._snapshot.contents) + 1, np.int64)
        result[contents[keep]] = order[keep]  # what is written last, the first by uri, stays
        return result

    def _rows(self, chunks: Sequence[ChunkId]) -> Ints:
        return np.array([self._row(chunk) for chunk in chunks], np.int64)

    def _row(self, chunk: ChunkId) -> int:
        row = self._row_of.get(chunk)
        if row is None:
            place = self._snapshot.place_of_content[self._snapshot.rows[chunk.document][3]]
            row = self._row_of[chunk] = int(self._snapshot.starts[place]) + chunk.ordinal
        return row

    def _chunk(self, chunk: ChunkId, whole: str, piece: Sequence[Any]) -> Chunk:
        row = self._snapshot.rows[chunk.document]
        place = self._snapshot.place_of_content[row[3]]
        total = int(self._snapshot.starts[place + 1] - self._snapshot.starts[place])
        kind, label, heading, start_line, end_line, start, end, tokens = piece
        return Chunk(
            chunk, self._snapshot.workspace, row[2], row[5], kind, label, tuple(json.loads(heading)), whole[start:end],
            start_line, end_line, start, end, tokens, row[6], total,
        )  # fmt: skip

    def _may_see(self, document: int) -> bool:
        place = self._snapshot.place_of_document.get(document)
        return place is not None and bool(self._candidates[place])
