"""One workspace in one database: atomic writes, a change feed, and views for readers.

Writers hold the lease of the project (`stores.lease`); readers need no lease. Every write transaction begins as a writer, so
none can deadlock half-way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from contextd.errors import IndexMismatch, StorageError
from contextd.ports.store import Applied, Batch, Lease
from contextd.ports.world import Matrix
from contextd.stores.search import fold
from contextd.stores.search.reading import Head
from contextd.stores.search.snapshot import Snapshot
from contextd.stores.search.view import SnapshotView
from contextd.stores.sqlite.connect import translated
from contextd.stores.sqlite.current import Current
from contextd.stores.sqlite.database import Database, unpacked
from contextd.stores.sqlite.error_origin import from_the_store
from contextd.stores.sqlite.folding import chunks_until_fold, lost_vectors, point_to
from contextd.stores.sqlite.jobs import SqliteJobs
from contextd.stores.sqlite.notes import SqliteNotes
from contextd.stores.sqlite.reading import SqliteReading
from contextd.stores.sqlite.writer import COMPLETE, OF_CONTENT, Writer
from contextd.text.indexed_text import with_context
from contextd.values.document import Change, DocumentRow, Stamp, access_list_id
from contextd.values.query import Scope

V = TypeVar("V", bound=SnapshotView)

_DOCUMENTS = """
select document_id, source_id, uri, content_id, acl_id, language, size, mtime_ns, ctime_ns, inode, digest, modified
from document where workspace_id = ? and source_id = ? and dead_seq is null"""
_LIVING = """select document_id from document
where workspace_id = ? and dead_seq is null and document_id in (select value from json_each(?))"""
_CHANGES = """
select seq, document_id, 'put' from document where workspace_id = ?1 and seq > ?2 and dead_seq is not seq
union all select dead_seq, document_id, 'gone' from document d where workspace_id = ?1 and dead_seq > ?2
  and not exists (select 1 from document n
    where n.workspace_id = ?1 and n.document_id = d.document_id and n.seq = d.dead_seq and n.dead_seq is not n.seq)
order by 1"""
_WITH_CHUNKS = """
select 1 from chunk where workspace_id = ? and content_id in (select value from json_each(?)) limit 1"""
_NEWEST = "select coalesce(max(max(seq, coalesce(dead_seq, 0))), 0) from document where workspace_id = ?"
_PIECES = "select start_at, end_at, label, heading from chunk where workspace_id = ? and content_id = ? order by ordinal"
_COLLECT = tuple(
    f"""delete from {table} where workspace_id = ?1
    and content_id not in (select content_id from document where workspace_id = ?1 and dead_seq is null)"""  # noqa: S608
    for table in OF_CONTENT
)
_SHARED = "select 1 from document where workspace_id = ? and source_id = ? and dead_seq is null and acl_id != ? limit 1"
_GRANTED = "select count(*) from acl where workspace_id = ? and acl_id = ?"
_MISSING = """
select d.content_id from document d where d.workspace_id = ?1 and d.dead_seq is null
  and (?4 is null or d.source_id = ?4) and d.uri not in (select value from json_each(?5))
  and not exists (select 1 from vector v where v.workspace_id = ?1 and v.content_id = d.content_id and v.space = ?2)
  and exists (select 1 from chunk k where k.workspace_id = ?1 and k.content_id = d.content_id)
group by d.content_id order by max(d.modified) desc limit ?3"""


class SqliteStore:
    """Documents of one workspace. `folder` holds the base files; without it, all data stays in the database.

    Any thread may read. One writer at a time calls `apply`, `adopt` and `settle`.
    """

    def __init__(self, database: Database, workspace: int, folder: Path | None = None) -> None:
        self.database, self.workspace, self.folder = database, workspace, folder
        self.notes = SqliteNotes(database, workspace)
        self.jobs = SqliteJobs(database, workspace)
        self.current = Current(database, workspace, folder)
        self._wait = 0  # chunks to write before checking again whether a new base is worth its cost

    # Reading

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[SnapshotView]:
        """Open a view of the documents at the current position."""
        return self.seen(scope, deadline, SnapshotView)

    @contextmanager
    def seen(self, scope: Scope, deadline: float | None, view: Callable[[Any, Snapshot, Scope], V]) -> Iterator[V]:
        """Open a view of the current snapshot, inside one read transaction. Raises `StorageError` for inconsistent rows."""
        with ExitStack() as stack:
            connection = stack.enter_context(self.database.reading())
            try:
                snapshot = self.current.at(self.reading(connection), deadline=deadline)
            except (IndexError, KeyError, ValueError, TypeError) as error:
                raise self._inconsistent(error) from error
            except FileNotFoundError:  # a writer folded since this transaction began; a new one sees the new base
                stack.close()
                connection = stack.enter_context(self.database.reading())
                snapshot = self.current.at(self.reading(connection), patient=False, deadline=deadline)
            try:
                yield view(self.reading(connection), snapshot, scope)
            except (IndexError, KeyError, ValueError, TypeError) as error:
                if not from_the_store(error):
                    raise
                raise self._inconsistent(error) from error

    def version(self) -> Hashable:
        """Return a value that changes with every commit of any process."""
        return self.database.version()

    def reading(self, connection: apsw.Connection) -> SqliteReading:
        """Return the rows of this workspace in a transaction."""
        return SqliteReading(connection, self.workspace)

    def changes(self, after: int) -> Iterator[Change]:
        """Yield every change after a position, in order. Raises `IndexMismatch` if these are no longer stored."""
        if after < self._head().collected:
            raise IndexMismatch(f"the changes after {after} are no longer stored; read the whole index again")
        for seq, document, what in self.rows(_CHANGES, after):
            yield Change(seq, self.workspace, document, what)

    def position(self) -> int:
        """Return the position of the last change."""
        return self._head().seq

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a query whose first value is the workspace."""
        return self.database.query(query, (self.workspace, *values))

    def documents(self, source: int) -> dict[str, DocumentRow]:
        """Return the living documents of a source, by uri."""
        return {row[2]: _document(row) for row in self.rows(_DOCUMENTS, source)}

    def living(self, documents: Collection[int]) -> frozenset[int]:
        """Return those of some documents that are there."""
        return frozenset(row[0] for row in self.rows(_LIVING, json.dumps(list(documents))))

    def stamps(self, source: int, documents: Sequence[int]) -> dict[str, Stamp]:
        """Return the stamps of some living documents of a source, by uri."""
        query = """select uri, size, mtime_ns, ctime_ns, inode from document where workspace_id = ? and dead_seq is null
        and source_id = ? and document_id in (select value from json_each(?))"""
        return {uri: Stamp(*rest) for uri, *rest in self.rows(query, source, json.dumps(list(documents)))}

    def holds(self, content: int) -> bool:
        """Return whether a content is stored with its terms: in the base file, or in the table of newer terms."""
        return bool(self.rows(COMPLETE, content))

    # Writing

    def apply(self, batch: Batch, lease: Lease) -> Applied:
        """Write a batch in one transaction. Readers see all of it or nothing."""
        lease.check()
        shared = {source: names for source, names in batch.shared.items() if self._differs(source, names)}
        if not (batch.written or batch.reused or batch.touched or batch.removed or batch.granted or shared):
            return Applied(self.position(), ())

        def write(connection: apsw.Connection) -> Applied:
            writer = self.writer(connection)
            for principals in batch.granted:
                writer.grant(principals)
            for document, parsed, vectors in batch.written:
                writer.put(document, parsed, vectors)
            refused = [document for document in batch.reused if not writer.put_stored(document)]
            writer.touch(batch.touched)
            writer.remove(writer.living(batch.removed))
            for source, names in shared.items():
                writer.share(source, names)
            return Applied(writer.position(), refused)

        applied = self.database.transact(write)
        self._wait = max(0, self._wait - sum(len(parsed.pieces) for _, parsed, _ in batch.written))
        self._fold_if_worthwhile()
        return applied

    def writer(self, connection: apsw.Connection) -> Writer:
        """Return the writer of this workspace for a transaction of `database.transact`; one for the whole transaction."""
        return self.database.once_written(f"writer {self.workspace}", lambda: Writer(connection, self.workspace))

    def _differs(self, source: int, principals: frozenset[str]) -> bool:
        """Return whether a source has documents with another access list, or the list is not stored yet."""
        acl = access_list_id(principals)
        return bool(self.rows(_SHARED, source, acl)) or self.rows(_GRANTED, acl)[0][0] != len(principals)

    def missing_vectors(
        self, space: str, limit: int, besides: Collection[str] = (), *, source: int | None = None
    ) -> list[tuple[int, list[str]]]:
        """Return contents without vectors in a space, with the texts to embed; of one source, or of all.

        Skips documents whose uri is in `besides`.
        """
        result = []
        for (content,) in self.rows(_MISSING, space, limit, source, json.dumps(sorted(besides))):
            stored = self.rows("select text from content where workspace_id = ? and content_id = ?", content)
            text = unpacked(stored[0][0]) if stored else ""  # deleted since
            pieces = self.rows(_PIECES, content) if stored else []
            result.append((content, [with_context(text[a:b], label, json.loads(path)) for a, b, label, path in pieces]))
        return result

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Store vectors of contents that are still stored. Needs no lease: vectors belong to contents, not to documents."""
        self.database.transact(lambda connection: self.writer(connection).add_vectors(space, vectors))

    def adopt(self, space: str) -> int:
        """Drop vectors of older spaces of the same tier. Returns the number of vectors dropped."""
        tier = space.split("/")[0] + "/"
        old = "workspace_id = ? and substr(space, 1, ?) = ? and space != ?"
        values = (len(tier), tier, space)
        count = int(self.rows(f"select count(*) from vector where {old}", *values)[0][0])  # noqa: S608 - no outside text
        if count:
            query = f"delete from vector where {old}"  # noqa: S608
            self.database.transact(lambda connection: connection.execute(query, (self.workspace, *values)))
        return count

    # Upkeep

    def fold(self, lease: Lease) -> None:
        """Write a new base file with everything that is stored, and point to it."""
        lease.check()
        self._fold()

    def _fold_if_worthwhile(self) -> None:
        """Fold if enough chunks are new. They are counted when there may be enough, not at every batch."""
        if self.folder is not None and not self._wait:
            with self.database.reading() as connection:
                self._wait = chunks_until_fold(connection, self.workspace)
            if not self._wait:
                self._fold()

    def _fold(self) -> None:
        if self.folder is not None:
            with self.database.write_lock:  # a write meanwhile would be lost: neither in the new base nor in the tables
                self._write_base(self.folder)

    def _write_base(self, folder: Path) -> None:
        with self.database.reading() as connection:
            snapshot = self.current.at(self.reading(connection), patient=False)
        if snapshot.base.generation != snapshot.head.generation:
            self.database.transact(lambda connection: lost_vectors(connection, self.workspace))
        spaces = {space for (space,) in self.rows("select distinct space from vector where workspace_id = ?")}
        with translated(folder):
            written = fold.write(snapshot, folder, spaces)
        try:
            if self.database.transact(lambda connection: point_to(connection, snapshot, written)):
                self._wait = 0
                fold.remove_others(folder, written.generation)
        finally:
            written.path.unlink(missing_ok=True)  # of a fold that came too late

    def settle(self, lease: Lease, *, vacuum: bool = True) -> None:
        """End a run: delete contents without a document, and leave no copy of deleted text on disk."""
        lease.check()

        def collect(connection: apsw.Connection) -> None:
            self.notes.note_deleted_text(connection)
            seq = self.reading(connection).head().seq
            connection.execute("delete from document where workspace_id = ? and dead_seq is not null", (self.workspace,))
            for query in _COLLECT:
                connection.execute(query, (self.workspace,))
            connection.execute("update workspace set collected_seq = ? where workspace_id = ?", (seq, self.workspace))

        if self.rows("select 1 from document where workspace_id = ? and dead_seq is not null limit 1"):
            self.database.transact(collect)
        if vacuum:
            self.notes.tidy()

    def check(self) -> None:
        """Read every page and every text. Raises `StorageError` if data is damaged. A damaged base is rebuilt."""
        self.database.check()
        with self.database.reading() as connection:
            snapshot = self.current.anew(self.reading(connection))
            newest = self.rows(_NEWEST)[0][0]
        if newest > snapshot.head.seq:  # readers would never see these documents
            raise self._inconsistent(ValueError(f"a document is of position {newest}, the workspace at {snapshot.head.seq}"))
        if self._unsearchable(snapshot):
            raise self._inconsistent(ValueError("a document has chunks that no search finds"))
        if snapshot.base.generation != snapshot.head.generation:
            self._fold()
        with self.database.reading() as connection:
            for (data,) in connection.execute("select text from content where workspace_id = ?", (self.workspace,)):
                unpacked(data)

    def close(self) -> None:
        """Close idle connections and drop the snapshot. The next reader opens both again."""
        self.current.forget()
        self.database.close()

    # Inside

    def _unsearchable(self, snapshot: Snapshot) -> bool:
        """Return whether a living document has chunks, but its content is in neither the base nor the newer terms."""
        lost = snapshot.documents.contents[snapshot.documents.alive & (snapshot.content_of_document < 0)]
        return bool(self.rows(_WITH_CHUNKS, json.dumps(lost.tolist()))) if len(lost) else False

    def _head(self) -> Head:
        with self.database.reading() as connection:
            return self.reading(connection).head()

    def _inconsistent(self, error: Exception) -> StorageError:
        """Return the error for inconsistent rows: pages were damaged in a way that SQLite does not detect."""
        remedy = "`contextd salvage`" if self.folder is None else "`contextd index --verify` or `contextd rebuild`"
        what = f"{self.database.path} is inconsistent ({type(error).__name__}: {error})"
        return StorageError(f"{what}; run {remedy}. If the error returns, report a bug", code="corrupt")


def _document(row: Any) -> DocumentRow:
    number, source, uri, content, acl, language, size, mtime, ctime, inode, digest, modified = row
    return DocumentRow(number, source, uri, content, acl, language, Stamp(size, mtime, ctime, inode), digest, modified)


def open_index(folder: Path, workspace: int) -> SqliteStore:
    """Open the index of a project. Creates its folder if it does not exist."""
    return SqliteStore(Database(folder / "index.db", durable=False, schemas=("index",)), workspace, folder)
