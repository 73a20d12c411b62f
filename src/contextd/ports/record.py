"""What is asked of the record: the workspaces, rights, memories, links and topics that people wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from contextd.ports.world import Matrix, Store, Waiting
from contextd.values.conversation import ChatSession, Conversation, Forgotten, Note, Said
from contextd.values.document import Parsed
from contextd.values.memory import Decided, Link, Memory, Topic, TopicChange, Version
from contextd.values.query import Reader


class Kept(NamedTuple):
    """A text from elsewhere as it is written: where it stands among others, when it is of, and what is in it."""

    uri: str
    language: str
    at: int
    digest: bytes
    parsed: Parsed
    vectors: Mapping[str, Matrix]
    said: Said = Said("")
    chain: Sequence[bytes] = ()  # a digest for each message and all before it; a note has one
    principals: frozenset[str] = frozenset()  # readers beside those of the whole import


class Memories(Protocol):
    """Facts that people told. Durable when a call returns, gone when they are forgotten."""

    def get(self, workspace: int, ids: Collection[str]) -> list[Memory]:
        """Some memories, in the order asked for; those that are not there are left out."""

    def all(self, workspace: int, reader: Reader) -> list[Memory]:
        """Every memory a reader may see, the latest first."""

    def taught(self, workspace: int, author: str) -> list[Memory]:
        """The memories whose kind their author set."""

    def beginning(self, workspace: int, start: str, reader: Reader) -> list[str]:
        """The ids a reader may see that begin so."""

    def versions(self, workspace: int, memory: str) -> list[Version]:
        """What a memory was before each change, the latest first."""

    def tombstones(self, workspace: int, author: str) -> list[tuple[str, str]]:
        """What an author has forgotten: random ids and clocks, nothing else."""

    def remember(
        self,
        entries: Sequence[tuple[Memory, Parsed, Mapping[str, Matrix]]],
        decide: Callable[[Memory, Sequence[Memory]], Decided],
    ) -> list[Decided]:
        """Keep memories, each among those like it as `decide` says."""

    def change(
        self, memory: Memory, by: str, parsed: Parsed | None = None, vectors: Mapping[str, Matrix] | None = None
    ) -> Memory:
        """Write a changed memory, and what it was into its history; `parsed` when its text is another."""

    def note(
        self,
        memory: Memory,
        change: Callable[[Memory], Memory],
        vectors: Mapping[str, Matrix] | None = None,
        parsed: Parsed | None = None,
    ) -> None:
        """Change what is no part of what was said, such as guesses, as it is by now; with vectors, and words if these change.

        A memory that says something else by now, or is gone, is left alone.
        """

    def vectors(self, workspace: int, memories: Collection[str]) -> dict[str, dict[str, Matrix]]:
        """The vectors of some memories, by memory and space."""

    def forget(self, workspace: int, memory: str) -> str:
        """Erase a memory; a tombstone without content stays. `gone`, or `pending` while somebody reads."""


class Relations(Protocol):
    """How memories relate, and the topics a person has."""

    def link(self, workspace: int, start: str, end: str, kind: str) -> None:
        """Relate two memories."""

    def unlink(self, workspace: int, start: str, end: str, kind: str = "") -> int:
        """Take relationships between two memories back; how many there were."""

    def links(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """The relationships some memories have, whichever side they are on."""

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """All topics of a person, by name."""

    def topic_changes(self, author: str) -> list[TopicChange]:
        """The topics a person renamed, merged or deleted, in the order in which that happened."""

    def put_topics(self, workspace: int, author: str, topics: Collection[Topic]) -> None:
        """Add topics, or put them below others; each with its clock, or now."""

    def replace_topic(self, workspace: int, author: str, name: str, new: str) -> int:
        """Give what is of one topic to another, or to none; how many memories had it."""


class Taken(NamedTuple):
    """What came of a memory from another device."""

    state: str  # added, changed, known, forgotten here since, or refused: it is somebody else's
    conflict: str = ""  # the text that is only in the history now, when both were written within a minute


class Exchange(Protocol):
    """What goes between the devices of one person. Taking the same again, or in another order, ends the same."""

    def aliases(self, author: str) -> Mapping[str, str]:
        """The clocks of an author that were ahead of real time, and what they were set back to; none is ahead any more."""

    def told_topics(self, author: str) -> Mapping[str, tuple[str, ...]]:
        """The topics of memories as they were when these were written, where they are called something else by now."""

    def unlinked(self, workspace: int, memories: Collection[str]) -> list[Link]:
        """The relationships that were removed of some memories."""

    def topics(self, workspace: int, author: str) -> list[Topic]:
        """All topics of a person as they were written."""

    def settle(self, author: str, clocks: Collection[str], aliases: Mapping[str, str]) -> Mapping[str, str]:
        """Set back what of the clocks in an import is more than a day ahead; all clocks that ever were, with their aliases."""

    def restore(
        self, memory: Memory, parsed: Parsed, vectors: Mapping[str, Matrix], versions: Sequence[Version], reader: Reader
    ) -> Taken:
        """Take a memory of the reader's own with its clock; the text that loses stays in the history."""

    def finish(self) -> None:
        """Wipe what was buried, at the end of an import."""

    def bury(self, workspace: int, memory: str, clock: str, reader: Reader) -> bool:
        """Take a tombstone of the reader's own; whether something was erased."""

    def relate(self, workspace: int, links: Sequence[Link], unlinked: Sequence[Link], reader: Reader) -> None:
        """Take relationships, and those that were removed, of memories of the reader's own to such as they may read."""

    def name(self, workspace: int, author: str, topics: Sequence[Topic], changes: Sequence[TopicChange]) -> None:
        """Take topics, and those that were renamed or deleted; memories written before such a change follow it."""


class Chats(Store, Waiting, Protocol):
    """Conversations and notes from elsewhere, which cannot be read again: durable when a call returns."""

    def known(self, uris: Collection[str], author: str) -> Mapping[str, bytes]:
        """The digests of those that an author has taken in before, by uri."""

    def described(self, uris: Collection[str], author: str) -> Mapping[str, tuple[Said, Sequence[bytes]]]:
        """What is kept of an author's beside the text, and the digests of their messages; older ones may have neither."""

    def describe(self, kept: Sequence[Kept], author: str) -> None:
        """Add what is kept beside the text to documents that were written without it."""

    def alike(self, chain: Sequence[bytes], author: str) -> Sequence[tuple[str, Sequence[bytes]]]:
        """The author's documents that begin with the same message, by uri, with the digests of their messages."""

    def forgotten(self, chains: Mapping[str, Sequence[bytes]], author: str) -> set[str]:
        """Those that their author has forgotten, alone or with the whole conversation, by uri or by what was said."""

    def keep(self, kept: Sequence[Kept], author: str, principals: frozenset[str]) -> int:
        """Write some in one transaction, in place of what they were before; how many. What was forgotten meanwhile stays so."""

    def marks(self, author: str) -> Sequence[Forgotten]:
        """What an author has forgotten, as keyed hashes."""

    def bury(self, forgotten: Forgotten, author: str) -> int:
        """Forget what an author has forgotten on another device, and keep it out; how many were erased here."""

    def written(self, author: str, reader: Reader) -> Iterator[Conversation | Note]:
        """Every sitting and note that an author took in and may read, as it was told."""

    def sessions(self, reader: Reader) -> list[ChatSession]:
        """All that a reader may see, the latest first."""

    def forget(self, uris: Collection[str], place: str, author: str) -> str:
        """Erase some of an author's; a mark without content stays for each, and for `place` if they are all of it."""


class Record(Protocol):
    """What a person wrote."""

    @property
    def memories(self) -> Memories:
        """The facts."""

    @property
    def relations(self) -> Relations:
        """Links and topics."""

    @property
    def exchange(self) -> Exchange:
        """What goes between devices."""

    def workspace(self, kind: str, place: str, name: str) -> int:
        """The workspace of a place, registered when it is new."""

    def registered(self, kind: str, place: str) -> int | None:
        """The workspace of a place, if there is one."""

    def now(self) -> int:
        """The time in microseconds; not before the last write while the wall clock is back by a day at the most."""

    def store(self, workspace: int) -> Store:
        """The documents of one workspace in the record."""

    def chats(self, workspace: int) -> Chats:
        """The chats and notes of one workspace."""

    def source_right(self, workspace: int, source: int) -> frozenset[str] | None:
        """Who may read the documents of a source, if anybody said."""

    def set_source_right(self, workspace: int, source: int, principals: frozenset[str]) -> None:
        """Say who may read the documents of a source."""

    def close(self) -> None:
        """Close what is open."""
