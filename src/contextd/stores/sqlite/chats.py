"""The chats and notes of a record: documents with a row of metadata, and hashes of forgotten ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from itertools import pairwise

import apsw

from contextd.ports.record import Kept
from contextd.ports.world import Matrix
from contextd.stores.search.chats import ChatView
from contextd.stores.search.view import only
from contextd.stores.sqlite.database import packed, request_wipe, unpacked
from contextd.stores.sqlite.forgotten import Marks, is_well_formed
from contextd.stores.sqlite.store import SqliteStore
from contextd.values.conversation import ChatSession, Conversation, Forgotten, Message, Note, Said
from contextd.values.document import CHATS, Change, DocumentRow, Parsed, Stamp, access_list_id
from contextd.values.query import Reader, Scope

_SESSIONS = """
select d.uri, d.modified, count(*), min(iif(k.ordinal = 0, k.heading, null)) from document d
join chunk k on k.workspace_id = d.workspace_id and k.content_id = d.content_id
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null and exists (select 1 from acl a
  where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id and a.principal in (select value from json_each(?)))
group by d.document_id order by d.modified desc, d.uri"""
_DIGESTS = """
select document_id, digest from document where workspace_id = ? and dead_seq is null
and document_id in (select value from json_each(?))"""
_DESCRIBED = (
    "select document_id, said, chain from chat where workspace_id = ? and document_id in (select value from json_each(?))"
)
_ALIKE = """
select d.uri, c.chain from chat c join document d on d.workspace_id = c.workspace_id and d.document_id = c.document_id
where c.workspace_id = ? and c.first = ? and d.dead_seq is null order by d.uri"""
_OWN = """
select d.document_id, d.uri, d.modified, t.text, c.said, (select json_group_array(a.principal) from acl a
  where a.workspace_id = d.workspace_id and a.acl_id = d.acl_id) from document d
join content t on t.workspace_id = d.workspace_id and t.content_id = d.content_id
left join chat c on c.workspace_id = d.workspace_id and c.document_id = d.document_id
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null and d.document_id = ?"""
_URIS = "select uri, document_id from document where workspace_id = ? and source_id = ? and dead_seq is null order by uri"
_TURNS = """
select k.label, k.names, k.start_line, k.end_line from chunk k join document d
on d.workspace_id = k.workspace_id and d.content_id = k.content_id and d.dead_seq is null
where d.workspace_id = ? and d.document_id = ? order by k.ordinal"""
_HEADING = """
select k.heading from chunk k join document d on d.workspace_id = k.workspace_id and d.content_id = k.content_id
where d.workspace_id = ? and d.document_id = ? and d.dead_seq is null order by k.ordinal limit 1"""
_PUT = "insert or replace into chat values (?, ?, ?, ?, ?)"
_DROP = "delete from chat where workspace_id = ? and document_id = ?"
_NAMELESS = "update document set uri = '', digest = x'', path_terms = x'' where workspace_id = ? and document_id = ?"
_DIGEST = 12  # bytes of a digest in a chain


class ChatStore:
    """The chats and notes of one workspace of a record. Search statistics count chats and notes only."""

    def __init__(self, store: SqliteStore, tick: Callable[[apsw.Connection], str]) -> None:
        self._store, self._tick = store, tick
        self._marks = Marks(store, self.number)

    # Reading

    def view(self, scope: Scope, deadline: float | None = None) -> AbstractContextManager[ChatView]:
        """Open a view of the chats at the current position."""
        return self._store.seen(only(scope, CHATS), deadline, ChatView)

    def changes(self, after: int) -> Iterator[Change]:
        """Yield every change after a position, in order."""
        return self._store.changes(after)

    def known(self, uris: Collection[str], author: str) -> dict[str, bytes]:
        """Return the digests of documents that an author imported before, by uri."""
        numbers = {self.number(uri, author): uri for uri in uris}
        found = self._store.rows(_DIGESTS, json.dumps(sorted(numbers)))
        return {numbers[number]: digest for number, digest in found}

    def described(self, uris: Collection[str], author: str) -> dict[str, tuple[Said, list[bytes]]]:
        """Return metadata and message digests of an author's documents, by uri. Older documents may have neither."""
        numbers = {self.number(uri, author): uri for uri in uris}
        found = self._store.rows(_DESCRIBED, json.dumps(sorted(numbers)))
        return {numbers[number]: (_said(said), _digests(chain)) for number, said, chain in found}

    def alike(self, chain: Sequence[bytes], author: str) -> list[tuple[str, list[bytes]]]:
        """Return the author's documents that begin with the same message: uri and message digests."""
        found = self._store.rows(_ALIKE, self._first(chain, author)) if chain else []
        return [(uri, _digests(digests)) for uri, digests in found]

    def forgotten(self, chains: Mapping[str, Sequence[bytes]], author: str) -> set[str]:
        """Return the uris the author has forgotten, alone or with the whole conversation; matched by uri or by messages."""
        with self._store.database.reading() as connection:
            return self._marks.forgotten(connection, chains, author)

    def marks(self, author: str) -> list[Forgotten]:
        """Return keyed hashes of the documents an author has forgotten."""
        with self._store.database.reading() as connection:
            return self._marks.all(connection, author)

    def written(self, author: str, reader: Reader) -> Iterator[Conversation | Note]:
        """Yield every chat session and note that the author imported and the reader may see."""
        for uri in self._own(author):
            for number, uri, at, text, said, principals in self._store.rows(_OWN, CHATS, self.number(uri, author)):  # noqa: B020
                readers = frozenset(json.loads(principals))
                if readers & reader.principals:
                    known = _said(said) if said is not None else self._reconstructed(number, at)
                    yield _written(uri, at, unpacked(text), known, readers)

    def _own(self, author: str) -> list[str]:
        """Return the uris of the documents an author imported."""
        return [uri for uri, number in self._store.rows(_URIS, CHATS) if number == self.number(uri, author)]

    def _reconstructed(self, number: int, at: int) -> Said:
        """Reconstruct the metadata of a session stored without any. A message begins where a piece names an author."""
        pieces = self._store.rows(_TURNS, number)
        starts = [start for label, names, start, _ in pieces if names != "[]" or not label]
        ends = [*starts[1:], *(end + 1 for *_, end in pieces[-1:])][: len(starts)]
        labels = [label for label, names, *_ in pieces if names != "[]" or not label]
        heading = self._store.rows(_HEADING, number)
        return Said(
            _title(json.loads(heading[0][0])) if heading else "",
            None,
            [(label, "", at, b - a) for label, a, b in zip(labels, starts, ends, strict=True)],
        )

    def sessions(self, reader: Reader) -> list[ChatSession]:
        """Return the chat sessions and notes a reader may see, newest first."""
        principals = json.dumps(sorted(reader.principals))
        found = self._store.rows(_SESSIONS, CHATS, principals)
        return [ChatSession(uri, _title(json.loads(heading)), at, count) for uri, at, count, heading in found]

    def missing_vectors(self, space: str, limit: int, besides: Collection[str] = ()) -> list[tuple[int, list[str]]]:
        """Return contents without vectors in a space, with the texts to embed. A pair space has each with the one before it."""
        if not space.startswith("pair/"):
            return self._store.missing_vectors(space, limit, besides)
        found = self._store.missing_vectors(space, limit, besides, source=CHATS)
        return [(content, [texts[0], *(f"{a}\n{b}" for a, b in pairwise(texts))]) for content, texts in found if texts]

    # Writing

    def add_vectors(self, space: str, vectors: Mapping[int, Matrix]) -> None:
        """Store vectors of contents that are still stored."""
        self._store.add_vectors(space, vectors)

    def keep(self, kept: Sequence[Kept], author: str, principals: frozenset[str]) -> int:
        """Write documents in one transaction and replace older versions. Skips forgotten ones. Returns the number written."""
        store = self._store

        def write(connection: apsw.Connection) -> int:
            gone = self._marks.forgotten(connection, {one.uri: one.chain for one in kept}, author)
            for one in (one for one in kept if one.uri not in gone):
                readers = principals | one.principals
                store.writer(connection).grant(readers)
                number = self.number(one.uri, author)
                store.writer(connection).erase(number)
                content = self.number(f"{one.uri}\n{one.digest.hex()}", author)
                acl, no_file = access_list_id(readers), Stamp(0, 0, 0, 0)
                row = DocumentRow(number, CHATS, one.uri, content, acl, one.language, no_file, one.digest, one.at)
                store.writer(connection).put(row, one.parsed, one.vectors)
                self._describe(connection, one, author)
            return len(kept) - len(gone)

        return store.database.transact(write) if kept else 0

    def describe(self, kept: Sequence[Kept], author: str) -> None:
        """Add metadata to documents that were written without it."""

        def write(connection: apsw.Connection) -> None:
            for one in kept:
                self._describe(connection, one, author)

        if kept:
            self._store.database.transact(write)

    def _describe(self, connection: apsw.Connection, one: Kept, author: str) -> None:
        if one.chain:
            said = packed(json.dumps(one.said, ensure_ascii=False, separators=(",", ":")))
            first, chain = self._first(one.chain, author), b"".join(one.chain)
            connection.execute(_PUT, (self._store.workspace, self.number(one.uri, author), first, chain, said))

    def forget(self, uris: Collection[str], place: str, author: str) -> str:
        """Erase documents of an author. Leaves marks of each, and of `place` if they are the whole conversation.

        Returns `gone`, or `pending` while a reader holds the log.
        """
        chains: dict[str, Sequence[bytes]] = dict.fromkeys(uris, ())
        chains |= {uri: chain for uri, (_, chain) in self.described(uris, author).items()}

        def erase(connection: apsw.Connection) -> None:
            self._erase(connection, uris, author)
            self._marks.bury(connection, chains, place, author, self._tick(connection))

        self._store.database.transact(erase)
        return "gone" if self._store.database.wipe() else "pending"

    def bury(self, forgotten: Forgotten, author: str) -> int:
        """Store the marks of another device, and erase documents that match. Returns the number erased."""
        if not is_well_formed(forgotten):
            return 0
        chains: dict[str, Sequence[bytes]] = dict.fromkeys(self._own(author), ())
        chains |= {uri: chain for uri, (_, chain) in self.described(chains, author).items()}
        gone = self._marks.matching(forgotten, chains)

        def erase(connection: apsw.Connection) -> None:
            self._marks.add(connection, forgotten, author, self._tick(connection))
            self._erase(connection, gone, author)

        self._store.database.transact(erase)
        if gone:
            self._store.database.wipe()
        return len(gone)

    def _erase(self, connection: apsw.Connection, uris: Collection[str], author: str) -> None:
        self.erase_rows(connection, [self.number(uri, author) for uri in uris])

    def put(self, connection: apsw.Connection, row: DocumentRow, parsed: Parsed, vectors: Mapping[str, Matrix]) -> None:
        """Write a document without change, inside the caller's transaction."""
        self._store.writer(connection).put(row, parsed, vectors)

    def erase_rows(self, connection: apsw.Connection, numbers: Sequence[int]) -> None:
        """Erase documents with their names and metadata, inside the caller's transaction."""
        store = self._store
        request_wipe(connection)
        for number in numbers:
            store.writer(connection).erase(number)
            connection.execute(_NAMELESS, (store.workspace, number))
            connection.execute(_DROP, (store.workspace, number))

    def _first(self, chain: Sequence[bytes], author: str) -> int:
        return self.number(f"first\n{chain[0].hex()}", author)

    def number(self, name: str, author: str) -> int:
        """Return the id of a document. It depends on the author, since two people may import the same document.

        The id reveals nothing, since the workspace id in it is random.
        """
        data = f"{self._store.workspace}\n{author}\n{name}".encode("utf-8", "replace")
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1


def _said(data: bytes) -> Said:
    title, name, turns = json.loads(unpacked(data))
    return Said(title, name, [(author, role, at, lines) for author, role, at, lines in turns])


def _digests(chain: bytes) -> list[bytes]:
    return [chain[start : start + _DIGEST] for start in range(0, len(chain), _DIGEST)]


def _written(uri: str, at: int, text: str, said: Said, principals: frozenset[str]) -> Conversation | Note:
    """Return a document as a conversation or note. Its lines are divided among its messages, in order."""
    kind, _, place = uri.partition(":")
    if kind == "note":
        return Note(place, said.title, text, at, principals)
    lines, messages, start = text.split("\n"), [], 0
    for author, role, when, count in said.turns:
        messages.append(Message(author, "\n".join(lines[start : start + count]), when, role))
        start += count
    place, _, sitting = place.rpartition("#")
    return Conversation(place, said.title, messages, said.name, int(sitting), principals)


def _title(heading: Sequence[str]) -> str:
    """Return the title in a heading; empty if the heading is only a day. A day may follow the title."""
    return heading[0] if heading and not (len(heading) == 1 and heading[0][:1].isdigit()) else ""
