"""One write transaction of one workspace. All its changes have the same position of the change feed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import apsw

from contextd.ports.world import Matrix
from contextd.stores.search.postings import pack
from contextd.stores.search.vectors import quantize
from contextd.stores.sqlite.database import packed
from contextd.stores.sqlite.links import put_links
from contextd.text.terms import encode_path
from contextd.values.document import COMMIT, DocumentRow, Parsed, access_list_id

_REGISTER = "insert or ignore into workspace values (?, 0, 0, 0, 0)"
_NEXT = "update workspace set seq = seq + 1 where workspace_id = ? returning seq"
_RETIRE = "update document set dead_seq = ? where workspace_id = ? and document_id = ? and dead_seq is null"
_REWRITE = "delete from document where workspace_id = ? and document_id = ? and seq = ?"
_INSERT = "insert into document values (?, ?, ?, null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CONTENTS = "select content_id from document where workspace_id = ? and document_id = ?"
_CONTENT = "insert or ignore into content values (?, ?, ?, ?)"
_CHUNK = "insert or ignore into chunk values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_WORDS = "insert or ignore into words values (?, ?, ?, ?)"
_FIND = "insert or ignore into find values (?, ?, ?, ?)"
_VECTOR = "insert or replace into vector values (?, ?, ?, ?, ?)"
_STORED = "select 1 from content where workspace_id = ? and content_id = ?"
_GRANT = "insert or ignore into acl values (?, ?, ?)"
_TOUCH = """update document set size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?
where workspace_id = ? and document_id = ? and dead_seq is null"""
_SHARE = """
insert into document select workspace_id, document_id, ?, null, source_id, uri, content_id, ?, language, size, mtime_ns,
  ctime_ns, inode, digest, modified, path_terms
from document where workspace_id = ? and source_id = ? and dead_seq is null and acl_id != ? and seq < ?"""
_SHARE_NEW = "update document set acl_id = ? where workspace_id = ? and source_id = ? and dead_seq is null and seq = ?"
_LIVING = """
select document_id from document
where workspace_id = ? and dead_seq is null and document_id in (select value from json_each(?))"""
# A content with its terms: in the base file, which has those of living documents, or in the table of newer ones.
COMPLETE = """
select 1 from content c where c.workspace_id = ?1 and c.content_id = ?2 and (
  exists (select 1 from document d where d.workspace_id = ?1 and d.content_id = ?2 and d.dead_seq is null)
  or exists (select 1 from words w where w.workspace_id = ?1 and w.content_id = ?2))"""
_RETIRE_SHARED = """
update document set dead_seq = ?1 where workspace_id = ?2 and dead_seq is null and seq < ?1
  and exists (select 1 from document n where n.workspace_id = ?2 and n.document_id = document.document_id and n.seq = ?1)"""
# Every table with rows of a content.
OF_CONTENT = ("content", "chunk", "words", "vector", "find", "reference", "import", "definition")
_ERASE = tuple(f"delete from {table} where workspace_id = ? and content_id = ?" for table in OF_CONTENT)  # noqa: S608


class Writer:
    """The changes of one transaction. Nothing is visible to readers before the transaction is committed."""

    def __init__(self, connection: apsw.Connection, workspace: int) -> None:
        self.connection, self.workspace = connection, workspace
        self._written: set[int] = set()  # ids of documents written in this transaction

    @cached_property
    def seq(self) -> int:
        """The position of this transaction: the next position of the workspace."""
        self.connection.execute(_REGISTER, (self.workspace,))
        return int(next(iter(self.connection.execute(_NEXT, (self.workspace,))))[0])

    def position(self) -> int:
        """Return the position of this transaction; that of the one before if nothing changed for readers."""
        if "seq" in self.__dict__:
            return self.seq
        row = self.connection.execute("select seq from workspace where workspace_id = ?", (self.workspace,)).fetchone()
        return row[0] if row else 0

    def living(self, documents: Collection[int]) -> list[int]:
        """Return those of some documents that are there."""
        wanted = json.dumps(list(documents))
        return [row[0] for row in self.connection.execute(_LIVING, (self.workspace, wanted))] if documents else []

    def put_stored(self, document: DocumentRow) -> bool:
        """Write a document whose content is stored. Returns False, and writes nothing, if it is not, or not with its terms.

        It is decided here, inside the transaction: a fold drops the terms of a content that no living document has.
        """
        if not self.connection.execute(COMPLETE, (self.workspace, document.content)).fetchone():
            return False
        self.put(document, None, {})
        return True

    def put(self, document: DocumentRow, parsed: Parsed | None, vectors: Mapping[str, Matrix]) -> None:
        """Write a document and retire its older version. Without `parsed`, its content is already stored."""
        if document.id in self._written:
            self.connection.execute(_REWRITE, (self.workspace, document.id, self.seq))
        self._written.add(document.id)
        self.remove([document.id])
        s = document.stamp
        path_terms = encode_path(document.uri) if document.digest and document.language != COMMIT else b""
        self.connection.execute(_INSERT, (
            self.workspace, document.id, self.seq, document.source, document.uri, document.content, document.acl,
            document.language, s.size, s.mtime_ns, s.ctime_ns, s.inode, document.digest, document.modified, path_terms,
        ))  # fmt: skip
        if parsed is not None:
            self._put_content(document.content, parsed)
            self._put_vectors(document.content, vectors)

    def remove(self, documents: Collection[int]) -> None:
        """Remove documents. Their contents are deleted later, if no other document has them."""
        self.connection.executemany(_RETIRE, ((self.seq, self.workspace, document) for document in documents))

    def erase(self, document: int) -> None:
        """Remove a document, and delete its contents."""
        contents = {row[0] for row in self.connection.execute(_CONTENTS, (self.workspace, document))}
        self.remove([document])
        for query in _ERASE:
            self.connection.executemany(query, [(self.workspace, content) for content in contents])

    def touch(self, documents: Sequence[DocumentRow]) -> None:
        """Set the stamps of documents whose contents are the same. This takes no position: readers see no change."""
        values = ((d.stamp.size, d.stamp.mtime_ns, d.stamp.ctime_ns, d.stamp.inode, self.workspace, d.id) for d in documents)
        self.connection.executemany(_TOUCH, values)

    def grant(self, principals: frozenset[str]) -> int:
        """Store an access list. Returns its id."""
        acl = access_list_id(principals)
        self.connection.executemany(_GRANT, [(self.workspace, acl, principal) for principal in sorted(principals)])
        return acl

    def share(self, source: int, principals: frozenset[str]) -> None:
        """Give all documents of a source an access list: each becomes a new row."""
        acl = self.grant(principals)
        self.connection.execute(_SHARE_NEW, (acl, self.workspace, source, self.seq))
        self.connection.execute(_SHARE, (self.seq, acl, self.workspace, source, acl, self.seq))
        self.connection.execute(_RETIRE_SHARED, (self.seq, self.workspace))

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Store vectors of contents that are still stored."""
        for content, matrix in vectors.items():
            if self.connection.execute(_STORED, (self.workspace, content)).fetchone():
                self._put_vectors(content, {space: matrix})

    def add_vectors_of(self, document: int, vectors: Mapping[str, Matrix]) -> None:
        """Store vectors of the content of a document."""
        row = self.connection.execute(f"{_CONTENTS} and dead_seq is null", (self.workspace, document)).fetchone()
        if row is not None:
            self._put_vectors(row[0], vectors)

    def _put_content(self, content: int, parsed: Parsed) -> None:
        execute, executemany, workspace = self.connection.execute, self.connection.executemany, self.workspace
        execute(_CONTENT, (workspace, content, self.seq, packed(parsed.text)))
        executemany(
            _CHUNK,
            (
                (workspace, content, ordinal, p.kind, p.label, _json(p.heading), _json(p.names), p.start_line, p.end_line,
                 p.start, p.end, p.tokens)
                for ordinal, p in enumerate(parsed.pieces)
            ),
        )  # fmt: skip
        execute(_WORDS, (workspace, content, self.seq, pack(parsed.words)))
        executemany(_FIND, [(workspace, content, find.line, find.rule) for find in parsed.finds])
        put_links(self.connection, workspace, content, parsed)

    def _put_vectors(self, content: int, vectors: Mapping[str, Matrix]) -> None:
        for space, matrix in vectors.items():
            self.connection.execute(_VECTOR, (self.workspace, content, space, self.seq, quantize(matrix)))


def _json(value: Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else "[]"
