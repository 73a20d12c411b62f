"""The SQL of a search: reads the rows of one workspace in one read transaction."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import apsw

from contextd.stores.search.reading import DocumentTuple, Head, PieceRow
from contextd.stores.sqlite.database import unpacked
from contextd.stores.sqlite.links import exact_key, name_key
from contextd.values.document import Definition

_HEAD = "select seq, collected_seq, generation, folded_seq from workspace where workspace_id = ?"
_HEADS = "select workspace_id, seq, collected_seq, generation, folded_seq from workspace"
_LIVING = """
select document_id, source_id, uri, content_id, acl_id, language, modified, path_terms
from document where workspace_id = ? and dead_seq is null"""
_CHANGED = """
select document_id, source_id, uri, content_id, acl_id, language, modified, path_terms, dead_seq from (
  select * from document where workspace_id = ?1 and seq > ?2
  union all select * from document where workspace_id = ?1 and dead_seq is not null and dead_seq > ?2 and seq <= ?2)
order by max(seq, coalesce(dead_seq, 0)), dead_seq is null"""  # two indexes, so that it reads only changed rows
_WORDS = "select content_id, data from words where workspace_id = ? and seq > ? order by content_id"
_KINDS = """
select content_id, kind from chunk
where workspace_id = ?1 and content_id in (select content_id from words where workspace_id = ?1 and seq > ?2)
order by content_id, ordinal"""
_VECTORS = """
select content_id, space, data from vector where workspace_id = ? and seq > ? and length(data) > 0 order by content_id"""
_ACCESS_LISTS = "select distinct acl_id from acl where workspace_id = ? and principal in (select value from json_each(?))"
_TEXTS = "select content_id, text from content where workspace_id = ? and content_id in (select value from json_each(?))"
_ALL_TEXTS = "select content_id, text from content where workspace_id = ? order by content_id"
_PIECE = "ordinal, kind, label, heading, start_line, end_line, start_at, end_at, tokens"
_PIECES = f"""
select content_id, {_PIECE} from chunk where workspace_id = ? and content_id in (select value from json_each(?))
order by content_id, ordinal"""  # noqa: S608
_PIECES_AT = f"""
select content_id, {_PIECE} from json_each(?2) j
cross join chunk on content_id = j.value ->> 0 and ordinal = j.value ->> 1 where workspace_id = ?1"""  # noqa: S608
_NAMES = "select names from chunk where workspace_id = ? and content_id = ? order by ordinal"
_ORDINALS = "select ordinal from chunk where workspace_id = ? and content_id = ? and start_line <= ? and end_line >= ?"
_DEFINITIONS_OF = """
select content_id, label, kind, line, end_line from definition
where workspace_id = ? and name_key in (select value from json_each(?))"""
_DEFINITIONS_IN = """
select content_id, label, kind, line, end_line from definition
where workspace_id = ? and content_id in (select value from json_each(?))"""
_REFERENCES = """
select name_key, kind, content_id, lines from reference
where workspace_id = ? and name_key in (select value from json_each(?))"""
_IMPORTS_OF = """
select content_id, target, line from import where workspace_id = ? and stem_key in (select value from json_each(?))"""
_IMPORTS_IN = """
select content_id, target, line from import where workspace_id = ? and content_id in (select value from json_each(?))"""


def heads_of(connection: apsw.Connection) -> dict[int, Head]:
    """Return the heads of all workspaces of a database. Workspaces without a write are missing."""
    return {workspace: Head(*rest) for workspace, *rest in connection.execute(_HEADS)}


class SqliteReading:
    """The rows of one workspace, read on a connection inside a transaction."""

    def __init__(self, connection: apsw.Connection, workspace: int) -> None:
        self.connection, self.workspace = connection, workspace

    def head(self) -> Head:
        """Return the head of the workspace; zeros if nothing was ever written."""
        return next((Head(*row) for row in self.select(_HEAD)), Head(0, 0, 0, 0))

    def living(self) -> Iterable[DocumentTuple]:
        """Return all living documents."""
        return self.select(_LIVING)

    def changed(self, after: int) -> Iterator[tuple[DocumentTuple, bool]]:
        """Yield the documents written or removed after a position, in order; True for a removed one."""
        for *row, dead in self.select(_CHANGED, after):
            document: Any = tuple(row)
            yield document, dead is not None

    def words(self, after: int) -> Iterable[tuple[int, bytes]]:
        """Return content and packed terms of contents written after a position and not in the base file, by content."""
        return self.select(_WORDS, after)

    def kinds(self, after: int) -> Iterable[tuple[int, str]]:
        """Return content and kinds of each chunk of the same contents, in order."""
        return self.select(_KINDS, after)

    def vectors(self, after: int) -> Iterable[tuple[int, str, bytes]]:
        """Return content, space and packed vectors written after a position and not in the base file, by content."""
        return self.select(_VECTORS, after)

    def access_lists(self, principals: Collection[str]) -> Sequence[int]:
        """Return the ids of the access lists that name one of the principals."""
        return [acl for (acl,) in self.select(_ACCESS_LISTS, json.dumps(sorted(principals)))]

    def texts(self, contents: Collection[int]) -> dict[int, str]:
        """Return the texts of contents."""
        return {content: unpacked(data) for content, data in self.select(_TEXTS, json.dumps(sorted(contents)))}

    def all_texts(self) -> Iterator[tuple[int, str]]:
        """Yield content and text of every content, by content."""
        for content, data in self.select(_ALL_TEXTS):
            yield content, unpacked(data)

    def pieces(self, contents: Collection[int]) -> Iterator[tuple[int, PieceRow]]:
        """Yield content and row of every chunk of some contents, in order."""
        for content, *row in self.select(_PIECES, json.dumps(sorted(contents))):
            yield content, PieceRow(*row)

    def pieces_at(self, places: Collection[tuple[int, int]]) -> Iterator[tuple[int, PieceRow]]:
        """Yield content and row of the chunks with these contents and ordinals."""
        for content, *row in self.select(_PIECES_AT, json.dumps(sorted(places))):
            yield content, PieceRow(*row)

    def names(self, content: int) -> Sequence[str]:
        """Return the names that each chunk of a content defines, as JSON lists, in order."""
        return [names for (names,) in self.select(_NAMES, content)]

    def ordinals_at(self, content: int, line: int) -> Sequence[int]:
        """Return the ordinals of the chunks of a content that contain a line."""
        return [ordinal for (ordinal,) in self.select(_ORDINALS, content, line, line)]

    def definitions_of(self, names: Collection[str]) -> Iterable[tuple[int, Definition]]:
        """Return content and definition of each definition whose last part is one of the names, ignoring case."""
        keys = json.dumps([name_key(name) for name in names])
        return [(content, Definition(*rest)) for content, *rest in self.select(_DEFINITIONS_OF, keys)]

    def definitions_in(self, contents: Collection[int]) -> Iterable[tuple[int, Definition]]:
        """Return content and definition of each definition in some contents."""
        found = self.select(_DEFINITIONS_IN, json.dumps(list(contents)))
        return [(content, Definition(*rest)) for content, *rest in found]

    def references_to(self, names: Collection[str]) -> Iterator[tuple[str, int, int, Sequence[int]]]:
        """Yield name, kind, content and lines of each reference to one of the names."""
        wanted = {exact_key(name): name for name in names}
        for number, kind, content, data in self.select(_REFERENCES, json.dumps(list(wanted))):
            lines = array("I")
            lines.frombytes(data)
            yield wanted[number], kind, content, lines

    def imports_of(self, stems: Collection[str]) -> Iterable[tuple[int, str, int]]:
        """Return content, target and line of each import whose last part is one of the stems."""
        return self.select(_IMPORTS_OF, json.dumps([name_key(stem) for stem in stems]))

    def imports_in(self, contents: Collection[int]) -> Iterable[tuple[int, str, int]]:
        """Return content, target and line of each import in some contents."""
        return self.select(_IMPORTS_IN, json.dumps(list(contents)))

    def select(self, query: str, *values: Any) -> Iterator[Any]:
        """Return the rows of a query whose first value is the workspace."""
        return iter(self.connection.execute(query, (self.workspace, *values)))
