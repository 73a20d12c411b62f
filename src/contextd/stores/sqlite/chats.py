"""Chats as a query sees them: a message stands among others, and what is said around it tells what it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise

import apsw
import numpy as np
from numpy.typing import NDArray

from contextd.conversation import Session
from contextd.ports import Matrix
from contextd.record_ports import Kept
from contextd.stores.sqlite.store import SqliteStore, acl_id
from contextd.stores.sqlite.view import Bools, Float, Ints, View
from contextd.types import CHATS, Change, ChunkId, DocumentRow, Found, Reader, Scope, Stamp

_SESSIONS = """
select d.uri, d.modified, count(*), min(iif(k.ordinal = 0, k.heading, null)) from document d
join chunk k on k.workspace_id = d.workspace_id and k.content_id = d.content_id
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null and exists (select 1 from acl a
  where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id and a.principal in (select value from json_each(?)))
group by d.document_id order by d.modified desc, d.uri"""
_DIGESTS = """
select document_id, digest from document where workspace_id = ? and dead_seq is null
and document_id in (select value from json_each(?))"""
_MARKED = "select memory_id from tombstone where workspace_id = ? and memory_id in (select value from json_each(?))"
_NAMELESS = "update document set uri = '', digest = x'', path_terms = x'' where workspace_id = ? and document_id = ?"
_NOTHING = -1  # no source has this id
_AROUND = 40  # of the best in an arm: those whose neighbors are candidates as well


class ChatStore:
    """The chats and notes among the documents of a record's workspace, searched with statistics of their own."""

    def __init__(self, store: SqliteStore, tick: Callable[[apsw.Connection], str]) -> None:
        self._store, self._tick = store, tick

    # Reading

    @contextmanager
    def view(self, scope: Scope) -> Iterator[View]:
        """What of the chats may be seen now."""
        with SqliteStore.view(self._store, scope) as plain:
            yield ChatView(plain._connection, plain._snapshot, only(scope, CHATS))

    def changes(self, after: int) -> Iterator[Change]:
        """Every change behind a position, in order."""
        return self._store.changes(after)

    def known(self, uris: Collection[str], author: str) -> dict[str, bytes]:
        """The digests of those that an author has taken in before, by uri."""
        numbers = {self._number(uri, author): uri for uri in uris}
        found = self._store.rows(_DIGESTS, json.dumps(sorted(numbers)))
        return {numbers[number]: digest for number, digest in found}

    def forgotten(self, uris: Collection[str], author: str) -> set[str]:
        """Those that their author has forgotten, alone or with the whole conversation: they are not taken again."""
        marks = {uri: {self._mark(uri, author), self._mark(whole(uri), author)} for uri in uris}
        wanted = json.dumps(sorted(set().union(*marks.values())))
        there = {mark for (mark,) in self._store.rows(_MARKED, wanted)}
        return {uri for uri, own in marks.items() if own & there}

    def sessions(self, reader: Reader) -> list[Session]:
        """All that a reader may see, the latest first."""
        principals = json.dumps(sorted(reader.principals))
        found = self._store.rows(_SESSIONS, CHATS, principals)
        return [Session(uri, _title(json.loads(heading)), at, count) for uri, at, count, heading in found]

    def missing_vectors(self, space: str, limit: int) -> list[tuple[int, list[str]]]:
        """Contents without vectors in a space, with the texts to embed; for pairs each with the one before it."""
        if not space.startswith("pair/"):
            return self._store.missing_vectors(space, limit)
        found = self._store.missing_vectors(space, limit, source=CHATS)
        return [(content, [texts[0], *(f"{a}\n{b}" for a, b in pairwise(texts))]) for content, texts in found if texts]

    # Writing

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Keep vectors for contents that are still there."""
        self._store.add_vectors(space, vectors)

    def keep(self, kept: Sequence[Kept], author: str, principals: frozenset[str]) -> int:
        """Write some in one transaction, in place of what they were before; what was forgotten meanwhile stays so."""
        store = self._store

        def write(connection: apsw.Connection) -> int:
            store.grant_row(connection, principals)
            gone = self.forgotten([one.uri for one in kept], author)
            for one in (one for one in kept if one.uri not in gone):
                number = self._number(one.uri, author)
                store.erase_row(connection, number)
                content = self._number(f"{one.uri}\n{one.digest.hex()}", author)
                row = DocumentRow(
                    number, CHATS, one.uri, content, acl_id(principals), one.language, Stamp(0, 0, 0, 0), one.digest, one.at
                )
                store.put_row(connection, row, one.parsed, one.vectors)
            return len(kept) - len(gone)

        return store.database.transact(write) if kept else 0

    def forget(self, uris: Collection[str], place: str, author: str) -> str:
        """Erase some of an author's; a mark without content stays for each, and for `place` if they are all of it."""
        store = self._store

        def erase(connection: apsw.Connection) -> None:
            for uri in uris:
                store.erase_row(connection, self._number(uri, author))
                connection.execute(_NAMELESS, (store.workspace, self._number(uri, author)))
            for name in (*uris, place):
                mark = (store.workspace, self._mark(name, author), author, self._tick(connection))
                connection.execute("insert or replace into tombstone values (?, ?, ?, ?)", mark)

        store.database.transact(erase)
        return "gone" if store.database.wipe() else "pending"

    def _number(self, name: str, author: str) -> int:
        """The number of a document: two people may have taken the same. The workspace's own is random, so it tells nothing."""
        data = f"{self._store.workspace}\n{author}\n{name}".encode("utf-8", "replace")
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1

    def _mark(self, name: str, author: str) -> str:
        return f"chat-{self._number(name, author):016x}"


def whole(uri: str) -> str:
    """The conversation that a sitting or a branch belongs to."""
    return re.sub(r"(?:/branch-\d+)?#\d+$", "", uri)


class ChatView(View):
    """A view whose rows have neighbors: the messages before and after."""

    fields = frozenset({"chunk", "document", "name", "turns", "mention"})

    def within(self, scope: Scope) -> View:
        """The same moment, seen by another scope."""
        return ChatView(self._connection, self._snapshot, only(scope, CHATS))

    def fill(self, chunks: Sequence[ChunkId]) -> Mapping[str, NDArray[np.float64]]:
        """The scores of these chunks in every arm asked so far, and those of the messages beside them."""
        found = dict(super().fill(chunks))
        if not chunks:
            return found
        rows = self._rows(chunks)
        for name in [name for name in found if name == "chunk" or "/" in name]:
            found[f"before {name}"] = self._beside(name, rows, -1)
            found[f"after {name}"] = self._beside(name, rows, 1)
        return found

    def _beside(self, arm: str, rows: Ints, step: int) -> NDArray[np.float64]:
        """An arm's scores of the rows so far away; outside the same sitting there is nothing."""
        scores, nothing = self._arms[arm], -2.0 if "/" in arm else 0.0
        there = np.clip(rows + step, 0, self._snapshot.total - 1)
        return np.where(self._same(rows, step), scores[there], nothing).astype(np.float64)

    def _same(self, rows: Ints, step: int) -> Bools:
        """Whether the rows so far away are of the same sitting: what stands beside it in the store is none of its business."""
        there = np.clip(rows + step, 0, self._snapshot.total - 1)
        of = self._snapshot.content_of_row
        return np.asarray((there == rows + step) & (of[there] == of[rows]))

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0) -> list[Found]:
        """The best rows, and the neighbors of the very best."""
        best = super()._top(scores, coverage, k, offset)
        rows = self._rows([one.chunk for one in best[:_AROUND]])
        near = np.unique(np.concatenate([rows[self._same(rows, step)] + step for step in (-1, 1)]))
        near = np.setdiff1d(near[self._answering[near]], self._rows([one.chunk for one in best]))
        return best + self._found(near, (scores[near] + offset).astype(np.float32), coverage[near])


def only(scope: Scope, source: int) -> Scope:
    """The scope narrowed to one source: nothing, where that one is not asked for."""
    asked = not scope.sources or source in scope.sources
    return replace(scope, sources=frozenset({source if asked else _NOTHING}))


def _title(heading: Sequence[str]) -> str:
    """The title above a message; a day stands below it, or alone."""
    return heading[0] if heading and not (len(heading) == 1 and heading[0][:1].isdigit()) else ""
