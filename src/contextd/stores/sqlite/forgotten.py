"""Marks of forgotten chats and notes: keyed hashes in the table of tombstones.

A mark reveals nothing without the chat: its key is random, and it has no word, name or time. There are marks of the name, of
the whole text and of its beginning. So a chat stays forgotten when its file has another name, when it has grown since, or when
an older and shorter export is imported. Marks of another device keep their key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

import apsw

from contextd.stores.sqlite.database import rows
from contextd.stores.sqlite.store import SqliteStore
from contextd.values.conversation import Forgotten

_BEGINNING = 8  # conversations that share their first 8 messages count as the same
_THERE = "select memory_id from tombstone where workspace_id = ? and memory_id in (select value from json_each(?))"
_RANGE = "select memory_id from tombstone where workspace_id = ? and memory_id >= ? and memory_id < ? order by memory_id"
_ADD = "insert or ignore into tombstone values (?, ?, ?, ?)"
_HEX = re.compile(r"[0-9a-f]+")

Number = Callable[[str, str], int]


class Marks:
    """The marks of one workspace. `number` maps a name and an author to a number that nobody else can compute."""

    def __init__(self, store: SqliteStore, number: Number) -> None:
        self._store, self._number = store, number

    def forgotten(self, connection: apsw.Connection, chains: Mapping[str, Sequence[bytes]], author: str) -> set[str]:
        """Return the uris of documents that the author has forgotten. `chains` has the message digests by uri."""
        keys = self._keys(connection, author)
        asked = {uri: self._rows_of_marks(uri, chain, author, keys) for uri, chain in chains.items()}
        wanted = json.dumps(sorted(set().union(*asked.values())))
        there = {mark for (mark,) in rows(connection, _THERE, (self._store.workspace, wanted))}
        found = {uri for uri, own in asked.items() if there and own & there}

        def is_there(preimage: bytes) -> bool:
            return any(self._row(author, key, _mark(key, preimage)) in there for key in keys)

        wholes = {whole(uri) for uri in found if _is_whole(uri, chains[uri], is_there)}
        return found | {uri for uri in chains if whole(uri) in wholes}

    def bury(
        self, connection: apsw.Connection, chains: Mapping[str, Sequence[bytes]], place: str, author: str, clock: str
    ) -> None:
        """Store marks of some documents, and of the whole conversation if `place` is one."""
        key = self._own_key(author)
        found = [preimage for uri, chain in chains.items() for preimage in _preimages(uri, chain)]
        if place not in chains:
            first = next((chain for uri, chain in chains.items() if uri == f"{place}#1"), ())
            found += [*_preimages(place, ()), *(b"all" + preimage for preimage in _content_preimages(first))]
        self.add(connection, Forgotten(key, [_mark(key, preimage) for preimage in found]), author, clock)

    def add(self, connection: apsw.Connection, forgotten: Forgotten, author: str, clock: str) -> None:
        """Store marks of this device or of another."""
        names = [self._row(author, forgotten.key, mark) for mark in forgotten.marks]
        names += [f"chatkey-{self._author_key(author)}-{forgotten.key}"]
        connection.executemany(_ADD, [(self._store.workspace, name, author, clock) for name in names])

    def all(self, connection: apsw.Connection, author: str) -> list[Forgotten]:
        """Return all marks of an author, by key."""
        found = []
        for key in self._keys(connection, author):
            start = self._row(author, key, "")
            names = rows(connection, _RANGE, (self._store.workspace, start, start + "~"))
            found.append(Forgotten(key, [name[len(start) :] for (name,) in names]))
        return found

    def matching(self, forgotten: Forgotten, chains: Mapping[str, Sequence[bytes]]) -> set[str]:
        """Return the uris of documents that match the marks."""
        marks, key = set(forgotten.marks), forgotten.key
        found = {
            uri
            for uri, chain in chains.items()
            if any(_mark(key, preimage) in marks for preimage in _lookup_preimages(uri, chain))
        }
        wholes = {whole(uri) for uri in found if _is_whole(uri, chains[uri], lambda preimage: _mark(key, preimage) in marks)}
        return found | {uri for uri in chains if whole(uri) in wholes}

    def _keys(self, connection: apsw.Connection, author: str) -> list[str]:
        start = f"chatkey-{self._author_key(author)}-"
        return [name[len(start) :] for (name,) in rows(connection, _RANGE, (self._store.workspace, start, start + "~"))]

    def _rows_of_marks(self, uri: str, chain: Sequence[bytes], author: str, keys: Iterable[str]) -> set[str]:
        older = {f"chat-{self._number(name, author):016x}" for name in (uri, whole(uri))}  # older marks had no key
        return older | {
            self._row(author, key, _mark(key, preimage)) for key in keys for preimage in _lookup_preimages(uri, chain)
        }

    def _row(self, author: str, key: str, mark: str) -> str:
        return f"chat-{self._author_key(author)}-{key}-{mark}"

    def _author_key(self, author: str) -> str:
        return f"{self._number('', author):016x}"

    def _own_key(self, author: str) -> str:
        return f"{self._number('key of forgotten chats', author):016x}"


def whole(uri: str) -> str:
    """Return the uri of the conversation that a session or a branch belongs to."""
    return re.sub(r"(?:/branch-\d+)?#\d+$", "", uri)


def is_well_formed(forgotten: Forgotten) -> bool:
    """Return whether marks from elsewhere have a valid format."""
    return len(forgotten.key) == 16 and all(_HEX.fullmatch(one) for one in (forgotten.key, *forgotten.marks))


def _preimages(name: str, chain: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the preimages of the marks of a document: its name, its whole text, and its beginnings."""
    yield b"name" + name.encode("utf-8", "replace")
    yield from _content_preimages(chain)


def _content_preimages(chain: Sequence[bytes]) -> Iterator[bytes]:
    if chain:
        yield b"whole" + chain[-1]
        yield from (b"begins" + digest for digest in chain[:_BEGINNING])


def _lookup_preimages(uri: str, chain: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the preimages to look up for a document: of itself, of older or newer versions, and of its conversation."""
    yield from (b"name" + name.encode("utf-8", "replace") for name in (uri, whole(uri)))
    if not chain:
        return
    yield from _content_lookups(chain)
    if uri.endswith("#1"):
        yield from (b"all" + preimage for preimage in _content_lookups(chain))


def _is_whole(uri: str, chain: Sequence[bytes], is_there: Callable[[bytes], bool]) -> bool:
    """Return whether a first session has a mark that its whole conversation was forgotten."""
    return uri.endswith("#1") and bool(chain) and any(is_there(b"all" + preimage) for preimage in _content_lookups(chain))


def _content_lookups(chain: Sequence[bytes]) -> Iterator[bytes]:
    yield from (b"whole" + digest for digest in chain)
    yield b"begins" + chain[: min(len(chain), _BEGINNING)][-1]


def _mark(key: str, preimage: bytes) -> str:
    return blake2b(preimage, key=key.encode(), digest_size=12).hexdigest()
