"""Protocols of the record: workspaces, access lists, memories, links, topics and chats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from contextd.ports.store import Store, Waiting
from contextd.ports.world import Matrix
from contextd.values.access_token import AccessToken
from contextd.values.conversation import ChatSession, Conversation, Forgotten, Note, Said
from contextd.values.document import Parsed
from contextd.values.memory import Decided, Link, Memory, Topic, TopicChange, Version
from contextd.values.query import Reader


class Kept(NamedTuple):
    """A chat session or note to be stored: uri, language, time in microseconds, digest, parsed text and vectors."""

    uri: str
    language: str
    at: int
    digest: bytes
    parsed: Parsed
    vectors: Mapping[str, Matrix]
    said: Said = Said("")
    chain: Sequence[bytes] = ()  # for each message a digest of it and all messages before it; a note has one digest
    principals: frozenset[str] = frozenset()  # readers besides those of the whole import


class Entry(NamedTuple):
    """A memory to be saved: its document, its vectors by space, and the ids of others that it may overtake."""

    memory: Memory
    parsed: Parsed
    vectors: Mapping[str, Matrix]
    beside: Collection[str] = ()


class Memories(Protocol):
    """Facts that people stated. A write is durable when the call returns. A forgotten memory is erased."""

    def get(self, workspace: int, ids: Collection[str]) -> list[Memory]:
        """Return memories by id, in the order of `ids`. Missing memories are left out."""

    def all(self, workspace: int, reader: Reader) -> list[Memory]:
        """Return every memory a reader may see, newest first."""

    def taught(self, workspace: int, author: str) -> list[Memory]:
        """Return the memories whose kind the author set."""

    def beginning(self, workspace: int, start: str, reader: Reader) -> list[str]:
        """Return the ids that begin with `start`, of memories the reader may see."""

    def versions(self, workspace: int, memory: str) -> list[Version]:
        """Return the versions of a memory before each change, newest first."""

    def tombstones(self, workspace: int, author: str) -> list[tuple[str, str]]:
        """Return the tombstones of an author: random memory ids and clocks, nothing else."""

    def remember(
        self,
        entries: Sequence[Entry],
        decide: Callable[[Memory, Sequence[Memory]], Decided],
    ) -> list[Decided]:
        """Store memories in one transaction. `decide` gets each memory with the stored ones like it."""

    def current(self, workspace: int, author: str, principals: frozenset[str]) -> list[Memory]:
        """Return the latest memories of an author that hold, with exactly these readers."""

    def change(
        self, memory: Memory, by: str, parsed: Parsed | None = None, vectors: Mapping[str, Matrix] | None = None
    ) -> Memory:
        """Write a changed memory, and its old version to its history. `parsed` is given if the text changed."""

    def note(
        self,
        memory: Memory,
        change: Callable[[Memory], Memory],
        vectors: Mapping[str, Matrix] | None = None,
        parsed: Parsed | None = None,
    ) -> None:
        """Update fields of a memory that are not part of its text, such as guesses; also vectors, and terms if given.

        `change` gets the memory as it is stored now. If its text changed meanwhile or it was erased, nothing is written.
        """

    def vectors(self, workspace: int, memories: Collection[str]) -> dict[str, dict[str, Matrix]]:
        """Return the vectors of memories, by memory id and space."""

    def forget(self, workspace: int, memory: str) -> str:
        """Erase a memory and leave a tombstone without content. Returns `gone`, or `pending` while it is being read."""


class Relations(Protocol):
    """Links between memories, and the topics of a person."""

    def link(self, workspace: int, start: str, end: str, kind: str) -> None:
        """Link two memories."""

    def unlink(self, workspace: int, start: str, end: str, kind: str = "") -> int:
        """Remove links between two memories, in both directions. Returns the number removed."""

    def links(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """Return the links that start or end at one of the memories."""

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """Return all topics of a person, by name."""

    def used_topics(self, author: str) -> list[str]:
        """Return the topics that the memories of a person have, in every project."""

    def openly_used_topics(self, author: str, workspaces: Collection[int]) -> list[str]:
        """Return the topics of a person's memories in some workspaces that are not private."""

    def count_topic(self, author: str, name: str) -> int:
        """Return how many memories of a person have a topic, in every project."""

    def topic_authors(self, workspace: int) -> list[str]:
        """Return the people who defined, renamed or deleted a topic."""

    def topic_changes(self, author: str) -> list[TopicChange]:
        """Return the topics a person renamed, merged or deleted, oldest change first."""

    def put_topics(self, workspace: int, author: str, topics: Collection[Topic]) -> None:
        """Add topics, or change their parent. A topic without a clock gets a new one."""

    def replace_topic(self, workspace: int, author: str, name: str, new: str) -> int:
        """Replace a topic in all memories of its author. An empty `new` deletes the topic. Returns the number of memories."""


class Taken(NamedTuple):
    """The result of importing a memory from another device."""

    state: str  # added, changed, known, forgotten (a later tombstone is here), or refused (another person's memory)
    conflict: str = ""  # the losing text, now only in the history, if both were written within a minute


class Exchange(Protocol):
    """Exchange between the devices of one person. Importing the same data again, or in another order, gives the same result."""

    def aliases(self, author: str) -> Mapping[str, str]:
        """Return the clocks of an author that were ahead of real time, with their replacements. Afterwards none is ahead."""

    def told_topics(self, author: str) -> Mapping[str, tuple[str, ...]]:
        """Return the topics of memories as written, for memories whose topics were renamed or deleted since."""

    def unlinked(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """Return the removed links that started at one of the memories."""

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """Return all topics of a person as they were written."""

    def settle(self, author: str, clocks: Collection[str], aliases: Mapping[str, str]) -> Mapping[str, str]:
        """Set back clocks of an import that are more than a day ahead. Returns all aliases: original clock to new clock."""

    def restore(
        self,
        memory: Memory,
        parsed: Parsed,
        vectors: Mapping[str, Matrix],
        versions: Sequence[Version],
        reader: Reader,
        buried: str = "",
    ) -> Taken:
        """Import a memory of the reader's own, with its clock. The losing text stays in the history.

        `buried` is the clock of its tombstone in the same import.
        """

    def finish(self) -> None:
        """Wipe erased memories from disk, at the end of an import."""

    def bury(self, workspace: int, memory: str, clock: str, reader: Reader) -> bool:
        """Import a tombstone of the reader's own. Returns whether a memory was erased."""

    def relate(self, workspace: int, links: Sequence[Link], unlinked: Sequence[Link], reader: Reader) -> None:
        """Import links and removed links, from memories of the reader's own to memories the reader may see."""

    def name(self, workspace: int, author: str, topics: Sequence[Topic], changes: Sequence[TopicChange]) -> None:
        """Import topics and topic changes. Memories written before a change get its new name."""


class Chats(Store, Waiting, Protocol):
    """Imported conversations and notes. They cannot be read again, so a write is durable when the call returns."""

    def known(self, uris: Collection[str], author: str) -> Mapping[str, bytes]:
        """Return the digests of documents that an author imported before, by uri."""

    def described(self, uris: Collection[str], author: str) -> Mapping[str, tuple[Said, Sequence[bytes]]]:
        """Return metadata and message digests of an author's documents, by uri. Older documents may have neither."""

    def describe(self, kept: Sequence[Kept], author: str) -> None:
        """Add metadata to documents that were written without it."""

    def alike(self, chain: Sequence[bytes], author: str) -> Sequence[tuple[str, Sequence[bytes]]]:
        """Return the author's documents that begin with the same message: uri and message digests."""

    def forgotten(self, chains: Mapping[str, Sequence[bytes]], author: str) -> set[str]:
        """Return the uris the author has forgotten, alone or with the whole conversation; matched by uri or by messages."""

    def keep(self, kept: Sequence[Kept], author: str, principals: frozenset[str]) -> int:
        """Write documents in one transaction and replace older versions. Skips forgotten ones. Returns the number written."""

    def marks(self, author: str) -> Sequence[Forgotten]:
        """Return keyed hashes of the documents an author has forgotten."""

    def bury(self, forgotten: Forgotten, author: str) -> int:
        """Import hashes of documents forgotten on another device. Erases matches here, refuses later imports of them.

        Returns the number of erased documents.
        """

    def written(self, author: str, reader: Reader) -> Iterator[Conversation | Note]:
        """Yield every chat session and note that the author imported and the reader may see."""

    def sessions(self, reader: Reader) -> list[ChatSession]:
        """Return the chat sessions and notes a reader may see, newest first."""

    def forget(self, uris: Collection[str], place: str, author: str) -> str:
        """Erase documents of an author. Leaves a keyed hash of each, and of `place` if they are the whole conversation.

        Returns `gone`, or `pending` while they are being read.
        """


class PushedDocument(NamedTuple):
    """A document that a program pushed. `changed` is in microseconds."""

    path: str
    language: str
    changed: int


class Pushed(Store, Protocol):
    """Documents that programs pushed. A write is durable when the call returns."""

    def all(self, reader: Reader) -> list[PushedDocument]:
        """Return the documents a reader may see, by path."""

    def put(
        self,
        document: PushedDocument,
        parsed: Parsed,
        vectors: Mapping[str, Matrix],
        author: str,
        principals: frozenset[str],
    ) -> int:
        """Write a document, in place of the author's older one of that path. Returns its id."""

    def erase(self, paths: Collection[str], author: str) -> int:
        """Erase documents of an author from the disk. Returns their number."""


class AccessTokens(Protocol):
    """Access tokens of the service."""

    def all(self) -> list[AccessToken]:
        """Return every token, oldest first."""

    def get(self, token: str) -> AccessToken | None:
        """Return a token by its id."""

    def add(self, token: AccessToken) -> None:
        """Store a token. Raises `Conflict` if its name is taken."""

    def revoke(self, name: str) -> bool:
        """Delete a token by its name. Returns whether there was one."""


class Profiles(Protocol):
    """The profiles of people, as values by dotted key."""

    def get(self, author: str) -> Mapping[str, str | tuple[str, ...]]:
        """Return the values of an author's profile."""

    def set(self, author: str, key: str, value: str | tuple[str, ...]) -> None:
        """Set a value."""

    def unset(self, author: str, key: str) -> bool:
        """Remove a value. Returns whether there was one."""


class Record(Protocol):
    """The data that people wrote: durable, and not derived from other data."""

    @property
    def memories(self) -> Memories:
        """The memories."""

    @property
    def relations(self) -> Relations:
        """Links and topics."""

    @property
    def exchange(self) -> Exchange:
        """Exchange with other devices."""

    @property
    def tokens(self) -> AccessTokens:
        """Access tokens of the service."""

    @property
    def profiles(self) -> Profiles:
        """Profiles of people."""

    def workspace(self, kind: str, place: str, name: str) -> int:
        """Return the workspace of a place. Registers it if it is new."""

    def registered(self, kind: str, place: str) -> int | None:
        """Return the workspace of a place; None if it is not registered."""

    def version(self) -> Hashable:
        """Return a value that changes with every commit of any process."""

    def now(self) -> int:
        """Return the time in microseconds. If the wall clock was set back by up to a day, it is still after the last write."""

    def store(self, workspace: int) -> Store:
        """Return the documents of one workspace in the record."""

    def chats(self, workspace: int) -> Chats:
        """Return the chats and notes of one workspace."""

    def pushed(self, workspace: int) -> Pushed:
        """Return the documents that programs pushed to one workspace."""

    def living(self, workspace: int, documents: Collection[int]) -> frozenset[int]:
        """Return those of some documents that are there: memories, chats, notes and pushed documents."""

    def source_right(self, workspace: int, source: int) -> frozenset[str] | None:
        """Return who may read the documents of a source; None if that was never set."""

    def set_source_right(self, workspace: int, source: int, principals: frozenset[str]) -> None:
        """Set who may read the documents of a source."""

    def close(self) -> None:
        """Close idle connections."""
