"""Conversations and notes of a person: import, list, export, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from contextd.errors import Forbidden, NotFound, Unavailable
from contextd.importing import pipeline
from contextd.importing.pipeline import ImportReport, Read
from contextd.indexing.embed import embed_missing
from contextd.ports.record import Chats
from contextd.ports.world import Embedder, Matrix, Tokens, pair_space
from contextd.privacy.formats import Rule
from contextd.values.conversation import FORMAT, HEADER, ChatSession, Conversation, Message, Note
from contextd.values.query import Reader

_LINE = 1 << 20  # characters of messages on a line of an export
_MARKS = 10_000  # marks of forgotten chats on a line
USER = "user"  # role of a message
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UserMessage(NamedTuple):
    """A message of the user: the uri of its chat session, its time (0 if unknown), and its text."""

    uri: str
    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """The deep model applied to messages together with the message before: a separate space beside the deep one."""

    embedder: Embedder

    @property
    def space(self) -> str:
        """Named after the deep space, in which a query has the same vector."""
        return pair_space(self.embedder.space)

    @property
    def dimension(self) -> int:
        """As that of the model."""
        return self.embedder.dimension

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text."""
        return self.embedder.documents(texts)

    def query(self, text: str) -> Matrix:
        """Return the vector of a query."""
        return self.embedder.query(text)


@dataclass(frozen=True, slots=True)
class ChatService:
    """The conversations and notes of one reader in one workspace."""

    store: Chats
    reader: Reader
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    tokens: Tokens
    rules: Sequence[Rule] = ()
    on_erase: Callable[[], None] = lambda: None  # as of MemoryService
    forgotten: Callable[[str, str], None] = lambda uri, text: None  # told of a chat that was erased

    def take(
        self,
        read: Iterable[Read],
        *,
        principals: Iterable[str] = (),
        dry_run: bool = False,
        progress: Callable[[ImportReport], None] = lambda _: None,
    ) -> ImportReport:
        """Import conversations and notes. When this returns, readers find them by words and static vectors."""
        readers = frozenset(principals) | {self.reader.name}
        resources = pipeline.ImportResources(self.store, self.static, self.tokens, self.reader.name, readers, self.rules)
        return pipeline.take(read, resources, dry_run=dry_run, progress=progress)

    def deepen(self, report: Callable[[int], None] = lambda _: None, go_on: Callable[[], bool] = lambda: True) -> int:
        """Add missing deep vectors, newest chats first. Returns the number of chunks. Raises Unavailable without a model."""
        deep = self.deep()
        if deep is None:
            raise Unavailable("the deep model is not installed; run `contextd models fetch`")
        alone = embed_missing(self.store, deep, report, go_on)
        return alone + embed_missing(self.store, Pairs(deep), lambda done: report(alone + done), go_on)

    def all(self) -> list[ChatSession]:
        """Return every chat session and note this reader may see, newest first."""
        return self.store.sessions(self.reader)

    def said_by_user(self) -> Iterator[UserMessage]:
        """Yield the messages of the user in chats with an assistant that this reader imported.

        In a chat in which several people have that role, it is not known who of them the user is.
        """
        for one in self.store.written(self.reader.name, self.reader):
            if isinstance(one, Conversation) and len({each.author for each in one.messages if each.role == USER}) == 1:
                uri = f"chat:{one.place}#{one.sitting}"
                yield from (UserMessage(uri, each.at, each.text) for each in one.messages if each.role == USER)

    def forget(self, name: str) -> tuple[int, str]:
        """Erase a conversation with sessions and branches, or one session or note. Returns the count, `gone` or `pending`."""
        seen = [one.uri for one in self.all() if one.uri == name or one.uri.startswith((f"{name}#", f"{name}/branch-"))]
        found = list(self.store.known(seen, self.reader.name))
        if seen and not found:
            raise Forbidden(f"{name!r} was imported by another reader; only that reader can delete it")
        if not found:
            raise NotFound(f"no such chat: {name!r}; run `contextd chats` for a list")
        state = self.store.forget(found, name, self.reader.name)
        self.on_erase()
        for uri in found:
            self.forgotten(uri, "")
        return len(found), state

    def exported(self) -> Iterator[dict[str, Any]]:
        """Yield everything this reader imported as JSON lines, for another device: forgotten marks, sessions and notes."""
        yield {HEADER: FORMAT, "exported": datetime.now(UTC).isoformat(timespec="seconds")}
        for one in self.store.marks(self.reader.name):
            for start in range(0, len(one.marks), _MARKS):
                yield {"forgotten": list(one.marks[start : start + _MARKS]), "key": one.key}
        for document in self.store.written(self.reader.name, self.reader):
            yield from _lines(document)


def _lines(document: Conversation | Note) -> Iterator[dict[str, Any]]:
    """Yield a note as one line, or a session as one or more; all but the last have `more`."""
    if isinstance(document, Note):
        yield {
            "note": document.place,
            "title": document.title,
            "text": document.text,
            "at": _iso(document.at),
            **_readers(document),
        }
        return
    about = {
        "place": document.place,
        "sitting": document.sitting,
        "name": document.name,
        "title": document.title,
        **_readers(document),
    }
    batch, size = list[dict[str, Any]](), 0
    for message in document.messages:
        if size > _LINE:
            yield {**about, "messages": batch, "more": True}
            batch, size = [], 0
        batch.append(_message(message))
        size += len(message.text)
    yield {**about, "messages": batch}


def _message(one: Message) -> dict[str, Any]:
    return {"author": one.author, "role": one.role, "at": _iso(one.at), "text": one.text}


def _readers(document: Conversation | Note) -> dict[str, list[str]]:
    return {"principals": sorted(document.principals)}


def _iso(microseconds: int) -> str | None:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat() if microseconds else None
