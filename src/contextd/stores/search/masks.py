"""What a reader may see of a snapshot, as masks: rights and sources decide statistics, the whole scope what may answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.choose import one_of
from contextd.stores.search.reading import Reading
from contextd.stores.search.snapshot import Snapshot
from contextd.values.query import Scope

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Masks:
    """The masks of one reader and one scope at one moment."""

    def __init__(self, reading: Reading, snapshot: Snapshot, scope: Scope) -> None:
        self._reading, self._snapshot, self._scope = reading, snapshot, scope

    @cached_property
    def allowed(self) -> Bools:
        """Documents the reader may see, from the sources asked for."""
        allowed = one_of(self._snapshot.documents.acls, self._acls()) & self._snapshot.documents.alive
        return allowed & one_of(self._snapshot.documents.sources, self._scope.sources) if self._scope.sources else allowed

    def _acls(self) -> Sequence[int]:
        """The access lists the reader is on: one look-up for each reader of a snapshot. A list never changes, documents get
        another one, which makes another snapshot."""
        known, principals = self._snapshot.acls, self._scope.reader.principals
        if principals not in known:
            known[principals] = tuple(self._reading.access_lists(principals))
        return known[principals]

    @cached_property
    def candidates(self) -> Bools:
        """Documents that may answer: allowed, and inside the whole scope."""
        scope, documents = self._scope, self._snapshot.documents
        keep = self.allowed.copy()
        if scope.paths:
            keep &= documents.below(scope.paths)
        if scope.excluded:
            keep &= ~documents.below(scope.excluded)
        if scope.languages:
            keep &= one_of(documents.languages, scope.languages)
        if scope.since is not None:
            keep &= documents.modified >= scope.since
        if scope.until is not None:
            keep &= documents.modified <= scope.until
        return keep

    @cached_property
    def visible(self) -> Bools | None:
        """Rows that count for statistics; None for all of them."""
        mask = self.rows_of(self.allowed)
        return None if mask.all() else mask

    @cached_property
    def size(self) -> int:
        """How many rows count for statistics."""
        return self._snapshot.total if self.visible is None else int(self.visible.sum())

    @cached_property
    def answering(self) -> Bools:
        """Rows that may be hits."""
        mask = self.rows_of(self.candidates)
        if self._scope.kinds:
            mask = mask & self.of_kinds()
        return mask

    def of_kinds(self) -> Bools:
        """Rows of the kinds that are asked for; a row may hold units of several."""
        names = set(self._snapshot.kinds.tolist())
        return one_of(self._snapshot.kinds, [name for name in names if not self._scope.kinds.isdisjoint(name.split(" "))])

    @cached_property
    def answering_contents(self) -> Bools:
        """Contents with rows that may be hits."""
        if self.answering.all():
            return np.diff(self._snapshot.starts) > 0
        answering = np.zeros(len(self._snapshot.contents), bool)
        answering[self._snapshot.content_of_row[self.answering]] = True
        return answering

    def rows_of(self, documents: Bools) -> Bools:
        """The rows of some documents."""
        if np.array_equal(documents, self._snapshot.documents.alive):
            return self._snapshot.living
        return self._snapshot.rows_of(documents)

    @cached_property
    def document_of_content(self) -> Ints:
        """The first by uri of the documents that may answer, for every content."""
        documents, (order, contents) = self._snapshot.documents, self._snapshot.placed.by_content
        keep = np.flatnonzero(self.candidates[order])[::-1]
        result = np.full(len(self._snapshot.contents) + 1, -1, np.int64)
        result[contents[keep]] = order[keep]  # what is written last, the first by uri, stays
        newer = np.flatnonzero(self.candidates[len(order) :]) + len(order)
        of_newer = self._snapshot.content_of_document[newer]
        alone = (result[of_newer] < 0) & (np.bincount(of_newer + 1, minlength=1)[of_newer + 1] == 1)
        result[of_newer[alone]] = newer[alone]
        for place, content in zip(newer[~alone].tolist(), of_newer[~alone].tolist(), strict=True):
            other = int(result[content])
            if other < 0 or documents.before(place, other):
                result[content] = place
        return result
