"""The documents of a snapshot as columns: first those of one load, ordered by uri, then those written since.

The array position of a document never changes. A removed or replaced document stays at its position and is marked dead, so an
update costs only what changed. After many changes, all documents are ordered again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.stores.search.postings import Postings, postings_of
from contextd.stores.search.reading import DocumentTuple
from contextd.text.paths import below, is_pattern

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

Columns = Mapping[str, NDArray[Any]]

_SOME = 1000  # dead and newer documents that do not slow down a search noticeably
_SHARE = 8  # documents are ordered again when more than 1/8 of the loaded number, plus `_SOME`, are dead or newer
_GONE = -1  # position of a removed document


class OrderedDocuments:
    """The documents of one load, ordered by uri; shared by all snapshots made from it."""

    def __init__(self, rows: Iterable[DocumentTuple]) -> None:
        self.rows = sorted(rows, key=_by_uri)
        self.uris = [row[2] for row in self.rows]
        self.place_of = {row[0]: place for place, row in enumerate(self.rows)}
        self.columns = _columns(self.rows, 0)

    @cached_property
    def paths(self) -> Postings:
        """Postings from the terms of paths to positions of documents."""
        keys = self.columns["path_terms"]
        return postings_of(keys, self.columns["path_places"], np.ones(len(keys), np.uint8))

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[int]]:
        """The positions of documents by the last part of their uris."""
        found: dict[str, list[int]] = {}
        for place, uri in enumerate(self.uris):
            found.setdefault(_name(uri), []).append(place)
        return found

    def below(self, path: str) -> Iterator[slice]:
        """Yield the position of the file at a path, and the positions of files below it."""
        at, folder = bisect_left(self.uris, path), path.rstrip("/")
        if self.uris[at : at + 1] == [path]:
            yield slice(at, at + 1)
        yield slice(bisect_left(self.uris, f"{folder}/"), bisect_left(self.uris, f"{folder}0"))  # "0" follows "/"


@dataclass(frozen=True)
class Documents:
    """All documents of a snapshot: the ordered ones, then the newer ones."""

    ordered: OrderedDocuments
    newer: tuple[DocumentTuple, ...] = ()
    newer_columns: Columns = field(default_factory=lambda: _columns((), 0))
    moved: Mapping[int, int] = field(default_factory=dict)  # new position of a changed document; `_GONE` if removed
    dead: frozenset[int] = frozenset()  # positions

    def __len__(self) -> int:
        return len(self.ordered.rows) + len(self.newer)

    def place(self, document: int) -> int | None:
        """Return the position of a living document; None if there is none."""
        place = self.moved.get(document)
        if place is None:
            return self.ordered.place_of.get(document)
        return None if place == _GONE else place

    def row(self, document: int) -> DocumentTuple | None:
        """Return a living document by its id; None if there is none."""
        place = self.place(document)
        return None if place is None else self.at(place)

    def at(self, place: int) -> DocumentTuple:
        """Return the document at a position."""
        first = len(self.ordered.rows)
        return self.ordered.rows[place] if place < first else self.newer[place - first]

    def changed(self, changes: Iterable[tuple[DocumentTuple, bool]]) -> Documents:
        """Return the documents after changes, given in order: a written document, or a removed one with True."""
        newer, moved, dead = list(self.newer), dict(self.moved), set(self.dead)
        first = len(self.ordered.rows)
        for row, gone in changes:
            place = moved.get(row[0], self.ordered.place_of.get(row[0], _GONE))
            if gone and (place == _GONE or (self.ordered.rows[place] if place < first else newer[place - first])[3] != row[3]):
                continue  # a later version is already here
            if place != _GONE:
                dead.add(place)
            moved[row[0]] = _GONE if gone else first + len(newer)
            if not gone:
                newer.append(row)
        added = _columns(newer[len(self.newer) :], first + len(self.newer))
        columns = {name: np.concatenate((column, added[name])) for name, column in self.newer_columns.items()}
        found = Documents(self.ordered, tuple(newer), columns, moved, frozenset(dead))
        return found if len(dead) + len(newer) <= _SOME + first // _SHARE else found.in_order()

    def in_order(self) -> Documents:
        """Return the living documents, ordered by uri."""
        return Documents(OrderedDocuments(self.at(place) for place in np.flatnonzero(self.alive).tolist()))

    @cached_property
    def alive(self) -> Bools:
        """Mask of the living documents."""
        found = np.ones(len(self), bool)
        found[list(self.dead)] = False
        return found

    @cached_property
    def ids(self) -> Ints:
        """The id of each document."""
        return self._column("ids")

    @cached_property
    def sources(self) -> Ints:
        """The source of each document."""
        return self._column("sources")

    @cached_property
    def contents(self) -> Ints:
        """The id of each document's content."""
        return self._column("contents")

    @cached_property
    def acls(self) -> Ints:
        """The access list of each document."""
        return self._column("acls")

    @cached_property
    def modified(self) -> Ints:
        """The time each document was modified."""
        return self._column("modified")

    @cached_property
    def languages(self) -> NDArray[Any]:
        """The language of each document."""
        return self._column("languages")

    def before(self, place: int, other: int) -> bool:
        """Return whether one document comes before another, ordered by uri."""
        return _by_uri(self.at(place)) < _by_uri(self.at(other))

    def by_uri(self, mask: Bools) -> list[DocumentTuple]:
        """Return the documents of a mask, ordered by uri."""
        return sorted(map(self.at, np.flatnonzero(mask).tolist()), key=_by_uri)

    def path_entries(self, keys: Sequence[int]) -> tuple[Ints, Ints]:
        """Return where terms occur in paths: positions of documents, and the number of the term for each."""
        bounds = self.ordered.paths.places(keys)
        places = [self.ordered.paths.rows[start:end] for start, end in bounds]
        terms = np.repeat(np.arange(len(bounds)), [end - start for start, end in bounds])
        newer_keys, newer_places = self.newer_columns["path_terms"], self.newer_columns["path_places"]
        wanted = np.array(keys, np.uint64)
        order = np.argsort(wanted)
        if not len(newer_keys) or not len(wanted):
            return np.concatenate([np.zeros(0, np.int64), *places]), terms
        found = np.minimum(np.searchsorted(wanted[order], newer_keys), len(wanted) - 1)
        there = wanted[order][found] == newer_keys
        return np.concatenate([*places, newer_places[there]]), np.concatenate([terms, order[found[there]]])

    def named(self, path: str) -> list[int]:
        """Return the positions of living documents whose file name is that of `path`."""
        name, first = _name(path), len(self.ordered.rows)
        found = [place for place in self.ordered.by_name.get(name, ()) if place not in self.dead]
        newer = [first + number for number, row in enumerate(self.newer) if _name(row[2]) == name]
        return found + [place for place in newer if place not in self.dead]

    def below(self, paths: Sequence[str]) -> Bools:
        """Return a mask of the documents at or below the paths, or that match a path that is a pattern."""
        if any(path in ("", ".") for path in paths):
            return np.ones(len(self), bool)
        found, inside = np.zeros(len(self), bool), below(paths)
        for path in paths:
            for places in self.ordered.below(path):
                found[places] = True
        if any(map(is_pattern, paths)):
            found[: len(self.ordered.uris)] = [inside(uri) for uri in self.ordered.uris]
        found[len(self.ordered.uris) :] = [inside(row[2]) for row in self.newer]
        return found

    def _column(self, name: str) -> NDArray[Any]:
        return (
            np.concatenate((self.ordered.columns[name], self.newer_columns[name])) if self.newer else self.ordered.columns[name]
        )


def _columns(rows: Sequence[DocumentTuple], first: int) -> Columns:
    """Return documents as arrays, and the terms of their paths with the position of each term's document."""
    ids, sources, _, contents, acls, languages, modified, paths = zip(*rows, strict=True) if rows else ((),) * 8
    numbers = {"ids": ids, "sources": sources, "contents": contents, "acls": acls, "modified": modified}
    return {
        **{name: np.array(values, np.int64) for name, values in numbers.items()},
        "languages": np.array(languages, object),
        "path_terms": np.frombuffer(b"".join(paths), np.uint64),
        "path_places": np.repeat(np.arange(first, first + len(rows)), [len(path) // 8 for path in paths]),
    }


def _by_uri(row: DocumentTuple) -> tuple[str, int]:
    """Return the sort key of a document: its uri, then its id, since two sources may have the same uri."""
    return row[2], row[0]


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]
