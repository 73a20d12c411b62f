"""Chats as a query sees them: a message stands among others, and what is said around it tells what it is about."""

from __future__ import annotations

import json
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
from contextd.stores.sqlite.view import Float, Ints, View
from contextd.types import CHATS, Change, ChunkId, DocumentRow, Found, Reader, Scope, Stamp

_SESSIONS = """
select d.uri, d.modified, count(*), min(iif(k.ordinal = 0, k.heading, null)) from document d
join chunk k on k.workspace_id = d.workspace_id and k.content_id = d.content_id
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null and exists (select 1 from acl a
  where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id and a.principal in (select value from json_each(?)))
group by d.document_id order by d.modified desc, d.uri"""
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

    def known(self) -> dict[str, bytes]:
        """The digests of all of them, by uri, whoever may read them."""
        return {uri: row.digest for uri, row in self._store.documents(CHATS).items()}

    def forgotten(self, uris: Collection[str]) -> set[str]:
        """Those that a person has forgotten: they are not taken again."""
        marks = {self._mark(uri): uri for uri in uris}
        query = "select memory_id from tombstone where workspace_id = ? and memory_id in (select value from json_each(?))"
        return {marks[mark] for (mark,) in self._store.rows(query, json.dumps(sorted(marks)))}

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

    def keep(self, kept: Sequence[Kept], principals: frozenset[str]) -> None:
        """Write some in one transaction, in place of what they were before; what was erased is wiped."""
        store = self._store

        def write(connection: apsw.Connection) -> None:
            store.grant_row(connection, principals)
            for one in kept:
                number = self._number(one.uri)
                store.erase_row(connection, number)
                content = self._number(f"{one.uri}\n{one.digest.hex()}")
                row = DocumentRow(
                    number, CHATS, one.uri, content, acl_id(principals), one.language, Stamp(0, 0, 0, 0), one.digest, one.at
                )
                store.put_row(connection, row, one.parsed, one.vectors)

        if kept:
            store.database.transact(write)

    def forget(self, uris: Collection[str]) -> str:
        """Erase some; a mark without content stays. `gone`, or `pending` while somebody reads."""
        store = self._store

        def erase(connection: apsw.Connection) -> None:
            for uri in uris:
                store.erase_row(connection, self._number(uri))
                connection.execute(_NAMELESS, (store.workspace, self._number(uri)))
                mark = (store.workspace, self._mark(uri), self._tick(connection))
                connection.execute("insert or replace into tombstone values (?, ?, ?)", mark)

        store.database.transact(erase)
        return "gone" if store.database.checkpoint() else "pending"

    def _number(self, name: str) -> int:
        """The number of a document: the workspace's own is random, so that it tells nobody else what was here."""
        data = f"{self._store.workspace}\n{name}".encode("utf-8", "replace")
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1

    def _mark(self, uri: str) -> str:
        return f"chat-{self._number(uri):016x}"


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
        same = (there == rows + step) & (self._snapshot.content_of_row[there] == self._snapshot.content_of_row[rows])
        return np.where(same, scores[there], nothing).astype(np.float64)

    def _top(self, scores: Float, coverage: Float, k: int, offset: float = 0.0) -> list[Found]:
        """The best rows, and the neighbors of the very best."""
        best = super()._top(scores, coverage, k, offset)
        rows = self._rows([one.chunk for one in best[:_AROUND]])
        near = np.unique(np.concatenate([rows - 1, rows + 1]))
        near = near[(near >= 0) & (near < self._snapshot.total)]
        near = np.setdiff1d(near[self._answering[near]], self._rows([one.chunk for one in best]))
        return best + self._found(near, (scores[near] + offset).astype(np.float32), coverage[near])


def only(scope: Scope, source: int) -> Scope:
    """The scope narrowed to one source: nothing, where that one is not asked for."""
    asked = not scope.sources or source in scope.sources
    return replace(scope, sources=frozenset({source if asked else _NOTHING}))


def _title(heading: Sequence[str]) -> str:
    """The title above a message; a day stands below it, or alone."""
    return heading[0] if heading and not (len(heading) == 1 and heading[0][:1].isdigit()) else ""
