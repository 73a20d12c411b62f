"""IMPORT: conversation ► scrub ► chunk ► embed ► store.

The one page that knows the order of the steps. One conversation at a time, so that an export of any size fits in memory;
what is here already and has not changed is left alone, so that a second import does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from contextd.chunking.chat import cut_chat, sittings
from contextd.chunking.cut import Limits
from contextd.chunking.dispatch import chunk
from contextd.conversation import Conversation, Message, Note, Unread
from contextd.errors import Unavailable
from contextd.pieces import texts_of, words_of
from contextd.ports import Embedder, Tokens
from contextd.record_ports import Chats, Kept
from contextd.scrub import scrub_text
from contextd.scrub_rules import Rule
from contextd.types import CHAT, Find, Parsed, Piece

_BATCH = 32  # sittings in one transaction: what a crash costs

Read = Conversation | Note | Unread


@dataclass(frozen=True, slots=True)
class Means:
    """What an import is done with."""

    chats: Chats
    static: Embedder | None
    tokens: Tokens
    author: str
    principals: frozenset[str]
    rules: Sequence[Rule] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True)
class Taken:
    """What came of an import."""

    conversations: int = 0
    notes: int = 0
    messages: int = 0
    written: int = 0  # sittings and notes
    unchanged: int = 0
    forgotten: int = 0
    secrets: int = 0
    unread: list[Unread] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def take(
    read: Iterable[Read], means: Means, *, dry_run: bool = False, progress: Callable[[Taken], None] = lambda _: None
) -> Taken:
    """Keep what is read; of a dry run, only say what would be kept."""
    taken, waiting = Taken(), list[Kept]()
    for one in read:
        if isinstance(one, Unread):
            taken.unread.append(one)
            continue
        taken.conversations += isinstance(one, Conversation)
        taken.notes += isinstance(one, Note)
        documents = list(_documents(one))
        uris = [uri for uri, _, _ in documents]
        known, gone = means.chats.known(uris, means.author), means.chats.forgotten(uris, means.author)
        for uri, at, text in documents:
            if uri in gone:
                taken.forgotten += 1
            else:
                _judge(uri, at, text, known, means, taken, waiting)
        if len(waiting) >= _BATCH:
            _write(waiting, means, taken, dry_run=dry_run)
            progress(taken)
    _write(waiting, means, taken, dry_run=dry_run)
    progress(taken)
    return taken


Text = tuple[str, Sequence[Message] | str]  # a title, and messages or the text of a note


def _documents(one: Conversation | Note) -> Iterator[tuple[str, int, Text]]:
    """The documents of what was read: every sitting of a conversation is one."""
    if isinstance(one, Note):
        yield _readable(f"note:{one.place}"), one.at, (one.title, one.text)
        return
    said = [message for message in one.messages if message.text.strip()]
    for number, messages in enumerate(sittings(said), 1):
        at = next((message.at for message in messages if message.at), 0)
        yield _readable(f"chat:{one.place}#{number}"), at, (one.title, messages)


def _judge(uri: str, at: int, text: Text, known: Mapping[str, bytes], means: Means, taken: Taken, waiting: list[Kept]) -> None:
    """Whether a document is new, changed, or the same as before."""
    title, content = text
    taken.messages += 0 if isinstance(content, str) else len(content)
    digest = _digest(at, title, content)
    if known.get(uri) == digest:
        taken.unchanged += 1
    else:
        language = "markdown" if isinstance(content, str) else CHAT
        parsed = _note(title, content, means) if isinstance(content, str) else _sitting(title, content, means)
        taken.secrets += len(parsed.finds)
        waiting.append(Kept(uri, language, at, digest, parsed, {}))


def _sitting(title: str, messages: Sequence[Message], means: Means) -> Parsed:
    clean, finds = list[Message](), list[Find]()
    for message in messages:
        text, found = _clean(message.text, means)
        clean.append(replace(message, text=text, author=_clean(message.author, means)[0]))
        finds += found
    text, pieces = cut_chat(clean, _clean(title, means)[0], means.limits.prose, means.tokens.count)
    return _parsed(text, pieces, finds)


def _note(title: str, text: str, means: Means) -> Parsed:
    text, finds = _clean(text, means)
    pieces = chunk(text, "markdown", means.limits, means.tokens.count)
    above = (_clean(title, means)[0],) if title else ()
    return _parsed(text, [replace(piece, heading=(*above, *piece.heading)) for piece in pieces], finds)


def _clean(text: str, means: Means) -> tuple[str, list[Find]]:
    return scrub_text(_readable(text).replace("\r\n", "\n"), means.rules)


def _readable(text: str) -> str:
    """A text that can be written down: what is no letter in any encoding becomes a mark."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _parsed(text: str, pieces: Sequence[Piece], finds: Sequence[Find]) -> Parsed:
    return Parsed(text, tuple(pieces), tuple(words_of(piece, text) for piece in pieces), tuple(finds))


def _digest(at: int, title: str, content: Sequence[Message] | str) -> bytes:
    told = content if isinstance(content, str) else [(one.author, one.role, one.at, one.text) for one in content]
    return blake2b(json.dumps([at, title, told]).encode("utf-8", "replace"), digest_size=16).digest()


def _write(waiting: list[Kept], means: Means, taken: Taken, *, dry_run: bool) -> None:
    """Embed and keep what waits; without a model it is found by words."""
    written = [one for one in waiting if one.parsed.pieces]
    waiting.clear()
    taken.written += len(written)
    if dry_run or not written:
        return
    texts = [texts_of(one.parsed) for one in written]
    if means.static is not None:
        try:
            matrix = means.static.documents([text for several in texts for text in several])
        except Unavailable as error:
            taken.warnings.append(str(error))
        else:
            starts = [0]
            for several in texts:
                starts.append(starts[-1] + len(several))
            space = means.static.space
            written = [
                one._replace(vectors={space: matrix[a:b]}) for one, a, b in zip(written, starts, starts[1:], strict=False)
            ]
    kept = means.chats.keep(written, means.author, means.principals)
    taken.written, taken.forgotten = taken.written - len(written) + kept, taken.forgotten + len(written) - kept
