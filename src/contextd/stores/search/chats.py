"""Views of chats: a message is scored together with the messages around it, which tell what it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.arms import SnapshotArms
from contextd.stores.search.bm25 import bm25_around
from contextd.stores.search.view import Bools, Float, Ints, SnapshotView, only
from contextd.values.answer import Found
from contextd.values.document import CHATS, ChunkId
from contextd.values.query import Scope
from contextd.values.retrieval import Wanted, Words

_REACH = 2  # messages before and after that are scored as one text with a message
_AROUND = 40  # best results of an arm whose neighbors become candidates, too


class ChatView(SnapshotView):
    """A view whose rows have neighbors: the messages before and after in the same chat session."""

    fields = frozenset({"chunk", "document", "name", "turns", "mention"})

    def within(self, scope: Scope) -> ChatView:
        """Return a view of the same snapshot with another scope."""
        return ChatView(self._reading, self._snapshot, only(scope, CHATS))

    def retrieve(self, wanted: Wanted) -> SnapshotArms:
        """Return the best chunks of every requested arm, with their neighbors."""
        return ChatArms(self._reading, self._snapshot, self._masks, self._map, wanted)


class ChatArms(SnapshotArms):
    """Arms of messages. Neighbors of the best messages are candidates, and scores of the neighbors are returned, too."""

    def scores(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """Return the scores of chunks in every arm, and the scores of the messages before and after each."""
        found = dict(super().scores(chunks))
        if not chunks:
            return found
        rows = self._map.rows(chunks)
        for name in [name for name in found if name == "chunk" or "/" in name]:
            found[f"before {name}"] = self._beside(name, rows, -1)
            found[f"after {name}"] = self._beside(name, rows, 1)
        return found

    def _compared(self, rows: Ints) -> Ints:
        """Return the rows and their neighbors."""
        return np.unique(np.clip(rows[:, None] + np.arange(-1, 2), 0, self._snapshot.total - 1))

    def _by_words(self, asked: Mapping[str, Words]) -> None:
        """Score messages and sessions by their words, and each message together with those around it."""
        super()._by_words(asked)
        if asked:
            terms = next(iter(asked.values())).terms
            self._rows["around"] = bm25_around(self._snapshot, terms, self._masks.visible, _REACH)

    def _beside(self, arm: str, rows: Ints, step: int) -> NDArray[np.float64]:
        """Return an arm's scores of the rows `step` away; no score outside the same chat session."""
        scores, nothing = self._rows[arm], -2.0 if "/" in arm else 0.0
        there = np.clip(rows + step, 0, self._snapshot.total - 1)
        return np.where(self._same(rows, step), scores[there], nothing).astype(np.float64)

    def _same(self, rows: Ints, step: int) -> Bools:
        """Return whether the rows `step` away belong to the same chat session."""
        there = np.clip(rows + step, 0, self._snapshot.total - 1)
        of = self._snapshot.content_of_row
        return np.asarray((there == rows + step) & (of[there] == of[rows]))

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0, among: Ints | None = None) -> list[Found]:
        """Return the best rows, and the neighbors of the first `_AROUND` of them."""
        best = super()._top(scores, coverage, k, offset, among)
        rows = self._map.rows([one.chunk for one in best[:_AROUND]])
        near = np.unique(np.concatenate([rows[self._same(rows, step)] + step for step in (-1, 1)]))
        near = np.setdiff1d(near[self._masks.answering[near]], self._map.rows([one.chunk for one in best]))
        return best + self._map.found(near, (scores[near] + offset).astype(np.float32), coverage[near])
