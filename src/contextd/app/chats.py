"""Everything a person can do with conversations and notes beside asking for them: take them in, list them, forget them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from contextd.errors import Forbidden, NotFound, Unavailable
from contextd.importing import pipeline
from contextd.importing.pipeline import ImportReport, Read
from contextd.indexing.embed import embed_missing
from contextd.ports.record import Chats
from contextd.ports.world import Embedder, Matrix, Tokens, pair_space
from contextd.privacy.formats import Rule
from contextd.values.conversation import ChatSession, Conversation, Message, Note
from contextd.values.query import Reader

FORMAT = 1  # of an export
_LINE = 1 << 20  # characters of messages on a line of an export
_MARKS = 10_000  # marks of forgotten chats on a line
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The same model for messages together with what was said before them: a space of its own beside the deep one."""

    embedder: Embedder

    @property
    def space(self) -> str:
        """Named after the deep space, in which a question has the same vector."""
        return pair_space(self.embedder.space)

    @property
    def dimension(self) -> int:
        """As that of the model."""
        return self.embedder.dimension

    def documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text."""
        return self.embedder.documents(texts)

    def query(self, text: str) -> Matrix:
        """The vector of a question."""
        return self.embedder.query(text)


@dataclass(frozen=True, slots=True)
class ChatService:
    """The conversations and notes of one reader in one workspace."""

    kept: Chats
    reader: Reader
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    tokens: Tokens
    rules: Sequence[Rule] = ()

    def take(
        self,
        read: Iterable[Read],
        *,
        principals: Iterable[str] = (),
        dry_run: bool = False,
        progress: Callable[[ImportReport], None] = lambda _: None,
    ) -> ImportReport:
        """Keep conversations and notes; findable by words and static vectors when this returns, by who takes them."""
        readers = frozenset(principals) | {self.reader.name}
        means = pipeline.ImportResources(self.kept, self.static, self.tokens, self.reader.name, readers, self.rules)
        return pipeline.take(read, means, dry_run=dry_run, progress=progress)

    def deepen(self, report: Callable[[int], None] = lambda _: None, go_on: Callable[[], bool] = lambda: True) -> int:
        """Give deep vectors to what has none yet, the newest first; how many pieces got one."""
        deep = self.deep()
        if deep is None:
            raise Unavailable("the deep model is not installed; run `contextd models fetch`")
        alone = embed_missing(self.kept, deep, report, go_on)
        return alone + embed_missing(self.kept, Pairs(deep), lambda done: report(alone + done), go_on)

    def all(self) -> list[ChatSession]:
        """Every sitting and note this reader may see, the latest first."""
        return self.kept.sessions(self.reader)

    def forget(self, name: str) -> tuple[int, str]:
        """Erase a conversation with its sittings and branches, or one sitting or note: how many, and `gone` or `pending`."""
        seen = [one.uri for one in self.all() if one.uri == name or one.uri.startswith((f"{name}#", f"{name}/branch-"))]
        found = list(self.kept.known(seen, self.reader.name))
        if seen and not found:
            raise Forbidden(f"{name!r} was imported by another reader; only that reader can delete it")
        if not found:
            raise NotFound(f"no such chat: {name!r}; run `contextd chats` for a list")
        return len(found), self.kept.forget(found, name, self.reader.name)

    def exported(self) -> Iterator[dict[str, Any]]:
        """Everything this reader took in, a line each, for another device: marks of what was forgotten, sittings and notes."""
        yield {"contextd_chats": FORMAT, "exported": datetime.now(UTC).isoformat(timespec="seconds")}
        for one in self.kept.marks(self.reader.name):
            for start in range(0, len(one.marks), _MARKS):
                yield {"forgotten": list(one.marks[start : start + _MARKS]), "key": one.key}
        for told in self.kept.written(self.reader.name, self.reader):
            yield from _lines(told)


def _lines(told: Conversation | Note) -> Iterator[dict[str, Any]]:
    """A note on a line; a sitting on one or more, of which all but the last say that there is `more`."""
    if isinstance(told, Note):
        yield {"note": told.place, "title": told.title, "text": told.text, "at": _iso(told.at), **_readers(told)}
        return
    about = {"place": told.place, "sitting": told.sitting, "name": told.name, "title": told.title, **_readers(told)}
    batch, size = list[dict[str, Any]](), 0
    for message in told.messages:
        if size > _LINE:
            yield {**about, "messages": batch, "more": True}
            batch, size = [], 0
        batch.append(_message(message))
        size += len(message.text)
    yield {**about, "messages": batch}


def _message(one: Message) -> dict[str, Any]:
    return {"author": one.author, "role": one.role, "at": _iso(one.at), "text": one.text}


def _readers(told: Conversation | Note) -> dict[str, list[str]]:
    return {"principals": sorted(told.principals)}


def _iso(microseconds: int) -> str | None:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat() if microseconds else None
