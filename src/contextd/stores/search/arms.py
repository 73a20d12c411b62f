"""Search all arms of a snapshot for one question: the best chunks of each arm, and the scores of any chunk in every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.bm25 import Scores, bm25, in_paths, occurrences
from contextd.stores.search.choose import best_of, near_the_cut, weights_of
from contextd.stores.search.masks import Masks
from contextd.stores.search.reading import Reading
from contextd.stores.search.row_map import Float, Ints, RowMap
from contextd.stores.search.snapshot import Snapshot
from contextd.stores.search.vectors import cosines, exact_cosines
from contextd.text.paths import names_file
from contextd.values.answer import Found, Spread, Suggestion
from contextd.values.document import ChunkId
from contextd.values.retrieval import Wanted, Words

_BODY = ("chunk", "document")  # fields of the words of texts, by chunk and by document


class SnapshotArms:
    """The arms of one question. Words are searched first: other arms use the word scores to choose among equal chunks."""

    def __init__(self, reading: Reading, snapshot: Snapshot, masks: Masks, row_map: RowMap, wanted: Wanted) -> None:
        self._reading, self._snapshot, self._masks, self._map = reading, snapshot, masks, row_map
        self._rows: dict[str, Float] = {}  # scores by row
        self._contents: dict[str, Float] = {}  # scores by content; all rows of a content have the same score
        self._asked = wanted.vectors
        self._exact: dict[str, NDArray[np.bool_]] = {}  # by space: the rows whose cosines are exact
        self.scale = 0.0
        self.spread: dict[str, Spread] = {}
        self.found: dict[str, list[Found]] = {}
        self._by_words({arm: words for arm, words in wanted.words.items() if words.field in _BODY})
        for arm, words in wanted.words.items():
            if words.field not in _BODY:
                self.found[arm] = self._by_field(words)
        if wanted.windows:
            self.found["during"] = self._during(wanted.windows, wanted.k)
        if wanted.places:
            self.found["place"] = self._at(wanted.places)
        for name, suggestions in wanted.suggested.items():
            self.found[name] = self._suggested(name, suggestions)
        for space, vector in wanted.vectors.items():
            self.found[space] = self._near(vector, wanted.k, space)

    def scores(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """Return the scores of some chunks in every arm."""
        if not chunks:
            return {}
        places = self._map.rows(chunks)
        for space in self._asked:
            self._sharpen(space, self._compared(places))
        contents = self._snapshot.content_of_row[places]
        found = {name: scores[places].astype(np.float64) for name, scores in self._rows.items()}
        return found | {name: scores[contents].astype(np.float64) for name, scores in self._contents.items()}

    def _compared(self, rows: Ints) -> Ints:
        """Return the rows whose cosines have to be exact before some rows are compared."""
        return rows

    # Arms

    def _by_words(self, asked: Mapping[str, Words]) -> None:
        """Score chunks and documents by the words of their texts."""
        if not asked:
            return
        words = next(iter(asked.values()))
        scores: Scores = bm25(self._snapshot, words.terms, self._masks.visible, words.aliases)
        self.scale = scores.scale
        self._rows |= {"chunk": scores.rows, "chunk_coverage": scores.row_coverage}
        self._contents |= {"document": scores.contents, "document_coverage": scores.content_coverage}
        for arm, words in asked.items():
            if words.field == "chunk":
                self.found[arm] = self._top(scores.rows, scores.row_coverage, words.k)
            else:
                self.found[arm] = self._top_contents(scores.contents, scores.content_coverage, words.k)

    def _by_field(self, words: Words) -> list[Found]:
        """Return chunks by the words of names and paths."""
        if words.field in ("stem", "folder"):
            return self._by_path(words)
        if words.field == "defined":
            return self._by_definitions(words)
        score = self._rows[words.field] = self._named(words.terms)
        return self._top(score, score, words.k)

    def _named(self, terms: Mapping[int, float]) -> Float:
        """Return for each row the weighted share of the terms that it defines; rare terms weigh more."""
        found = occurrences(self._snapshot, list(terms), self._masks.visible)
        return found.shares(found.worth(weights_of(terms), self._masks.size), self._snapshot.total)

    def _by_path(self, words: Words) -> list[Found]:
        """Return documents by the weighted share of the terms in their paths; rare terms weigh more."""
        found = in_paths(self._snapshot, list(words.terms), self._masks.allowed, words.aliases)
        worth = found.worth(weights_of(words.terms), int(self._masks.allowed.sum()))
        documents = found.shares(worth, len(self._snapshot.documents))
        contents = np.zeros(len(self._snapshot.contents) + 1, np.float32)
        allowed = np.flatnonzero(self._masks.allowed & (documents > 0))
        np.maximum.at(contents, self._snapshot.content_of_document[allowed], documents[allowed])
        self._contents[words.field] = contents[:-1]
        return self._top_contents(contents[:-1], contents[:-1], words.k)

    def _by_definitions(self, words: Words) -> list[Found]:
        """Return contents by the weighted share of the terms in the names they define; rare terms weigh more."""
        found = occurrences(self._snapshot, list(words.terms), self._masks.visible, words.aliases).by_content(self._snapshot)
        worth = found.worth(weights_of(words.terms), int(self._masks.allowed.sum()))
        contents = found.shares(worth, len(self._snapshot.contents))
        self._contents["defined"] = contents
        return self._top_contents(contents, contents, words.k)

    def _at(self, places: Sequence[tuple[str, int]]) -> list[Found]:
        """Return the chunks at lines of files. A file is given by its path, its end, or a longer path that ends with it."""
        score, documents = np.zeros(self._snapshot.total, np.float32), self._snapshot.documents
        for path, line in places:
            for document, _, uri, content, *_ in map(documents.at, documents.named(path)):
                if names_file(path, uri) and self._map.may_see(document):
                    at = self._reading.ordinals_at(content, line)
                    score[[self._map.row(ChunkId(document, ordinal)) for ordinal in at]] = 1
        self._rows["place"] = score
        return self._top(score, score, len(places) * 2)

    def _during(self, times: Sequence[tuple[int, int]], k: int) -> list[Found]:
        """Return the chunks of documents within time windows, by word score."""
        said = self._snapshot.documents.modified
        inside = np.zeros(len(said), bool)
        for first, last in times:
            inside |= (said >= first) & (said <= last)
        score = self._snapshot.rows_of(inside & self._snapshot.documents.alive).astype(np.float32)
        self._rows["during"] = score
        return self._top(score * (1 + self._rows.get("chunk", score)), score, k)

    def _suggested(self, name: str, suggestions: Sequence[Suggestion]) -> list[Found]:
        """Return the suggestions of a plug-in that are candidates: chunks, and files by their leading chunk."""
        places, files = np.zeros((2, self._snapshot.total), np.float32)
        for one in suggestions:
            document = one.chunk.document if one.chunk is not None else self._document_at(one.uri)
            if document is None or not self._map.may_see(document) or not 0 < one.score < float("inf"):
                continue
            score = places if one.chunk is not None or one.line else files
            for row in self._rows_at(document, one):
                score[row] = max(float(score[row]), one.score)
        self._rows[name] = np.maximum(places, files)
        contents = np.zeros(len(self._snapshot.contents), np.float32)
        np.maximum.at(contents, self._snapshot.content_of_row, files)
        found = self._top(places, places, len(suggestions))
        return found + self._top_contents(contents, contents, len(suggestions))

    def _document_at(self, uri: str) -> int | None:
        """Return the candidate with a uri; the first if several sources have one."""
        documents = self._snapshot.documents
        found = (row[0] for row in map(documents.at, documents.named(uri)) if row[2] == uri)
        return next(filter(self._map.may_see, found), None)

    def _rows_at(self, document: int, one: Suggestion) -> Sequence[int]:
        """Return the rows of a suggestion: its chunk, the chunks at its line, or all rows of its file."""
        content = self._map.content(document)
        place = self._snapshot.place_of_content(content)
        if place is None:
            return ()
        first, end = int(self._snapshot.starts[place]), int(self._snapshot.starts[place + 1])
        if one.chunk is not None:
            return (first + one.chunk.ordinal,) if 0 <= one.chunk.ordinal < end - first else ()
        if not one.line:
            return range(first, end)
        return [first + ordinal for ordinal in self._reading.ordinals_at(content, one.line)]

    def _near(self, vector: Float, k: int, space: str) -> list[Found]:
        """Return the chunks nearest to a vector, by exact search."""
        scores = self._rows[space] = cosines(self._snapshot.vectors.get(space, ()), vector, self._snapshot.total)
        known = np.flatnonzero(self._masks.answering & (scores > -2))
        near = scores[known] if len(known) else np.zeros(1, np.float32)
        self.spread[space] = Spread(float(near.mean()), float(near.std()), len(known))
        some = known[near_the_cut(scores[known], k)]
        self._sharpen(space, some)
        return self._top(np.where(scores > -2, scores + 2, 0), scores, k, -2, among=some)

    def _sharpen(self, space: str, rows: Ints) -> None:
        """Make the cosines of some rows exact, so that ties do not depend on the position of a row."""
        exact = self._exact.setdefault(space, np.zeros(self._snapshot.total, bool))
        left = rows[~exact[rows]]
        exact[left] = True
        self._rows[space][left] = exact_cosines(self._snapshot.vectors.get(space, ()), self._asked[space], left)

    # Top k of an arm

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0, among: Ints | None = None) -> list[Found]:
        """Return the k best candidate rows with a score above zero. `among`: candidate rows that include these."""
        ids = self._snapshot.content_id_of_row
        if among is None:
            best = best_of(np.where(self._masks.answering, scores, 0), k, ids)
        else:
            best = among[best_of(scores[among], k, ids[among])]
        return self._map.found(best, (scores[best] + offset).astype(np.float32), coverage[best])

    def _top_contents(self, scores: Float, coverage: Float, k: int) -> list[Found]:
        """Return the k best contents, each by its leading row."""
        best = best_of(np.where(self._masks.answering_contents, scores, 0), k, self._snapshot.contents)
        return self._map.found(self._leading(best), scores[best], coverage[best])

    def _leading(self, contents: Ints) -> Ints:
        """Return the leading row of some contents: the candidate row with the best word score; ties: the first row."""
        if not len(contents):
            return contents
        sizes = self._snapshot.starts[contents + 1] - self._snapshot.starts[contents]
        first = np.cumsum(sizes) - sizes
        rows = np.arange(sizes.sum()) + np.repeat(self._snapshot.starts[contents] - first, sizes)
        words = self._rows.get("chunk")
        scores = np.where(self._masks.answering[rows], 0 if words is None else words[rows], -1)
        best = np.flatnonzero(scores == np.repeat(np.maximum.reduceat(scores, first), sizes))[::-1]
        leaders = np.empty_like(contents)
        leaders[np.repeat(np.arange(len(contents)), sizes)[best]] = rows[best]  # the last assignment wins: the first row
        return leaders
