"""One workspace in one database: writes in single transactions, a change feed, and views for readers.

The writer's side is used under the lease of the project (`stores.lease`); readers need none. Every transaction that writes
begins as a writer, so that none can deadlock half-way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw

from contextd.errors import IndexMismatch, StorageError
from contextd.ports.world import Matrix, Written
from contextd.stores.sqlite import fold
from contextd.stores.sqlite.access import acl_id
from contextd.stores.sqlite.connect import translated
from contextd.stores.sqlite.current import Current
from contextd.stores.sqlite.database import Database, packed, unpacked
from contextd.stores.sqlite.jobs import SqliteJobs
from contextd.stores.sqlite.links import put_links
from contextd.stores.sqlite.misfit import from_the_store
from contextd.stores.sqlite.notes import SqliteNotes
from contextd.stores.sqlite.postings import pack
from contextd.stores.sqlite.snapshot import Head, head_of
from contextd.stores.sqlite.vectors import quantize
from contextd.stores.sqlite.view import SqliteView
from contextd.text.indexed_text import with_context
from contextd.text.terms import encode_path
from contextd.values.document import COMMIT, Change, DocumentRow, Parsed, Stamp
from contextd.values.query import Scope

_REGISTER = "insert or ignore into workspace values (?, 0, 0, 0, 0)"
_NEXT = "update workspace set seq = seq + 1 where workspace_id = ? returning seq"
_RETIRE = "update document set dead_seq = ? where workspace_id = ? and document_id = ? and dead_seq is null"
_INSERT = "insert into document values (?, ?, ?, null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CONTENT = "insert or ignore into content values (?, ?, ?, ?)"
_CHUNK = "insert or ignore into chunk values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_WORDS = "insert or ignore into words values (?, ?, ?, ?)"
_VECTOR = "insert or replace into vector values (?, ?, ?, ?, ?)"
_SHARE = """
insert into document select workspace_id, document_id, ?, null, source_id, uri, content_id, ?, language, size, mtime_ns,
  ctime_ns, inode, digest, modified, path_terms
from document where workspace_id = ? and source_id = ? and dead_seq is null and acl_id != ?"""
_RETIRE_OLD = """
update document set dead_seq = ?1 where workspace_id = ?2 and dead_seq is null and seq < ?3
  and exists (select 1 from document n where n.workspace_id = ?2 and n.document_id = document.document_id and n.seq = ?3)"""
_TOUCH = """update document set size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?
where workspace_id = ? and document_id = ? and dead_seq is null"""
_DOCUMENTS = """
select document_id, source_id, uri, content_id, acl_id, language, size, mtime_ns, ctime_ns, inode, digest, modified
from document where workspace_id = ? and source_id = ? and dead_seq is null"""
_CHANGES = """
select seq, document_id, 'put' from document where workspace_id = ?1 and seq > ?2
union all select dead_seq, document_id, 'gone' from document d where workspace_id = ?1 and dead_seq > ?2
  and not exists (select 1 from document n where n.workspace_id = ?1 and n.document_id = d.document_id and n.seq = d.dead_seq)
order by 1"""
_NEWEST = "select coalesce(max(max(seq, coalesce(dead_seq, 0))), 0) from document where workspace_id = ?"
_COMPLETE = """
select 1 from content c where c.workspace_id = ?1 and c.content_id = ?2 and (
  exists (select 1 from document d where d.workspace_id = ?1 and d.content_id = ?2 and d.dead_seq is null)
  or exists (select 1 from words w where w.workspace_id = ?1 and w.content_id = ?2))"""
_PIECES = "select start_at, end_at, label, heading from chunk where workspace_id = ? and content_id = ? order by ordinal"
_OF_CONTENT = ("content", "chunk", "words", "vector", "find", "reference", "import", "definition")
_ERASE = tuple(f"delete from {table} where workspace_id = ? and content_id = ?" for table in _OF_CONTENT)  # noqa: S608
_COLLECT = tuple(
    f"""delete from {table} where workspace_id = ?1
    and content_id not in (select content_id from document where workspace_id = ?1 and dead_seq is null)"""  # noqa: S608
    for table in _OF_CONTENT
)
_MISSING = """
select d.content_id from document d where d.workspace_id = ?1 and d.dead_seq is null
  and (?4 is null or d.source_id = ?4) and d.uri not in (select value from json_each(?5))
  and not exists (select 1 from vector v where v.workspace_id = ?1 and v.content_id = d.content_id and v.space = ?2)
  and exists (select 1 from chunk k where k.workspace_id = ?1 and k.content_id = d.content_id)
group by d.content_id order by max(d.modified) desc limit ?3"""


class SqliteStore:
    """Documents of one workspace. `folder` holds the base files; without one, everything stays in the database."""

    def __init__(self, database: Database, workspace: int, folder: Path | None = None) -> None:
        self.database, self.workspace, self.folder = database, workspace, folder
        self.notes = SqliteNotes(database, workspace)
        self.jobs = SqliteJobs(database, workspace)
        self.current = Current(database, workspace, folder)
        self._wait = 0  # chunks to be written before it is counted again whether a new base is worth it

    # Reading

    @contextmanager
    def view(self, scope: Scope, deadline: float | None = None) -> Iterator[SqliteView]:
        """What may be seen now; one read transaction holds it still."""
        with ExitStack() as stack:
            connection = stack.enter_context(self.database.reading())
            try:
                snapshot = self.current.at(connection, deadline=deadline)
            except (IndexError, KeyError, ValueError, TypeError) as error:
                raise self._misfit(error) from error
            except FileNotFoundError:  # a writer has folded since this transaction began: a new one sees the new base
                stack.close()
                connection = stack.enter_context(self.database.reading())
                snapshot = self.current.at(connection, patient=False, deadline=deadline)
            try:
                yield SqliteView(connection, snapshot, scope)
            except (IndexError, KeyError, ValueError, TypeError) as error:
                if not from_the_store(error):
                    raise
                raise self._misfit(error) from error

    def changes(self, after: int) -> Iterator[Change]:
        """Every change behind a position, in order."""
        if after < self._head().collected:
            raise IndexMismatch(f"the changes after {after} are no longer stored; read the whole index again")
        for seq, document, what in self.rows(_CHANGES, after):
            yield Change(seq, self.workspace, document, what)

    def position(self) -> int:
        """The position of the last change."""
        return self._head().seq

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Rows of a query that names the workspace as its first value."""
        return self.database.query(query, (self.workspace, *values))

    def documents(self, source: int) -> dict[str, DocumentRow]:
        """The living documents of a source by uri."""
        return {row[2]: _document(row) for row in self.rows(_DOCUMENTS, source)}

    def stamps(self, source: int, documents: Sequence[int]) -> dict[str, Stamp]:
        """The stamps of some living documents of a source, by uri."""
        query = """select uri, size, mtime_ns, ctime_ns, inode from document where workspace_id = ? and dead_seq is null
        and source_id = ? and document_id in (select value from json_each(?))"""
        return {uri: Stamp(*rest) for uri, *rest in self.rows(query, source, json.dumps(list(documents)))}

    # Writing

    def reuse(self, document: DocumentRow) -> bool:
        """Write a document whose content is stored already; False, and nothing is written, when it is not.

        Stored means with its words: in the base, which holds what living documents have, or in the table of newer ones.
        """
        if not self.rows(_COMPLETE, document.content):  # as for nearly all: no transaction of a writer for these
            return False

        def write(connection: apsw.Connection) -> bool:
            if not connection.execute(_COMPLETE, (self.workspace, document.content)).fetchone():
                return False
            self.put_row(connection, document, None, {})
            return True

        return self.database.transact(write)

    def put(self, written: Sequence[Written]) -> None:
        """Write some documents in one transaction; a reader sees the old ones or the new ones."""

        def write(connection: apsw.Connection) -> None:
            for document, parsed, vectors in written:
                self.put_row(connection, document, parsed, vectors)

        if written:
            self.database.transact(write)

    def put_row(
        self, connection: apsw.Connection, document: DocumentRow, parsed: Parsed | None, vectors: Mapping[str, Matrix]
    ) -> int:
        """The same inside a transaction of the caller's."""
        seq = self._next(connection)
        connection.execute(_RETIRE, (seq, self.workspace, document.id))
        s = document.stamp
        path_terms = encode_path(document.uri) if document.digest and document.language != COMMIT else b""
        connection.execute(_INSERT, (
            self.workspace, document.id, seq, document.source, document.uri, document.content, document.acl,
            document.language, s.size, s.mtime_ns, s.ctime_ns, s.inode, document.digest, document.modified, path_terms,
        ))  # fmt: skip
        if parsed is not None:
            self._put_content(connection, seq, document.content, parsed, vectors)
        return seq

    def erase_row(self, connection: apsw.Connection, document: int) -> None:
        """Take a document out and its content with it, inside a transaction of the caller's."""
        query = "select content_id from document where workspace_id = ? and document_id = ?"
        contents = {row[0] for row in connection.execute(query, (self.workspace, document))}
        connection.execute(_RETIRE, (self._next(connection), self.workspace, document))
        for query in _ERASE:
            connection.executemany(query, [(self.workspace, content) for content in contents])

    def remove(self, source: int, uris: Sequence[str]) -> int:
        """Take documents of a source out."""
        known = self.documents(source)

        def write(connection: apsw.Connection) -> int:
            seq = self._next(connection)
            for uri in uris:
                if uri in known:
                    connection.execute(_RETIRE, (seq, self.workspace, known[uri].id))
            return seq

        return self.database.transact(write)

    def touch(self, rows: Sequence[DocumentRow]) -> None:
        """Note new stamps of documents whose content is the same: no change for readers."""
        values = [(r.stamp.size, r.stamp.mtime_ns, r.stamp.ctime_ns, r.stamp.inode, self.workspace, r.id) for r in rows]
        if values:
            self.database.transact(lambda connection: connection.executemany(_TOUCH, values))

    def grant(self, principals: frozenset[str]) -> int:
        """The id of an access list, kept."""
        self.database.transact(lambda connection: self.grant_row(connection, principals))
        return acl_id(principals)

    def grant_row(self, connection: apsw.Connection, principals: frozenset[str]) -> None:
        """The same inside a transaction of the caller's."""
        values = [(self.workspace, acl_id(principals), principal) for principal in sorted(principals)]
        connection.executemany("insert or ignore into acl values (?, ?, ?)", values)

    def share(self, sources: Sequence[int], acl: int) -> None:
        """Give all documents of some sources another access list at one moment: each becomes a new row."""

        differs = "select 1 from document where workspace_id = ? and source_id = ? and dead_seq is null and acl_id != ? limit 1"
        if not any(self.rows(differs, source, acl) for source in sources):
            return

        def write(connection: apsw.Connection) -> None:
            seq = self._next(connection)
            for source in sources:
                connection.execute(_SHARE, (seq, acl, self.workspace, source, acl))
            connection.execute(_RETIRE_OLD, (seq, self.workspace, seq))

        self.database.transact(write)

    def missing_vectors(
        self, space: str, limit: int, besides: Collection[str] = (), *, source: int | None = None
    ) -> list[tuple[int, list[str]]]:
        """Contents without vectors in a space, with the texts to embed; of one source, or of all.

        Those of documents `besides`, by uri, are left out.
        """
        result = []
        for (content,) in self.rows(_MISSING, space, limit, source, json.dumps(sorted(besides))):
            stored = self.rows("select text from content where workspace_id = ? and content_id = ?", content)
            text = unpacked(stored[0][0]) if stored else ""  # gone since
            pieces = self.rows(_PIECES, content) if stored else []
            result.append((content, [with_context(text[a:b], label, json.loads(path)) for a, b, label, path in pieces]))
        return result

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Keep vectors for contents that are still there."""

        def write(connection: apsw.Connection) -> None:
            seq = self._next(connection)
            for content, matrix in vectors.items():
                if connection.execute(
                    "select 1 from content where workspace_id = ? and content_id = ?", (self.workspace, content)
                ).fetchone():
                    connection.execute(_VECTOR, (self.workspace, content, space, seq, quantize(matrix)))

        self.database.transact(write)

    def add_vectors_of(self, connection: apsw.Connection, document: int, vectors: Mapping[str, Matrix]) -> None:
        """Keep vectors for the content of a document, inside a transaction of the caller's."""
        query = "select content_id from document where workspace_id = ? and document_id = ? and dead_seq is null"
        row = connection.execute(query, (self.workspace, document)).fetchone()
        if row is None or not vectors:
            return
        seq = self._next(connection)
        for space, matrix in vectors.items():
            connection.execute(_VECTOR, (self.workspace, row[0], space, seq, quantize(matrix)))

    def drop_other_spaces(self, space: str) -> int:
        """Drop the vectors of older spaces of the same tier; the number of contents that had one."""
        tier = space.split("/")[0] + "/"
        old = "workspace_id = ? and substr(space, 1, ?) = ? and space != ?"
        values = (len(tier), tier, space)
        count = int(self.rows(f"select count(*) from vector where {old}", *values)[0][0])  # noqa: S608 - no outside text
        if count:
            query = f"delete from vector where {old}"  # noqa: S608
            self.database.transact(lambda connection: connection.execute(query, (self.workspace, *values)))
        return count

    # Upkeep

    def fold(self, *, force: bool = False) -> bool:
        """Write a new base when enough is new, and point to it."""
        if self.folder is None:
            return False
        with self.database.write_lock:  # held throughout: what is written meanwhile would be neither in the base nor beside it
            return self._fold(self.folder, force)

    def _fold(self, folder: Path, force: bool) -> bool:
        with self.database.reading() as connection:
            if not force and (self._wait or self._counted(connection)):
                return False
            snapshot = self.current.at(connection, patient=False)
        if snapshot.base.generation != snapshot.head.generation:
            self.database.transact(lambda connection: fold.lost_vectors(connection, self.workspace))
        spaces = {space for (space,) in self.rows("select distinct space from vector where workspace_id = ?")}
        with translated(folder):
            generation = fold.write(snapshot, folder, spaces)
        pointed = self.database.transact(lambda connection: fold.point_to(connection, snapshot, generation))
        if pointed:
            self._wait = 0
            fold.remove_others(folder, generation)
        return pointed

    def _counted(self, connection: apsw.Connection) -> int:
        """The chunks that are missing for a new base: counted when there may be enough, not with every batch."""
        self._wait = fold.missing(connection, self.workspace)
        return self._wait

    def finish(self, *, vacuum: bool = True) -> None:
        """Collect what nothing refers to, and give the space back to the disk; of what was deleted no copy stays."""

        def collect(connection: apsw.Connection) -> None:
            self.notes.soil(connection)
            seq = head_of(connection, self.workspace).seq
            connection.execute("delete from document where workspace_id = ? and dead_seq is not null", (self.workspace,))
            for query in _COLLECT:
                connection.execute(query, (self.workspace,))
            connection.execute("update workspace set collected_seq = ? where workspace_id = ?", (seq, self.workspace))

        if self.rows("select 1 from document where workspace_id = ? and dead_seq is not null limit 1"):
            self.database.transact(collect)
        if vacuum:
            self.notes.tidy()

    def check(self) -> None:
        """Look at every page and every text; damage is an error. A damaged base is made again from them."""
        self.database.check()
        with self.database.reading() as connection:
            snapshot = self.current.anew(connection)
            newest = self.rows(_NEWEST)[0][0]
        if newest > snapshot.head.seq:  # or its documents would be known and never seen
            raise self._misfit(ValueError(f"a document is of position {newest}, the workspace at {snapshot.head.seq}"))
        if snapshot.base.generation != snapshot.head.generation:
            self.fold(force=True)
        with self.database.reading() as connection:
            for (data,) in connection.execute("select text from content where workspace_id = ?", (self.workspace,)):
                unpacked(data)

    def close(self) -> None:
        """Close the connections that nobody works with, and drop the snapshot; the next reader opens both again."""
        self.current.forget()
        self.database.close()

    # Inside

    def _head(self) -> Head:
        with self.database.reading() as connection:
            return head_of(connection, self.workspace)

    def _misfit(self, error: Exception) -> StorageError:
        """Rows that do not fit together: pages were damaged in a way that SQLite cannot see."""
        remedy = "`contextd salvage`" if self.folder is None else "`contextd index --verify` or `contextd rebuild`"
        what = f"{self.database.path} is inconsistent ({type(error).__name__}: {error})"
        return StorageError(f"{what}; run {remedy}. If the error returns, report a bug", code="corrupt")

    def _next(self, connection: apsw.Connection) -> int:
        connection.execute(_REGISTER, (self.workspace,))
        return int(next(iter(connection.execute(_NEXT, (self.workspace,))))[0])

    def _put_content(
        self, connection: apsw.Connection, seq: int, content: int, parsed: Parsed, vectors: Mapping[str, Matrix]
    ) -> None:
        self._wait = max(0, self._wait - len(parsed.pieces))
        connection.execute(_CONTENT, (self.workspace, content, seq, packed(parsed.text)))
        connection.executemany(
            _CHUNK,
            (
                (self.workspace, content, ordinal, p.kind, p.label, _json(p.heading), _json(p.names), p.start_line, p.end_line,
                 p.start, p.end, p.tokens)
                for ordinal, p in enumerate(parsed.pieces)
            ),
        )  # fmt: skip
        connection.execute(_WORDS, (self.workspace, content, seq, pack(parsed.words)))
        finds = [(self.workspace, content, find.line, find.rule) for find in parsed.finds]
        connection.executemany("insert or ignore into find values (?, ?, ?, ?)", finds)
        for space, matrix in vectors.items():
            connection.execute(_VECTOR, (self.workspace, content, space, seq, quantize(matrix)))
        put_links(connection, self.workspace, content, parsed)


def _json(value: Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else "[]"


def _document(row: Any) -> DocumentRow:
    number, source, uri, content, acl, language, size, mtime, ctime, inode, digest, modified = row
    return DocumentRow(number, source, uri, content, acl, language, Stamp(size, mtime, ctime, inode), digest, modified)


def open_index(folder: Path, workspace: int) -> SqliteStore:
    """The index of a project; its folder is made when it is not there."""
    return SqliteStore(Database(folder / "index.db", durable=False, schemas=("index",)), workspace, folder)
