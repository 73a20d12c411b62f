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

from contextd.stores.sqlite.bm25 import NO_ALIASES, Scores, bm25, in_paths, occurrences
from contextd.stores.sqlite.choose import best_of, near_the_cut, weights_of
from contextd.stores.sqlite.database import rows, unpacked
from contextd.stores.sqlite.documents import DocumentTuple
from contextd.stores.sqlite.masks import Masks
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.stores.sqlite.structure import SqliteLinks
from contextd.stores.sqlite.vectors import cosines, exact_cosines
from contextd.text.paths import names_file
from contextd.values.answer import Found, Suggestion
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.memory import Related
from contextd.values.query import Scope

Bools = NDArray[np.bool_]
Float = NDArray[np.float32]
Ints = NDArray[np.int64]

_AT = """
select ordinal from chunk where workspace_id = ? and content_id = ? and start_line <= ? and end_line >= ?"""
_TEXT = "select text from content where workspace_id = ? and content_id = ?"
_TEXTS = "select content_id, text from content where workspace_id = ? and content_id in (select value from json_each(?))"
_PIECE = "kind, label, heading, start_line, end_line, start_at, end_at, tokens"
_CHUNKS = f"select ordinal, {_PIECE} from chunk where workspace_id = ? and content_id = ? order by ordinal"  # noqa: S608
_SOME = f"""
select content_id, ordinal, {_PIECE} from json_each(?) j
cross join chunk on content_id = j.value ->> 0 and ordinal = j.value ->> 1 where workspace_id = ?"""  # noqa: S608


class SqliteView:
    """Answers for one workspace, one reader, one moment."""

    fields = frozenset({"chunk", "document", "name", "defined", "stem", "folder"})

    def __init__(self, connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> None:
        self._connection, self._snapshot, self._scope = connection, snapshot, scope
        self._documents, self._masks = snapshot.documents, self._may_answer(connection, snapshot, scope)
        self._arms: dict[str, Float] = {}  # scores by row
        self._content_arms: dict[str, Float] = {}  # scores by content: the same for all its rows
        self._asked: dict[str, Float] = {}  # vectors by space
        self._row_of: dict[ChunkId, int] = {}
        self._scores: dict[tuple[tuple[int, float], ...], Scores] = {}

    @staticmethod
    def _may_answer(connection: apsw.Connection, snapshot: Snapshot, scope: Scope) -> Masks:
        return Masks(connection, snapshot, scope)

    def within(self, scope: Scope) -> SqliteView:
        """The same moment, seen by another scope."""
        return SqliteView(self._connection, self._snapshot, scope)

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
        for path, line in places:
            for document, _, uri, content, *_ in map(self._documents.at, self._documents.named(path)):
                if names_file(path, uri) and self._may_see(document):
                    at = rows(self._connection, _AT, (self._snapshot.workspace, content, line, line))
                    score[[self._row(ChunkId(document, ordinal)) for (ordinal,) in at]] = 1
        self._arms["place"] = score
        return self._top(score, score, len(places) * 2)

    def during(self, times: Sequence[tuple[int, int]], k: int) -> list[Found]:
        """What was said in some windows of time, what has most of the words asked for so far first."""
        said = self._documents.modified
        inside = np.zeros(len(said), bool)
        for first, last in times:
            inside |= (said >= first) & (said <= last)
        score = self._snapshot.rows_of(inside & self._documents.alive).astype(np.float32)
        self._arms["during"] = score
        words = self._arms.get("chunk", score)
        return self._top(score * (1 + words), score, k)

    def suggested(self, name: str, suggestions: Sequence[Suggestion]) -> list[Found]:
        """What a retriever from outside proposed, as far as it is there and in scope: chunks, and files by their best chunk."""
        places, files = np.zeros((2, self._snapshot.total), np.float32)
        for one in suggestions:
            document = one.chunk.document if one.chunk is not None else self._document_at(one.uri)
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

    def _document_at(self, uri: str) -> int | None:
        """The document of a uri that may answer; the first of several sources."""
        found = (row[0] for row in map(self._documents.at, self._documents.named(uri)) if row[2] == uri)
        return next(filter(self._may_see, found), None)

    def _rows_at(self, document: int, one: Suggestion) -> Sequence[int]:
        """The rows of a suggestion: the chunk it names, the one at its line, or all of its file."""
        content = self._content(document)
        place = self._snapshot.place_of_content(content)
        if place is None:
            return ()
        first, end = int(self._snapshot.starts[place]), int(self._snapshot.starts[place + 1])
        if one.chunk is not None:
            return (first + one.chunk.ordinal,) if 0 <= one.chunk.ordinal < end - first else ()
        if not one.line:
            return range(first, end)
        at = rows(self._connection, _AT, (self._snapshot.workspace, content, one.line, one.line))
        return [first + ordinal for (ordinal,) in at]

    def near(self, vector: Float, k: int, *, space: str) -> list[Found]:
        """The chunks nearest to a vector, by exact search."""
        scores = cosines(self._snapshot.vectors.get(space, ()), vector, self._snapshot.total)
        self._arms[space], self._asked[space] = scores, vector
        known = np.flatnonzero(self._masks.answering & (scores > -2))
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
        here = (self._snapshot.workspace, self._content(document))
        pieces = rows(self._connection, _CHUNKS, here) if text else []
        return [self._chunk(ChunkId(document, ordinal), text, rest) for ordinal, *rest in pieces]

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

    def spaces(self) -> Mapping[str, int]:
        """How many visible chunks have a vector in each space."""
        return self._spaces

    @cached_property
    def _spaces(self) -> Mapping[str, int]:
        visible = self._masks.visible
        return self._snapshot.spaces if visible is None else self._snapshot.spaces_of(visible)

    def dimension(self, space: str) -> int:
        """How long the vectors of a space are; 0 where there are none."""
        return next((int(part.matrix.shape[1]) for part in self._snapshot.vectors.get(space, ())), 0)

    def size(self) -> int:
        """How many chunks may be seen."""
        return self._snapshot.total if self._masks.visible is None else int(self._masks.visible.sum())

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        """The chunks with their texts, in the order asked for."""
        contents = {one: self._content(one.document) for one in chunks if self._may_see(one.document)}
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
        documents = [self._document(chunk.document) for chunk in chunks]
        kinds = [tuple(kind.split(" ")) for kind in self._snapshot.kinds[places].tolist()]
        return [
            About(document[2], document[5], several[0], document[6], size, kinds=several)
            for document, several, size in zip(documents, kinds, sizes, strict=True)
        ]

    # Searches

    def _bm25(self, terms: Mapping[int, float]) -> Scores:
        key = tuple(sorted(terms.items()))
        if key not in self._scores:
            self._scores[key] = bm25(self._snapshot, terms, self._masks.visible)
        return self._scores[key]

    def _named(self, terms: Mapping[int, float]) -> Float:
        """The share of the names asked for that each row defines, rare names counting more."""
        found = occurrences(self._snapshot, list(terms), self._masks.visible)
        return found.shares(found.worth(weights_of(terms), self.size()), self._snapshot.total)

    def _by_path(self, terms: Mapping[int, float], k: int, field: str, aliases: Mapping[int, int]) -> list[Found]:
        """Documents by the share of the terms their paths hold, rare ones counting more."""
        found = in_paths(self._snapshot, list(terms), self._masks.allowed, aliases)
        documents = found.shares(found.worth(weights_of(terms), int(self._masks.allowed.sum())), len(self._documents))
        contents = np.zeros(len(self._snapshot.contents) + 1, np.float32)
        allowed = np.flatnonzero(self._masks.allowed & (documents > 0))
        np.maximum.at(contents, self._snapshot.content_of_document[allowed], documents[allowed])
        self._content_arms[field] = contents[:-1]
        return self._top_contents(contents[:-1], contents[:-1], k)

    def _by_definitions(self, terms: Mapping[int, float], k: int, aliases: Mapping[int, int]) -> list[Found]:
        """Contents by the share of the terms that are in the names they define, rare ones counting more."""
        found = occurrences(self._snapshot, list(terms), self._masks.visible, aliases).by_content(self._snapshot)
        contents = found.shares(found.worth(weights_of(terms), int(self._masks.allowed.sum())), len(self._snapshot.contents))
        self._content_arms["defined"] = contents
        return self._top_contents(contents, contents, k)

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0) -> list[Found]:
        """The k best rows above zero that may answer."""
        masked = np.where(self._masks.answering, scores, 0)
        best = best_of(masked, k, self._snapshot.content_id_of_row)
        return self._found(best, (masked[best] + offset).astype(np.float32), coverage[best])

    def _top_contents(self, scores: Float, coverage: Float, k: int) -> list[Found]:
        """The k best contents, each by its leading row."""
        best = best_of(np.where(self._masks.answering_contents, scores, 0), k, self._snapshot.contents)
        return self._found(self._leaders[best], scores[best], coverage[best])

    @cached_property
    def _leaders(self) -> Ints:
        """The row of each content that may answer and has most of the words asked for so far; the first of several."""
        leaders, of_row = self._snapshot.starts[:-1].copy(), self._snapshot.content_of_row
        if not self._masks.answering.all():
            rows = np.flatnonzero(self._masks.answering)[::-1]
            leaders[of_row[rows]] = rows
        scores = self._arms.get("chunk")
        if scores is not None:
            rows = np.flatnonzero((scores > 0) & self._masks.answering)
            rising = rows[np.lexsort((-rows, scores[rows]))]
            leaders[of_row[rising]] = rising  # what is written last stays
        return leaders

    # Between rows and ids

    def _found(self, rows: Ints, scores: Float, coverage: Float) -> list[Found]:
        """Rows as chunks of the documents that stand for them: the first by uri of those that may answer."""
        places = self._snapshot.content_of_row[rows]
        documents = self._documents.ids[self._masks.document_of_content[places]]
        ordinals = rows - self._snapshot.starts[places]
        chunks = list(map(ChunkId._make, zip(documents.tolist(), ordinals.tolist(), strict=True)))
        self._row_of.update(zip(chunks, rows.tolist(), strict=True))
        return list(map(Found._make, zip(chunks, scores.tolist(), coverage.tolist(), strict=True)))

    def _rows(self, chunks: Sequence[ChunkId]) -> Ints:
        return np.array([self._row(chunk) for chunk in chunks], np.int64)

    def _row(self, chunk: ChunkId) -> int:
        row = self._row_of.get(chunk)
        if row is None:
            place = self._content_place(chunk.document)
            row = self._row_of[chunk] = int(self._snapshot.starts[place]) + chunk.ordinal
        return row

    def _chunk(self, chunk: ChunkId, whole: str, piece: Sequence[Any]) -> Chunk:
        row = self._document(chunk.document)
        place = self._content_place(chunk.document)
        total = int(self._snapshot.starts[place + 1] - self._snapshot.starts[place])
        kind, label, heading, start_line, end_line, start, end, tokens = piece
        return Chunk(
            chunk, self._snapshot.workspace, row[2], row[5], kind.partition(" ")[0], label, tuple(json.loads(heading)),
            whole[start:end], start_line, end_line, start, end, tokens, row[6], total, kinds=tuple(kind.split(" ")),
        )  # fmt: skip

    def _may_see(self, document: int) -> bool:
        place = self._documents.place(document)
        return place is not None and bool(self._masks.candidates[place])

    def _place(self, document: int) -> int:
        place = self._documents.place(document)
        if place is None:
            raise KeyError(document)
        return place

    def _content_place(self, document: int) -> int:
        place = int(self._snapshot.content_of_document[self._place(document)])
        if place < 0:
            raise KeyError(document)
        return place

    def _document(self, document: int) -> DocumentTuple:
        return self._documents.at(self._place(document))

    def _content(self, document: int) -> int:
        return self._document(document)[3]
