"""IMPORT ► sources ► privacy ► recognize ► chunking ► models ► stores.

This module alone defines the order of the steps. Conversations are processed one at a time, so that an export of any size fits
in memory. Unchanged documents are skipped, so that a second import does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b

from contextd.chunking.chat import cut_chat, sittings
from contextd.chunking.cut import Limits
from contextd.chunking.dispatch import chunk
from contextd.chunking.nicknames import nicknames
from contextd.errors import Unavailable
from contextd.importing.recognize import chain, chain_of_note, continues
from contextd.ports.record import Chats, Kept
from contextd.ports.world import Embedder, Tokens
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.text.indexed_text import texts_of, words_of
from contextd.values.conversation import Conversation, Forgotten, Message, Note, Said, Unread, told_apart
from contextd.values.document import CHAT, Find, Parsed, Piece

_BATCH = 32  # chat sessions per transaction: what a crash costs

Read = Conversation | Note | Forgotten | Unread


@dataclass(frozen=True, slots=True)
class ImportResources:
    """The store, models and settings of an import."""

    chats: Chats
    static: Embedder | None
    tokens: Tokens
    author: str
    principals: frozenset[str]
    rules: Sequence[Rule] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True)
class ImportReport:
    """Counts and warnings of an import."""

    conversations: int = 0
    notes: int = 0
    messages: int = 0
    written: int = 0  # chat sessions and notes
    unchanged: int = 0
    forgotten: int = 0  # sessions and notes that were forgotten before and stay so
    erased: int = 0  # sessions and notes that were forgotten on another device
    secrets: int = 0
    unread: list[Unread] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def take(
    read: Iterable[Read],
    resources: ImportResources,
    *,
    dry_run: bool = False,
    progress: Callable[[ImportReport], None] = lambda _: None,
) -> ImportReport:
    """Import everything that is read. With `dry_run`, only count what would be imported."""
    run = Run(resources, dry_run, progress)
    for one in read:
        if isinstance(one, Unread):
            run.report.unread.append(
                replace(one, place=_clean(one.place, resources)[0], reason=_clean(one.reason, resources)[0])
            )
        elif isinstance(one, Forgotten):
            run.report.erased += 0 if dry_run else resources.chats.bury(one, resources.author)
        else:
            run.report.conversations += isinstance(one, Conversation) and one.sitting <= 1
            run.report.notes += isinstance(one, Note)
            for draft in _recognized(one, run):
                run.waiting.append(_parsed_draft(draft, resources))
                if len(run.waiting) >= _BATCH:
                    run.write()
    run.write()
    return run.report


@dataclass(slots=True)
class Run:
    """State of one import: the report so far, documents waiting to be written, and known names of conversations."""

    resources: ImportResources
    dry_run: bool
    progress: Callable[[ImportReport], None]
    report: ImportReport = field(default_factory=ImportReport)
    waiting: list[Kept] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """Write the waiting documents."""
        _write(self.waiting, self.resources, self.report, dry_run=self.dry_run)
        self.progress(self.report)

    def settle(self, uris: Collection[str], chains: Iterable[Sequence[bytes]] = ()) -> None:
        """Write the waiting documents if one may equal a given document, so that the comparison is with stored data."""
        firsts = {chain[0] for chain in chains}
        if any(kept.uri in uris or kept.chain[0] in firsts for kept in self.waiting):
            self.write()


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A chat session or a note as it was read."""

    uri: str
    at: int
    title: str
    content: Sequence[Message] | str

    @property
    def digest(self) -> bytes:
        """Return a hash of everything that was read."""
        content, parts = self.content, [self.at, self.title]
        parts += [content] if isinstance(content, str) else [[(one.author, one.role, one.at, one.text) for one in content]]
        return blake2b(json.dumps(parts).encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Draft:
    """A chat session or note after scrubbing, with the digests by which it is recognized."""

    document: ReadDocument
    uri: str
    title: str
    content: Sequence[Message] | str
    finds: Sequence[Find]
    name: str | None
    chain: Sequence[bytes]
    principals: frozenset[str]
    nicknames: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of the authors, from the whole conversation


def _recognized(one: Conversation | Note, run: Run) -> Iterator[Draft]:
    """Yield the new or changed documents of a conversation or note."""
    resources, documents = run.resources, list(_documents(one, run.resources))
    uris = [document.uri for document in documents]
    run.settle(uris)
    known, described = resources.chats.known(uris, resources.author), resources.chats.described(uris, resources.author)
    same = {document.uri for document in documents if known.get(document.uri) == document.digest}
    run.report.messages += sum(0 if isinstance(document.content, str) else len(document.content) for document in documents)
    run.report.unchanged += len(same)
    drafts = [
        _scrubbed(document, one, resources)
        for document in documents
        if document.uri not in same or document.uri not in described
    ]
    if not run.dry_run:
        older = [draft for draft in drafts if draft.uri in same]  # written by a version that stored less
        resources.chats.describe([_parsed_draft(draft, resources, chunked=False) for draft in older], resources.author)
    called = nicknames([message for draft in drafts if not isinstance(draft.content, str) for message in draft.content])
    fresh = [replace(draft, nicknames=called) for draft in drafts if draft.uri not in same]
    if fresh:
        run.settle((), (draft.chain for draft in fresh))
        yield from _new(fresh if known else _with_stored_names(fresh, run), run)


def _new(drafts: Sequence[Draft], run: Run) -> Iterator[Draft]:
    resources, report = run.resources, run.report
    gone = resources.chats.forgotten({draft.uri: draft.chain for draft in drafts}, resources.author)
    held = resources.chats.described([draft.uri for draft in drafts], resources.author)
    for draft in drafts:
        if draft.uri in gone:
            report.forgotten += 1
        elif draft.uri in held and _adds_nothing(draft, *held[draft.uri]):
            report.unchanged += 1
        else:
            report.secrets += len(draft.finds)
            yield draft


def _adds_nothing(draft: Draft, said: Said, held: Sequence[bytes]) -> bool:
    """Return whether the stored document is as long or longer: an older export removes nothing."""
    more = len(held) - len(draft.chain)
    return continues(draft.chain, held) and (more > 0 or (more == 0 and said.title == draft.title))


def _with_stored_names(drafts: Sequence[Draft], run: Run) -> Sequence[Draft]:
    """Rename the documents to the stored name of the conversation, if it was imported from a file of another name before."""
    if place := run.names.get(drafts[0].uri.rpartition("#")[0]):
        return _renamed(drafts, place)
    for draft in drafts if drafts[0].name is not None or isinstance(drafts[0].content, str) else ():
        for uri, held in run.resources.chats.alike(draft.chain, run.resources.author):
            if isinstance(draft.content, str):
                if uri.rpartition("/")[2] == draft.uri.rpartition("/")[2]:  # another page may have the same text
                    return [replace(draft, uri=uri)]
            elif continues(draft.chain, held):
                run.names[draft.uri.rpartition("#")[0]] = uri.rpartition("#")[0]  # for sessions that are read one by one
                return _renamed(drafts, uri.rpartition("#")[0])
    return drafts


def _renamed(drafts: Sequence[Draft], place: str) -> list[Draft]:
    return [replace(draft, uri=f"{place}#{draft.uri.rpartition('#')[2]}") for draft in drafts]


def _documents(one: Conversation | Note, resources: ImportResources) -> Iterator[ReadDocument]:
    """Yield the documents of a conversation or note: one per chat session."""
    place = _place(one, resources)
    if isinstance(one, Note):
        yield ReadDocument(f"note:{place}", one.at, one.title, one.text)
        return
    filled = [message for message in one.messages if message.text.strip()]
    parts = ([filled] if filled else []) if one.sitting else sittings(filled)
    for number, messages in enumerate(parts, one.sitting or 1):
        at = next((message.at for message in messages if message.at), 0)
        yield ReadDocument(f"chat:{place}#{number}", at, one.title, messages)


def _place(one: Conversation | Note, resources: ImportResources) -> str:
    """Return the scrubbed name. Names that differ only in a secret get a hash of their first message."""
    place, finds = _clean(one.place, resources)
    if not finds:
        return place
    first = one.text if isinstance(one, Note) else "".join(message.text for message in one.messages[:1])
    return told_apart(place, _clean(first, resources)[0])


def _scrubbed(document: ReadDocument, one: Conversation | Note, resources: ImportResources) -> Draft:
    """Scrub a document: its text and all other fields."""
    title = _clean(document.title, resources)[0]
    principals = _readers(one.principals, resources)
    if isinstance(document.content, str):
        text, finds = _clean(document.content, resources)
        return Draft(document, document.uri, title, text, finds, None, chain_of_note(text), principals)
    clean, finds = list[Message](), list[Find]()
    for message in document.content:
        text, found = _clean(message.text, resources)
        author, role = (_clean_name(field, tuple(resources.rules)) for field in (message.author, message.role))
        clean.append(replace(message, text=text, author=author, role=role))
        finds += found
    name = None if isinstance(one, Note) or one.name is None else _clean(one.name, resources)[0]
    seed = document.uri.rpartition("#")[0] if name is None else f"\n{name}"
    return Draft(document, document.uri, title, clean, finds, name, chain(seed, clean), principals)


def _readers(principals: frozenset[str], resources: ImportResources) -> frozenset[str]:
    """Return the readers of the exported document, if the export was made by a reader of the same name; else none."""
    return frozenset(one for one in principals if resources.author in principals and not _clean(one, resources)[1])


def _parsed_draft(draft: Draft, resources: ImportResources, *, chunked: bool = True) -> Kept:
    """Return a document cut into chunks, as it is stored."""
    is_note = isinstance(draft.content, str)
    parsed = (_note(draft, resources) if is_note else _sitting(draft, resources)) if chunked else Parsed("", (), ())
    turns = () if isinstance(draft.content, str) else [_turn(message) for message in draft.content]
    said, language = Said(draft.title, draft.name, turns), "markdown" if is_note else CHAT
    at, digest = draft.document.at, draft.document.digest
    return Kept(draft.uri, language, at, digest, parsed, {}, said, draft.chain, draft.principals)


def _turn(message: Message) -> tuple[str, str, int, int]:
    return message.author, message.role, message.at, message.text.strip("\n").count("\n") + 1


def _sitting(draft: Draft, resources: ImportResources) -> Parsed:
    messages = [] if isinstance(draft.content, str) else draft.content
    text, pieces = cut_chat(messages, draft.title, resources.limits.prose, resources.tokens.count, draft.nicknames)
    return _parsed(text, pieces, draft.finds)


def _note(draft: Draft, resources: ImportResources) -> Parsed:
    text, above = str(draft.content), (draft.title,) if draft.title else ()
    pieces = chunk(text, "markdown", resources.limits, resources.tokens.count)
    return _parsed(text, [replace(piece, heading=(*above, *piece.heading)) for piece in pieces], draft.finds)


def _clean(text: str, resources: ImportResources) -> tuple[str, list[Find]]:
    return scrub_text(_readable(text).replace("\r\n", "\n"), resources.rules)


@lru_cache(maxsize=4096)
def _clean_name(text: str, rules: tuple[Rule, ...]) -> str:
    """Scrub a short text that repeats with every message."""
    return scrub_text(_readable(text), rules)[0]


def _readable(text: str) -> str:
    """Replace characters that cannot be stored (lone surrogates, NUL) by a mark."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _parsed(text: str, pieces: Sequence[Piece], finds: Sequence[Find]) -> Parsed:
    return Parsed(text, tuple(pieces), tuple(words_of(piece, text) for piece in pieces), tuple(finds))


def _write(waiting: list[Kept], resources: ImportResources, report: ImportReport, *, dry_run: bool) -> None:
    """Embed and store the waiting documents. Without a model they are stored without vectors."""
    written = [one for one in waiting if one.parsed.pieces]
    waiting.clear()
    report.written += len(written)
    if dry_run or not written:
        return
    texts = [texts_of(one.parsed) for one in written]
    if resources.static is not None:
        try:
            matrix = resources.static.documents([text for several in texts for text in several])
        except Unavailable as error:
            report.warnings.append(str(error))
        else:
            starts = [0]
            for several in texts:
                starts.append(starts[-1] + len(several))
            space = resources.static.space
            written = [
                one._replace(vectors={space: matrix[a:b]}) for one, a, b in zip(written, starts, starts[1:], strict=False)
            ]
    kept = resources.chats.keep(written, resources.author, resources.principals)
    report.written, report.forgotten = report.written - len(written) + kept, report.forgotten + len(written) - kept
