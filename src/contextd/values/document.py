"""Documents and their chunks, from bytes to rows: values only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

OWNER = "owner"

EVERYONE = "everyone"

MEMORIES = 1  # the source all memories come from

CHATS = 2  # and all chats and notes that were imported

COMMIT = "commit"  # the language of a commit as a document

MEMORY = "memory"  # of a memory

CHAT = "chat"  # and of a sitting of a conversation


class ChunkId(NamedTuple):
    """Names a chunk at one moment; not promised across edits."""

    document: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunker cuts: a span of the stored text, with everything but its place in the world."""

    start: int
    end: int
    start_line: int
    end_line: int
    kind: str  # of the largest unit in it, then of the others, with spaces between
    label: str = ""
    heading: tuple[str, ...] = ()
    tokens: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Find:
    """A secret that was scrubbed: where and by which rule, never what."""

    line: int
    rule: str


class Definition(NamedTuple):
    """A name that a document defines: qualified by what it stands in, with its first and last line."""

    label: str
    kind: str
    line: int
    end_line: int


CALL, INHERIT, IMPORT = 0, 1, 2  # how code refers to a name


class Reference(NamedTuple):
    """A name that a document refers to, how, and on which lines; of an import the name is what is imported, as written."""

    name: str
    kind: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text after scrub and chunk. `words` holds one encoded term list per piece."""

    text: str
    pieces: tuple[Piece, ...]
    words: tuple[bytes, ...]
    finds: tuple[Find, ...] = ()
    warnings: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """One document for the parser: its bytes and how to read them."""

    uri: str
    data: bytes
    language: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one: a parsed document, or the reason why not."""

    raw: Raw
    parsed: Parsed | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without reading it, that a file has not changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as the store keeps it, without its text."""

    id: int
    source: int
    uri: str
    content: int
    acl: int
    language: str
    stamp: Stamp
    digest: bytes
    modified: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The retrievable piece of a document, as a reader gets it."""

    id: ChunkId
    workspace: int
    uri: str
    language: str
    kind: str
    label: str
    heading: tuple[str, ...]
    text: str
    start_line: int
    end_line: int
    start: int
    end: int
    tokens: int
    modified: int
    pieces_in_document: int = 1
    confidence: float = 1.0
    value: str = ""  # what a memory states of its label, with the unit
    kinds: tuple[str, ...] = ()  # of all units in it: small neighbors share a chunk; the first is `kind`

    @property
    def unit(self) -> ChunkId:
        """What has a share of an answer of its own: a document, or a message of a chat."""
        return self.id if self.kind == "chat_message" else ChunkId(self.id.document, 0)


class About(NamedTuple):
    """What can be said of a chunk without its text."""

    uri: str
    language: str
    kind: str
    modified: int
    pieces: int
    confidence: float = 1.0
    pinned: bool = False
    feedback: int = 0  # how often it was called useful, less how often it was not
    topics: tuple[str, ...] = ()
    whose: str = ""  # whom a memory is about; empty for who told it
    kinds: tuple[str, ...] = ()  # of all units in it; the first is `kind`


class Site(NamedTuple):
    """Where a document refers to a name: called, inherited from, or imported (then the name is the target as written)."""

    document: int
    name: str
    kind: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the change feed."""

    seq: int
    workspace: int
    document: int
    what: str


def access_list_id(principals: frozenset[str]) -> int:
    """The id of an access list: the same principals have the same id."""
    data = json.dumps(sorted(principals)).encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1
