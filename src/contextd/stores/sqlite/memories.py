"""The memories of a record: each is a document with one chunk, and a row with its other fields.

A change is one transaction: the text, the row, the old version and the clock. Forgetting erases all of them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

import apsw
import numpy as np

from contextd.errors import NotFound
from contextd.ports.record import Entry
from contextd.ports.world import Matrix
from contextd.stores.search.vectors import restore
from contextd.stores.sqlite.clocks import Clocks
from contextd.stores.sqlite.database import Database, packed, request_wipe, rows, unpacked
from contextd.stores.sqlite.store import SqliteStore
from contextd.text.terms import plain
from contextd.values.document import MEMORIES, MEMORY, DocumentRow, Parsed, Stamp, access_list_id
from contextd.values.memory import Decided, Memory, TopicChange, Version, renamed
from contextd.values.query import Reader

_FIELDS = (
    "author", "said", "kind", "about", "attribute", "value", "unit", "topics", "language", "confidence", "source",
    "conversation", "verified", "valid_from", "valid_to", "replaced_by", "pinned", "silent", "private", "useful", "useless",
    "enriched", "changed", "clock",
)  # fmt: skip
_LISTS = {"topics": tuple, "verified": frozenset}
_FLAGS = ("pinned", "silent", "private")
_COLUMNS = ", ".join(f"m.{name}" for name in _FIELDS)
# `cross join` fixes the order: memory, document, text. Otherwise some query plans read all documents.
_SELECT = f"""
select m.workspace_id, m.memory_id, c.text, d.acl_id, {_COLUMNS}
from memory m cross join document d on d.workspace_id = m.workspace_id and d.document_id = m.document_id and d.dead_seq is null
cross join content c on c.workspace_id = d.workspace_id and c.content_id = d.content_id
where m.workspace_id = ? and """  # noqa: S608 - names of our own
_READABLE = """exists (select 1 from acl a where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id
and a.principal in (select value from json_each(?))) """
_BEGINNING = "and m.memory_id >= ? and m.memory_id < ?"
_BY_ID = "m.memory_id in (select value from json_each(?))"
_ALIKE = """m.memory_id in (
  select memory_id from memory where workspace_id = ? and fingerprint = ?
  union select memory_id from (
    select memory_id from memory indexed by memory_by_attribute
    where workspace_id = ? and attribute = ? and attribute != '' and about = ? and author = ? and valid_to is null
    order by said desc limit 8)
  union select memory_id from (
    select memory_id from memory where ? and workspace_id = ? and author = ? and valid_to is null
    order by source = 'person' desc, said desc limit 500)
  union select value from json_each(?))
and m.author = ? and d.acl_id = ? order by m.said, m.memory_id"""
_CURRENT = """m.memory_id in (
  select memory_id from memory where workspace_id = ? and author = ? and valid_to is null
  order by source = 'person' desc, said desc limit 500)
and m.author = ? and d.acl_id = ? order by m.said desc, m.memory_id"""
VECTORS = """select d.document_id, v.space, v.data from json_each(?) j
cross join document d on d.workspace_id = ? and d.document_id = j.value and d.dead_seq is null
cross join vector v on v.workspace_id = d.workspace_id and v.content_id = d.content_id where length(v.data) > 0"""
_TAUGHT = """m.memory_id in (select memory_id from memory indexed by memory_taught
where workspace_id = ? and author = ? and instr(verified, '"kind"') > 0)"""
_PUT = f"insert or replace into memory values (?, ?, ?, ?, {', '.join('?' * len(_FIELDS))}, ?)"  # noqa: S608
# The result is the same in any order of devices.
_KEEP_VERSION = """insert into memory_version values (?, ?, ?, ?, ?, ?, ?)
on conflict do update set at = min(at, excluded.at), data = max(data, excluded.data)"""
_ERASE = (
    "delete from memory where workspace_id = ?1 and memory_id = ?2",
    "delete from memory_version where workspace_id = ?1 and memory_id = ?2",
    "delete from link where workspace_id = ?1 and (start_id = ?2 or end_id = ?2)",
    "delete from link_tombstone where workspace_id = ?1 and (start_id = ?2 or end_id = ?2)",
)
# Memories that the erased one had replaced get its end of validity and its successor.
_GIVE_BACK = """
update memory set (valid_to, replaced_by) = (
  select f.valid_to, f.replaced_by from memory f where f.workspace_id = ?1 and f.memory_id = ?2)
where workspace_id = ?1 and replaced_by = ?2
and author = (select f.author from memory f where f.workspace_id = ?1 and f.memory_id = ?2)"""


class _Records(Protocol):
    """The parts of the record that memories use."""

    database: Database
    clocks: Clocks

    def store(self, workspace: int) -> SqliteStore: ...


class SqliteMemories:
    """Reads and writes memories. Callers check access, except where a reader is given."""

    def __init__(self, record: _Records) -> None:
        self._record = record

    # Reading

    def get(self, workspace: int, ids: Collection[str]) -> list[Memory]:
        """Return memories by id, in the order of `ids`. Missing memories are left out."""
        found = {memory.id: memory for memory in self._memories(workspace, _BY_ID, json.dumps(list(ids)))}
        return [found[one] for one in ids if one in found]

    def all(self, workspace: int, reader: Reader) -> list[Memory]:
        """Return every memory a reader may see, newest first."""
        principals = json.dumps(sorted(reader.principals))
        return self._memories(workspace, _READABLE + "order by m.said desc, m.memory_id", principals)

    def taught(self, workspace: int, author: str) -> list[Memory]:
        """Return the memories whose kind the author set."""
        return self._memories(workspace, _TAUGHT, workspace, author)

    def ids(self, workspace: int) -> set[str]:
        """Return the ids of all memories, without regard to access lists."""
        return {row[0] for row in self._query("select memory_id from memory where workspace_id = ?", (workspace,))}

    def beginning(self, workspace: int, start: str, reader: Reader) -> list[str]:
        """Return the ids that begin with `start`, of memories the reader may see."""
        principals = json.dumps(sorted(reader.principals))
        found = self._memories(workspace, _READABLE + _BEGINNING, principals, start, start + "\uffff")
        return [memory.id for memory in found]

    def versions(self, workspace: int, memory: str) -> list[Version]:
        """Return the versions of a memory before each change, newest first."""
        with self._record.database.reading() as connection:
            return versions_of(connection, workspace, memory)

    def tombstones(self, workspace: int, author: str) -> list[tuple[str, str]]:
        """Return the tombstones of an author: random memory ids and clocks, nothing else."""
        query = """select memory_id, clock from tombstone where workspace_id = ? and author = ? and length(memory_id) = 32
        order by memory_id"""
        return [(row[0], row[1]) for row in self._query(query, (workspace, author))]

    # Writing

    def remember(
        self,
        entries: Sequence[Entry],
        decide: Callable[[Memory, Sequence[Memory]], Decided],
    ) -> list[Decided]:
        """Store memories in one transaction, synced to disk. `decide` gets each memory with the stored ones like it."""

        def write(connection: apsw.Connection) -> list[Decided]:
            return [self._remember_one(connection, entry, decide) for entry in entries]

        return self._record.database.transact(write)

    def current(self, workspace: int, author: str, principals: frozenset[str]) -> list[Memory]:
        """Return the latest memories of an author that hold, with exactly these readers."""
        return self._memories(workspace, _CURRENT, workspace, author, author, access_list_id(principals))

    def change(
        self, memory: Memory, by: str, parsed: Parsed | None = None, vectors: Mapping[str, Matrix] | None = None
    ) -> Memory:
        """Write a changed memory, and its old version to its history. `parsed` is given if the text changed."""

        def write(connection: apsw.Connection) -> Memory:
            self._record.store(memory.workspace).writer(connection).grant(memory.principals)
            return self._changed(connection, memory, by, parsed, vectors or {})

        return self._record.database.transact(write)

    def note(
        self,
        memory: Memory,
        change: Callable[[Memory], Memory],
        vectors: Mapping[str, Matrix] | None = None,
        parsed: Parsed | None = None,
    ) -> None:
        """Update fields that are not part of the text, such as guesses, vectors and terms. Adds nothing to the history.

        `change` gets the memory as it is stored now. If its text changed meanwhile or it was erased, nothing is written.
        """

        def write(connection: apsw.Connection) -> None:
            now = row_of(connection, memory.workspace, memory.id)
            if now is None or now.text != memory.text:
                return
            noted = change(now)
            self.insert(connection, noted, self.told_topics(connection, now) if noted.topics == now.topics else None)
            if parsed is None:
                self._record.store(noted.workspace).writer(connection).add_vectors_of(number_of(noted.id), vectors or {})
                return
            stored = self.vectors(noted.workspace, [noted.id]).get(noted.id, {})  # vectors of models that are not loaded
            self.write_text(connection, noted, parsed, {**stored, **(vectors or {})})

        self._record.database.transact(write)

    def forget(self, workspace: int, memory: str) -> str:
        """Erase a memory and leave a tombstone. Raises `NotFound`.

        Returns `gone` if no byte is left, `pending` while another process reads, `copies` if a damaged record was moved aside.
        """
        database = self._record.database

        def erase(connection: apsw.Connection) -> None:
            known = row_of(connection, workspace, memory)
            if known is None:
                raise NotFound(f"no such memory: {memory!r}; run `contextd memories` for a list")
            self.erase(connection, workspace, memory)
            mark = (workspace, memory, known.author, self._record.clocks.tick(connection))
            connection.execute("insert or replace into tombstone values (?, ?, ?, ?)", mark)

        database.transact(erase)
        if not database.wipe():
            return "pending"
        return "copies" if any(database.path.parent.glob("record.db.corrupt-*")) else "gone"

    def vectors(self, workspace: int, memories: Collection[str]) -> dict[str, dict[str, Matrix]]:
        """Return the vectors of memories, by memory id and space."""
        by_number = {number_of(memory): memory for memory in memories}
        found: dict[str, dict[str, Matrix]] = {}
        for number, space, data in self._query(VECTORS, (json.dumps(list(by_number)), workspace)):
            values, scales = restore(data, 1)
            found.setdefault(by_number[number], {})[space] = values.astype(np.float32) * scales[:, None]
        return found

    # Inside

    def _query(self, query: str, values: Sequence[Any]) -> list[Any]:
        return self._record.database.query(query, values)

    def _memories(self, workspace: int, condition: str, *values: Any) -> list[Memory]:
        with self._record.database.reading() as connection:
            return _found(connection, workspace, condition, values)

    def _remember_one(
        self,
        connection: apsw.Connection,
        entry: Entry,
        decide: Callable[[Memory, Sequence[Memory]], Decided],
    ) -> Decided:
        from contextd.text.changes import change_of  # loaded on use: queries save nothing

        memory = entry.memory
        self._record.store(memory.workspace).writer(connection).grant(memory.principals)
        workspace, mark = memory.workspace, fingerprint(memory.text)
        changes = change_of(memory.text) is not None  # then it may end any fact; else the number of facts does not matter
        author = memory.author
        same = (workspace, mark, workspace, memory.attribute, memory.about, author, changes, workspace, author)
        beside = json.dumps(list(entry.beside))
        alike = (*same, beside, author, access_list_id(memory.principals))
        found = _found(connection, memory.workspace, _ALIKE, alike)
        decided = decide(memory, found)
        if decided.known and decided.memory in found:
            return decided
        if decided.known:
            return replace(decided, memory=self._changed(connection, decided.memory, memory.author, None, {}))
        for old in decided.ended:
            self._changed(connection, old, memory.author, None, {})
        self.write_text(connection, decided.memory, entry.parsed, entry.vectors)
        return replace(decided, memory=self._put(connection, decided.memory))

    def _changed(
        self, connection: apsw.Connection, memory: Memory, by: str, parsed: Parsed | None, vectors: Mapping[str, Matrix]
    ) -> Memory:
        before = row_of(connection, memory.workspace, memory.id)
        if before is None:
            raise NotFound(f"memory {memory.id!r} no longer exists")
        self.keep_version(connection, before, memory.changed, by)
        if parsed is not None or before.principals != memory.principals:
            self.write_text(connection, memory, parsed, vectors)
        return self._put(connection, memory)

    def write_text(
        self, connection: apsw.Connection, memory: Memory, parsed: Parsed | None, vectors: Mapping[str, Matrix]
    ) -> None:
        """Write the document of a memory. A new text is a new content; the old one is erased with its terms and vectors."""
        store, number = self._record.store(memory.workspace), number_of(memory.id)
        query = "select content_id from document where workspace_id = ? and document_id = ? and dead_seq is null"
        old = [row[0] for row in connection.execute(query, (memory.workspace, number))]
        if parsed is not None and old:
            store.writer(connection).erase(number)
        content = old[0] if parsed is None else number_of(memory.id + secrets.token_hex(8))
        acl, no_file = access_list_id(memory.principals), Stamp(0, 0, 0, 0)
        row = DocumentRow(number, MEMORIES, f"memory:{memory.id}", content, acl, MEMORY, no_file, b"", memory.said)
        store.writer(connection).put(row, parsed, vectors)

    def keep_version(self, connection: apsw.Connection, before: Memory, at: int, by: str) -> None:
        """Add the version of a memory until `at` to its history."""
        values = (before.workspace, before.id, before.clock, at, by, packed(before.text), fields_of(before))
        connection.execute(_KEEP_VERSION, values)

    def erase(self, connection: apsw.Connection, workspace: int, memory: str) -> None:
        """Erase a memory with its text, history and links, inside the caller's transaction."""
        request_wipe(connection)
        self._record.store(workspace).writer(connection).erase(number_of(memory))
        connection.execute(_GIVE_BACK, (workspace, memory))
        for query in _ERASE:
            connection.execute(query, (workspace, memory))

    def _put(self, connection: apsw.Connection, memory: Memory) -> Memory:
        memory = replace(memory, clock=self._record.clocks.tick(connection))
        self.insert(connection, memory)
        return memory

    def insert(self, connection: apsw.Connection, memory: Memory, original: Sequence[str] | None = None) -> None:
        """Write the row of a memory with its clock. `original`: its topics as written, if renamed or deleted since."""
        original = memory.topics if original is None else original
        named = renamed(original, memory.clock, changes_of(connection, memory.author))
        values = _values(replace(memory, topics=named))
        before = None if named == tuple(original) else json.dumps(list(original))
        number, mark = number_of(memory.id), fingerprint(memory.text)
        connection.execute(_PUT, (memory.workspace, memory.id, number, mark, *values, before))

    def told_topics(self, connection: apsw.Connection, memory: Memory) -> tuple[str, ...]:
        """Return the topics of a memory as written, before any was renamed or deleted."""
        query = "select told_topics from memory where workspace_id = ? and memory_id = ?"
        ((original,),) = rows(connection, query, (memory.workspace, memory.id))
        return memory.topics if original is None else tuple(json.loads(original))


def number_of(name: str) -> int:
    """Return the document id of a memory id."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


def fingerprint(text: str) -> int:
    """Return a number that is equal for texts that differ only in case, spaces and punctuation."""
    return number_of(plain(text))


def _found(connection: apsw.Connection, workspace: int, condition: str, values: Sequence[Any]) -> list[Memory]:
    found = list(connection.execute(_SELECT + condition, (workspace, *values)))
    lists: dict[int, frozenset[str]] = {}
    for acl in {row[3] for row in found}:
        query = "select principal from acl where workspace_id = ? and acl_id = ?"
        lists[acl] = frozenset(row[0] for row in connection.execute(query, (workspace, acl)))
    return [_memory(row[0], row[1], unpacked(row[2]), lists[row[3]], dict(zip(_FIELDS, row[4:], strict=True))) for row in found]


def row_of(connection: apsw.Connection, workspace: int, memory: str) -> Memory | None:
    """Return a memory as this transaction sees it; None if it does not exist."""
    found = _found(connection, workspace, "m.memory_id = ?", (memory,))
    return found[0] if found else None


def versions_of(connection: apsw.Connection, workspace: int, memory: str) -> list[Version]:
    """Return the versions of a memory before each change, newest first."""
    query = "select clock, at, by, text, data from memory_version where workspace_id = ? and memory_id = ? order by clock desc"
    return [
        Version(at, by, _restored(workspace, memory, unpacked(text), json.loads(data) | {"clock": clock}))
        for clock, at, by, text, data in rows(connection, query, (workspace, memory))
    ]


def changes_of(connection: apsw.Connection, author: str) -> list[TopicChange]:
    """Return the topics an author renamed, merged or deleted, in the order of their clocks."""
    query = "select name, new, clock from topic_change where author = ? order by clock"
    return [TopicChange(*row) for row in connection.execute(query, (author,))]


def _memory(workspace: int, memory: str, text: str, principals: frozenset[str], fields: dict[str, Any]) -> Memory:
    for name, shape in _LISTS.items():
        fields[name] = shape(json.loads(fields[name]))
    for name in _FLAGS:
        fields[name] = bool(fields[name])
    return Memory(id=memory, workspace=workspace, text=text, principals=principals, **fields)


def _values(memory: Memory) -> list[Any]:
    fields = {name: getattr(memory, name) for name in _FIELDS}
    for name in _LISTS:
        fields[name] = json.dumps(list(fields[name]) if name == "topics" else sorted(fields[name]))
    for name in _FLAGS:
        fields[name] = int(fields[name])
    return [fields[name] for name in _FIELDS]


def fields_of(memory: Memory) -> str:
    """Return all fields but the text as JSON, for the history."""
    return json.dumps({"principals": sorted(memory.principals), **dict(zip(_FIELDS, _values(memory), strict=True))})


def _restored(workspace: int, memory: str, text: str, fields: dict[str, Any]) -> Memory:
    principals = frozenset(fields.pop("principals"))
    return _memory(workspace, memory, text, principals, fields)
