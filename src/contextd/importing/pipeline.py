"""IMPORT ► sources ► privacy ► recognize ► chunking ► models ► stores.

The one page that knows the order of the steps. One conversation at a time, so that an export of any size fits in memory;
what is here already and has not changed is left alone, so that a second import does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b

from contextd.chunking.chat import cut_chat, sittings
from contextd.chunking.cut import Limits
from contextd.chunking.dispatch import chunk
from contextd.errors import Unavailable
from contextd.importing.recognize import chain, chain_of_note, continues
from contextd.ports.record import Chats, Kept
from contextd.ports.world import Embedder, Tokens
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.text.indexed_text import texts_of, words_of
from contextd.values.conversation import Conversation, Forgotten, Message, Note, Said, Unread, told_apart
from contextd.values.document import CHAT, Find, Parsed, Piece

_BATCH = 32  # sittings in one transaction: what a crash costs

Read = Conversation | Note | Forgotten | Unread


@dataclass(frozen=True, slots=True)
class ImportResources:
    """What an import is done with."""

    chats: Chats
    static: Embedder | None
    tokens: Tokens
    author: str
    principals: frozenset[str]
    rules: Sequence[Rule] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True)
class ImportReport:
    """What came of an import."""

    conversations: int = 0
    notes: int = 0
    messages: int = 0
    written: int = 0  # sittings and notes
    unchanged: int = 0
    forgotten: int = 0  # sittings and notes that stay forgotten
    erased: int = 0  # that were forgotten on another device
    secrets: int = 0
    unread: list[Unread] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def take(
    read: Iterable[Read],
    means: ImportResources,
    *,
    dry_run: bool = False,
    progress: Callable[[ImportReport], None] = lambda _: None,
) -> ImportReport:
    """Keep what is read; of a dry run, only say what would be kept."""
    run = Run(means, dry_run, progress)
    for one in read:
        if isinstance(one, Unread):
            run.taken.unread.append(replace(one, place=_clean(one.place, means)[0], reason=_clean(one.reason, means)[0]))
        elif isinstance(one, Forgotten):
            run.taken.erased += 0 if dry_run else means.chats.bury(one, means.author)
        else:
            run.taken.conversations += isinstance(one, Conversation) and one.sitting <= 1
            run.taken.notes += isinstance(one, Note)
            for draft in _recognized(one, run):
                run.waiting.append(_parsed_draft(draft, means))
                if len(run.waiting) >= _BATCH:
                    run.write()
    run.write()
    return run.taken


@dataclass(slots=True)
class Run:
    """One import: what came of it so far, what waits to be written, and the names that conversations have here already."""

    means: ImportResources
    dry_run: bool
    progress: Callable[[ImportReport], None]
    taken: ImportReport = field(default_factory=ImportReport)
    waiting: list[Kept] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """Write what waits."""
        _write(self.waiting, self.means, self.taken, dry_run=self.dry_run)
        self.progress(self.taken)

    def settle(self, uris: Collection[str], chains: Iterable[Sequence[bytes]] = ()) -> None:
        """Write what waits if it may be the same as one of these, so that they are compared with what is kept."""
        firsts = {chain[0] for chain in chains}
        if any(kept.uri in uris or kept.chain[0] in firsts for kept in self.waiting):
            self.write()


@dataclass(frozen=True, slots=True)
class Told:
    """A sitting or a note as it was read."""

    uri: str
    at: int
    title: str
    content: Sequence[Message] | str

    @property
    def digest(self) -> bytes:
        """Changes with anything that was read."""
        content, told = self.content, [self.at, self.title]
        told += [content] if isinstance(content, str) else [[(one.author, one.role, one.at, one.text) for one in content]]
        return blake2b(json.dumps(told).encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Draft:
    """The same without secrets, with what it is recognized by."""

    told: Told
    uri: str
    title: str
    content: Sequence[Message] | str
    finds: Sequence[Find]
    name: str | None
    chain: Sequence[bytes]
    principals: frozenset[str]


def _recognized(one: Conversation | Note, run: Run) -> Iterator[Draft]:
    """The documents of what was read that are new or have changed."""
    means, documents = run.means, list(_documents(one, run.means))
    uris = [told.uri for told in documents]
    run.settle(uris)
    known, described = means.chats.known(uris, means.author), means.chats.described(uris, means.author)
    same = {told.uri for told in documents if known.get(told.uri) == told.digest}
    run.taken.messages += sum(0 if isinstance(told.content, str) else len(told.content) for told in documents)
    run.taken.unchanged += len(same)
    drafts = [_scrubbed(told, one, means) for told in documents if told.uri not in same or told.uri not in described]
    if not run.dry_run:
        older = [draft for draft in drafts if draft.uri in same]  # written by a version that kept less
        means.chats.describe([_parsed_draft(draft, means, chunked=False) for draft in older], means.author)
    fresh = [draft for draft in drafts if draft.uri not in same]
    if fresh:
        run.settle((), (draft.chain for draft in fresh))
        yield from _new(fresh if known else _under_their_old_name(fresh, run), run)


def _new(drafts: Sequence[Draft], run: Run) -> Iterator[Draft]:
    means, taken = run.means, run.taken
    gone = means.chats.forgotten({draft.uri: draft.chain for draft in drafts}, means.author)
    held = means.chats.described([draft.uri for draft in drafts], means.author)
    for draft in drafts:
        if draft.uri in gone:
            taken.forgotten += 1
        elif draft.uri in held and _says_no_more(draft, *held[draft.uri]):
            taken.unchanged += 1
        else:
            taken.secrets += len(draft.finds)
            yield draft


def _says_no_more(draft: Draft, said: Said, held: Sequence[bytes]) -> bool:
    """Whether a document is here already, and longer or the same: an older export takes nothing away."""
    more = len(held) - len(draft.chain)
    return continues(draft.chain, held) and (more > 0 or (more == 0 and said.title == draft.title))


def _under_their_old_name(drafts: Sequence[Draft], run: Run) -> Sequence[Draft]:
    """The documents of a conversation under the name it has here, if it was imported from a file of another name."""
    if place := run.names.get(drafts[0].uri.rpartition("#")[0]):
        return _renamed(drafts, place)
    for draft in drafts if drafts[0].name is not None or isinstance(drafts[0].content, str) else ():
        for uri, held in run.means.chats.alike(draft.chain, run.means.author):
            if isinstance(draft.content, str):
                if uri.rpartition("/")[2] == draft.uri.rpartition("/")[2]:  # another page may have the same text
                    return [replace(draft, uri=uri)]
            elif continues(draft.chain, held):
                run.names[draft.uri.rpartition("#")[0]] = uri.rpartition("#")[0]  # for sittings that come by themselves
                return _renamed(drafts, uri.rpartition("#")[0])
    return drafts


def _renamed(drafts: Sequence[Draft], place: str) -> list[Draft]:
    return [replace(draft, uri=f"{place}#{draft.uri.rpartition('#')[2]}") for draft in drafts]


def _documents(one: Conversation | Note, means: ImportResources) -> Iterator[Told]:
    """The documents of what was read: every sitting of a conversation is one."""
    place = _place(one, means)
    if isinstance(one, Note):
        yield Told(f"note:{place}", one.at, one.title, one.text)
        return
    said = [message for message in one.messages if message.text.strip()]
    parts = ([said] if said else []) if one.sitting else sittings(said)
    for number, messages in enumerate(parts, one.sitting or 1):
        at = next((message.at for message in messages if message.at), 0)
        yield Told(f"chat:{place}#{number}", at, one.title, messages)


def _place(one: Conversation | Note, means: ImportResources) -> str:
    """The name of it among all, without secrets; names that differ in a secret only are kept apart by what was said first."""
    place, finds = _clean(one.place, means)
    if not finds:
        return place
    first = one.text if isinstance(one, Note) else "".join(message.text for message in one.messages[:1])
    return told_apart(place, _clean(first, means)[0])


def _scrubbed(told: Told, one: Conversation | Note, means: ImportResources) -> Draft:
    """A document without secrets: not in its text, and in none of the fields beside it."""
    title = _clean(told.title, means)[0]
    principals = _readers(one.principals, means)
    if isinstance(told.content, str):
        text, finds = _clean(told.content, means)
        return Draft(told, told.uri, title, text, finds, None, chain_of_note(text), principals)
    clean, finds = list[Message](), list[Find]()
    for message in told.content:
        text, found = _clean(message.text, means)
        author, role = (_clean_name(field, tuple(means.rules)) for field in (message.author, message.role))
        clean.append(replace(message, text=text, author=author, role=role))
        finds += found
    name = None if isinstance(one, Note) or one.name is None else _clean(one.name, means)[0]
    seed = told.uri.rpartition("#")[0] if name is None else f"\n{name}"
    return Draft(told, told.uri, title, clean, finds, name, chain(seed, clean), principals)


def _readers(principals: frozenset[str], means: ImportResources) -> frozenset[str]:
    """Who could read it where it was exported, if that was by a reader of the same name; rights of others are not ours."""
    return frozenset(one for one in principals if means.author in principals and not _clean(one, means)[1])


def _parsed_draft(draft: Draft, means: ImportResources, *, chunked: bool = True) -> Kept:
    """A document cut into pieces, as it is kept."""
    is_note = isinstance(draft.content, str)
    parsed = (_note(draft, means) if is_note else _sitting(draft, means)) if chunked else Parsed("", (), ())
    turns = () if isinstance(draft.content, str) else [_turn(message) for message in draft.content]
    said, language = Said(draft.title, draft.name, turns), "markdown" if is_note else CHAT
    at, digest = draft.told.at, draft.told.digest
    return Kept(draft.uri, language, at, digest, parsed, {}, said, draft.chain, draft.principals)


def _turn(message: Message) -> tuple[str, str, int, int]:
    return message.author, message.role, message.at, message.text.strip("\n").count("\n") + 1


def _sitting(draft: Draft, means: ImportResources) -> Parsed:
    messages = [] if isinstance(draft.content, str) else draft.content
    text, pieces = cut_chat(messages, draft.title, means.limits.prose, means.tokens.count)
    return _parsed(text, pieces, draft.finds)


def _note(draft: Draft, means: ImportResources) -> Parsed:
    text, above = str(draft.content), (draft.title,) if draft.title else ()
    pieces = chunk(text, "markdown", means.limits, means.tokens.count)
    return _parsed(text, [replace(piece, heading=(*above, *piece.heading)) for piece in pieces], draft.finds)


def _clean(text: str, means: ImportResources) -> tuple[str, list[Find]]:
    return scrub_text(_readable(text).replace("\r\n", "\n"), means.rules)


@lru_cache(maxsize=4096)
def _clean_name(text: str, rules: tuple[Rule, ...]) -> str:
    """The same for a short text that comes again with every message."""
    return scrub_text(_readable(text), rules)[0]


def _readable(text: str) -> str:
    """A text that can be written down: what is no letter in any encoding becomes a mark."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _parsed(text: str, pieces: Sequence[Piece], finds: Sequence[Find]) -> Parsed:
    return Parsed(text, tuple(pieces), tuple(words_of(piece, text) for piece in pieces), tuple(finds))


def _write(waiting: list[Kept], means: ImportResources, taken: ImportReport, *, dry_run: bool) -> None:
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
