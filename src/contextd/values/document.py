"""Documents and their chunks, from bytes to rows: values only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

OWNER = "owner"

EVERYONE = "everyone"

MEMORIES = 1  # source id of all memories

CHATS = 2  # source id of all imported chats and notes

PUSHED = 3  # source id of all documents that programs pushed

COMMIT = "commit"  # language of a commit as a document

MEMORY = "memory"  # language of a memory

CHAT = "chat"  # language of a chat session


class ChunkId(NamedTuple):
    """The id of a chunk at one moment; not stable across edits."""

    document: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk as a chunker returns it: a span of the stored text, without its document."""

    start: int
    end: int
    start_line: int
    end_line: int
    kind: str  # of the largest unit in it, then of the others, separated by spaces
    label: str = ""
    heading: tuple[str, ...] = ()
    tokens: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Find:
    """A secret that was scrubbed: its line and the rule, never the secret."""

    line: int
    rule: str


class Definition(NamedTuple):
    """A name that a document defines, qualified by the definitions around it, with first and last line."""

    label: str
    kind: str
    line: int
    end_line: int


CALL, INHERIT, IMPORT = 0, 1, 2  # how code refers to a name


class Reference(NamedTuple):
    """A name that a document refers to, how, and on which lines. For an import, the target as written."""

    name: str
    kind: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text after scrubbing and chunking. `words` holds one encoded term list per chunk."""

    text: str
    pieces: tuple[Piece, ...]
    words: tuple[bytes, ...]
    finds: tuple[Find, ...] = ()
    warnings: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """One document for the parser: its bytes and its language."""

    uri: str
    data: bytes
    language: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of parsing one document: the parsed document, or an error."""

    raw: Raw
    parsed: Parsed | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """File metadata that shows, without reading, whether a file has changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as stored, without its text."""

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
    """The retrievable part of a document, as a reader gets it."""

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
    value: str = ""  # value of a memory's attribute, with the unit
    told_by: str = ""  # the author of a memory, if that is not the reader
    stated: bool = True  # whether a person stated or verified a memory, and not only a program
    kinds: tuple[str, ...] = ()  # of all units in it, since small neighbors share a chunk; the first is `kind`
    document_length: int = 0  # characters of the whole document; 0 if it is no file

    @property
    def as_told(self) -> str:
        """The text, for a memory of somebody else behind the name of its author."""
        return f"{self.told_by}: {self.text}" if self.told_by else self.text

    @property
    def is_memory(self) -> bool:
        """Whether it is a memory, of whatever kind. By the language, since a file may be named like one."""
        return self.language == MEMORY

    @property
    def unit(self) -> ChunkId:
        """The id that counts as one result: a document, or a message of a chat."""
        return self.id if self.kind == "chat_message" else ChunkId(self.id.document, 0)


class About(NamedTuple):
    """Metadata of a chunk, without its text."""

    uri: str
    language: str
    kind: str
    modified: int
    pieces: int
    confidence: float = 1.0
    pinned: bool = False
    feedback: int = 0  # number of useful ratings minus useless ones
    topics: tuple[str, ...] = ()
    whose: str = ""  # whom a memory is about; empty for its author
    stated_by: str = ""  # the person who stated or verified a memory; empty if only a program did
    kinds: tuple[str, ...] = ()  # of all units in it; the first is `kind`


class Site(NamedTuple):
    """A place where a document refers to a name: called, inherited from, or imported (then `name` is the target as written)."""

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
    from hashlib import blake2b  # loaded on use: commands that ask the service do not need it

    data = json.dumps(sorted(principals)).encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1
