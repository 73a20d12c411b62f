"""Which chats and notes were forgotten, as keyed hashes in the table of tombstones.

A mark tells nothing without the chat: its key is random, and it has no word, name or time. There are marks of the names, of the
whole text and of its beginning, so that a chat stays forgotten when its file has another name, when it has grown since, or when
an older and shorter export is imported. Marks of another device keep the key they were made with.
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

_BEGINNING = 8  # messages: conversations that share so many are one
_THERE = "select memory_id from tombstone where workspace_id = ? and memory_id in (select value from json_each(?))"
_RANGE = "select memory_id from tombstone where workspace_id = ? and memory_id >= ? and memory_id < ? order by memory_id"
_ADD = "insert or ignore into tombstone values (?, ?, ?, ?)"
_HEX = re.compile(r"[0-9a-f]+")

Number = Callable[[str, str], int]


class Marks:
    """The marks of one workspace. `number` gives a number for a name and an author that nobody else can compute."""

    def __init__(self, store: SqliteStore, number: Number) -> None:
        self._store, self._number = store, number

    def forgotten(self, connection: apsw.Connection, chains: Mapping[str, Sequence[bytes]], author: str) -> set[str]:
        """Those of some documents, by uri, that the author has forgotten."""
        keys = self._keys(connection, author)
        asked = {uri: self._asked(uri, chain, author, keys) for uri, chain in chains.items()}
        wanted = json.dumps(sorted(set().union(*asked.values())))
        there = {mark for (mark,) in rows(connection, _THERE, (self._store.workspace, wanted))}
        found = {uri for uri, own in asked.items() if there and own & there}

        def is_there(trace: bytes) -> bool:
            return any(self._row(author, key, _mark(key, trace)) in there for key in keys)

        wholes = {whole(uri) for uri in found if _is_whole(uri, chains[uri], is_there)}
        return found | {uri for uri in chains if whole(uri) in wholes}

    def bury(
        self, connection: apsw.Connection, chains: Mapping[str, Sequence[bytes]], place: str, author: str, clock: str
    ) -> None:
        """Leave marks of some documents, and of the conversation when `place` is one."""
        key = self._own_key(author)
        found = [trace for uri, chain in chains.items() for trace in _traces(uri, chain)]
        if place not in chains:
            first = next((chain for uri, chain in chains.items() if uri == f"{place}#1"), ())
            found += [*_traces(place, ()), *(b"all" + trace for trace in _ends(first))]
        self.add(connection, Forgotten(key, [_mark(key, trace) for trace in found]), author, clock)

    def add(self, connection: apsw.Connection, forgotten: Forgotten, author: str, clock: str) -> None:
        """Keep marks, of this device or of another."""
        names = [self._row(author, forgotten.key, mark) for mark in forgotten.marks]
        names += [f"chatkey-{self._of(author)}-{forgotten.key}"]
        connection.executemany(_ADD, [(self._store.workspace, name, author, clock) for name in names])

    def all(self, connection: apsw.Connection, author: str) -> list[Forgotten]:
        """Every mark of an author, by key."""
        found = []
        for key in self._keys(connection, author):
            start = self._row(author, key, "")
            names = rows(connection, _RANGE, (self._store.workspace, start, start + "~"))
            found.append(Forgotten(key, [name[len(start) :] for (name,) in names]))
        return found

    def matching(self, forgotten: Forgotten, chains: Mapping[str, Sequence[bytes]]) -> set[str]:
        """The documents, by uri, that some marks are of."""
        marks, key = set(forgotten.marks), forgotten.key
        found = {uri for uri, chain in chains.items() if any(_mark(key, trace) in marks for trace in _questions(uri, chain))}
        wholes = {whole(uri) for uri in found if _is_whole(uri, chains[uri], lambda trace: _mark(key, trace) in marks)}
        return found | {uri for uri in chains if whole(uri) in wholes}

    def _keys(self, connection: apsw.Connection, author: str) -> list[str]:
        start = f"chatkey-{self._of(author)}-"
        return [name[len(start) :] for (name,) in rows(connection, _RANGE, (self._store.workspace, start, start + "~"))]

    def _asked(self, uri: str, chain: Sequence[bytes], author: str, keys: Iterable[str]) -> set[str]:
        older = {f"chat-{self._number(name, author):016x}" for name in (uri, whole(uri))}  # as before there were keys
        return older | {self._row(author, key, _mark(key, trace)) for key in keys for trace in _questions(uri, chain)}

    def _row(self, author: str, key: str, mark: str) -> str:
        return f"chat-{self._of(author)}-{key}-{mark}"

    def _of(self, author: str) -> str:
        return f"{self._number('', author):016x}"

    def _own_key(self, author: str) -> str:
        return f"{self._number('key of forgotten chats', author):016x}"


def whole(uri: str) -> str:
    """The conversation that a sitting or a branch belongs to."""
    return re.sub(r"(?:/branch-\d+)?#\d+$", "", uri)


def is_well_formed(forgotten: Forgotten) -> bool:
    """Whether marks from elsewhere have the shape of ours."""
    return len(forgotten.key) == 16 and all(_HEX.fullmatch(one) for one in (forgotten.key, *forgotten.marks))


def _traces(name: str, chain: Sequence[bytes]) -> Iterator[bytes]:
    """What marks are made of: the name of a document, the whole of it, and its beginnings."""
    yield b"name" + name.encode("utf-8", "replace")
    yield from _ends(chain)


def _ends(chain: Sequence[bytes]) -> Iterator[bytes]:
    if chain:
        yield b"whole" + chain[-1]
        yield from (b"begins" + digest for digest in chain[:_BEGINNING])


def _questions(uri: str, chain: Sequence[bytes]) -> Iterator[bytes]:
    """What a mark of this document, of an older or of a newer one, or of its conversation would be made of."""
    yield from (b"name" + name.encode("utf-8", "replace") for name in (uri, whole(uri)))
    if not chain:
        return
    yield from _found(chain)
    if uri.endswith("#1"):
        yield from (b"all" + trace for trace in _found(chain))


def _is_whole(uri: str, chain: Sequence[bytes], is_there: Callable[[bytes], bool]) -> bool:
    """Whether a first sitting says that its whole conversation was forgotten."""
    return uri.endswith("#1") and bool(chain) and any(is_there(b"all" + trace) for trace in _found(chain))


def _found(chain: Sequence[bytes]) -> Iterator[bytes]:
    yield from (b"whole" + digest for digest in chain)
    yield b"begins" + chain[: min(len(chain), _BEGINNING)][-1]


def _mark(key: str, trace: bytes) -> str:
    return blake2b(trace, key=key.encode(), digest_size=12).hexdigest()
