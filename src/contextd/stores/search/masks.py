"""Masks of a snapshot for one reader: access lists and sources decide statistics, the whole scope decides candidates."""

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
    """The masks of one reader and one scope on one snapshot."""

    def __init__(self, reading: Reading, snapshot: Snapshot, scope: Scope) -> None:
        self._reading, self._snapshot, self._scope = reading, snapshot, scope

    @cached_property
    def allowed(self) -> Bools:
        """Visible documents: the reader may see them, and their source is in the scope."""
        scope, documents = self._scope, self._snapshot.documents
        allowed = one_of(documents.acls, self._acls()) & documents.alive
        if scope.hidden:
            allowed &= ~documents.below(scope.hidden)
        return allowed & one_of(documents.sources, scope.sources) if scope.sources else allowed

    def _acls(self) -> Sequence[int]:
        """Return the access lists that name the reader; looked up once per reader and snapshot.

        An access list never changes. A document gets another list, which makes another snapshot.
        """
        known, principals = self._snapshot.acls, self._scope.reader.principals
        if principals not in known:
            known[principals] = tuple(self._reading.access_lists(principals))
        return known[principals]

    @cached_property
    def candidates(self) -> Bools:
        """Candidate documents: visible, and inside the whole scope."""
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
        """Rows of visible documents, which count for statistics; None for all rows."""
        mask = self.rows_of(self.allowed)
        return None if mask.all() else mask

    @cached_property
    def size(self) -> int:
        """The number of rows that count for statistics."""
        return self._snapshot.total if self.visible is None else int(self.visible.sum())

    @cached_property
    def answering(self) -> Bools:
        """Candidate rows: those that may be hits."""
        mask = self.rows_of(self.candidates)
        if self._scope.kinds:
            mask = mask & self.of_kinds()
        return mask

    def of_kinds(self) -> Bools:
        """Return the rows of the kinds in the scope. A row may have several kinds."""
        names = set(self._snapshot.kinds.tolist())
        return one_of(self._snapshot.kinds, [name for name in names if not self._scope.kinds.isdisjoint(name.split(" "))])

    @cached_property
    def answering_contents(self) -> Bools:
        """Contents with candidate rows."""
        if self.answering.all():
            return np.diff(self._snapshot.starts) > 0
        answering = np.zeros(len(self._snapshot.contents), bool)
        answering[self._snapshot.content_of_row[self.answering]] = True
        return answering

    def rows_of(self, documents: Bools) -> Bools:
        """Return the rows of a mask of documents."""
        if np.array_equal(documents, self._snapshot.documents.alive):
            return self._snapshot.living
        return self._snapshot.rows_of(documents)

    @cached_property
    def document_of_content(self) -> Ints:
        """For every content the position of its first candidate document by uri; -1 if it has none."""
        documents, (order, contents) = self._snapshot.documents, self._snapshot.placed.by_content
        keep = np.flatnonzero(self.candidates[order])[::-1]
        result = np.full(len(self._snapshot.contents) + 1, -1, np.int64)
        result[contents[keep]] = order[keep]  # the last assignment wins: the first by uri
        newer = np.flatnonzero(self.candidates[len(order) :]) + len(order)
        of_newer = self._snapshot.content_of_document[newer]
        alone = (result[of_newer] < 0) & (np.bincount(of_newer + 1, minlength=1)[of_newer + 1] == 1)
        result[of_newer[alone]] = newer[alone]
        for place, content in zip(newer[~alone].tolist(), of_newer[~alone].tolist(), strict=True):
            other = int(result[content])
            if other < 0 or documents.before(place, other):
                result[content] = place
        return result
