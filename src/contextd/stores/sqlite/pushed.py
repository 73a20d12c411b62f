"""Documents that a program pushed: texts that no folder has. They are in the record, so no scan of a folder removes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import blake2b

import apsw

from contextd.ports.record import PushedDocument
from contextd.ports.world import Matrix
from contextd.stores.search.view import SnapshotView, only
from contextd.stores.sqlite.database import request_wipe
from contextd.stores.sqlite.store import SqliteStore
from contextd.values.document import PUSHED, Change, DocumentRow, Parsed, Stamp, access_list_id
from contextd.values.query import Reader, Scope

_ALL = """
select d.uri, d.language, d.modified from document d
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null and exists (select 1 from acl a
  where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id and a.principal in (select value from json_each(?)))
order by d.uri"""
_HERE = "select 1 from document where workspace_id = ? and source_id = ? and document_id = ? and dead_seq is null"
_NAMELESS = "update document set uri = '', digest = x'', path_terms = x'' where workspace_id = ? and document_id = ?"


class PushedStore:
    """The pushed documents of one workspace of a record. Search statistics count these alone."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[SnapshotView]:
        """Open a view of the documents at the current position."""
        return self._store.seen(only(scope, PUSHED), deadline, SnapshotView)

    def changes(self, after: int) -> Iterator[Change]:
        """Yield every change after a position, in order."""
        return self._store.changes(after)

    def all(self, reader: Reader) -> list[PushedDocument]:
        """Return the documents a reader may see, by path."""
        found = self._store.rows(_ALL, PUSHED, json.dumps(sorted(reader.principals)))
        return [PushedDocument(*row) for row in found]

    def put(
        self,
        document: PushedDocument,
        parsed: Parsed,
        vectors: Mapping[str, Matrix],
        author: str,
        principals: frozenset[str],
    ) -> int:
        """Write a document, in place of the author's older one of that path. Returns its id."""
        number = self._number(document.path, author)
        digest = blake2b(parsed.text.encode("utf-8", "replace"), digest_size=16).digest()
        content = self._number(f"{document.path}\n{digest.hex()}", author)

        def write(connection: apsw.Connection) -> None:
            writer = self._store.writer(connection)
            writer.grant(principals)
            writer.erase(number)
            row = DocumentRow(
                number, PUSHED, document.path, content, access_list_id(principals), document.language, Stamp(0, 0, 0, 0),
                digest, document.changed,
            )  # fmt: skip
            writer.put(row, parsed, vectors)

        self._store.database.transact(write)
        return number

    def rewrite(self, connection: apsw.Connection, row: DocumentRow, parsed: Parsed, vectors: Mapping[str, Matrix]) -> None:
        """Replace the text and the path of a document, inside the caller's transaction. Nothing of the old ones stays."""
        writer = self._store.writer(connection)
        writer.erase(row.id)
        connection.execute(_NAMELESS, (self._store.workspace, row.id))
        content = self._number(f"{row.uri}\n{row.content:x}", "rewritten")
        writer.put(replace(row, content=content), parsed, vectors)

    def erase(self, paths: Collection[str], author: str) -> int:
        """Erase documents of an author from the disk. Returns their number."""
        numbers = [self._number(path, author) for path in paths]

        def write(connection: apsw.Connection) -> int:
            here = [one for one in numbers if connection.execute(_HERE, (self._store.workspace, PUSHED, one)).fetchone()]
            for number in here:
                self._store.writer(connection).erase(number)
                connection.execute(_NAMELESS, (self._store.workspace, number))
            if here:
                request_wipe(connection)
            return len(here)

        erased = self._store.database.transact(write)
        if erased:
            self._store.database.wipe()
        return erased

    def _number(self, name: str, author: str) -> int:
        """Return the id of a document; it depends on the author, since two people may use the same path."""
        data = f"{self._store.workspace}\npushed\n{author}\n{name}".encode("utf-8", "replace")
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1
