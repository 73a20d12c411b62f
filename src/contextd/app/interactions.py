"""The interaction log: what is stored of a request to the proxy, and what can still be shown of it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from contextd.app.profiles import profile_service
from contextd.app.questions import query_of, resources_of
from contextd.errors import ContextdError, InvalidInput, NotFound
from contextd.ports.interactions import Interactions
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.querying import pipeline
from contextd.querying.compose import Block, compose
from contextd.querying.understand import understand
from contextd.settings.defaults import Proxy
from contextd.text.private_matters import is_private
from contextd.values.answer import Hit
from contextd.values.interaction import Interaction, LoggedPiece, digest_of
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.app.project import Project
    from contextd.app.session import Session
    from contextd.ports.record import Record
    from contextd.ports.store import View

_LOG = logging.getLogger("contextd.proxy")
_DAY = 86_400_000_000  # microseconds
_MOST = 20_000  # interactions that are kept
_EVERY = 200  # interactions between two looks for expired ones


@dataclass(slots=True)
class InteractionLog:
    """Writes interactions. A log that cannot be written costs no request. Any thread may call its methods."""

    stored: Interactions
    _written: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, interaction: Interaction, block: Block, question: str, settings: Proxy, rules: Sequence[Rule]) -> None:
        """Store an interaction with the pieces of its block; with texts if the settings say so."""
        pieces = (*(_logged(hit, as_it_is=not block.reworded) for hit in block.facts), *map(_logged, block.pieces))
        one = replace(interaction, pieces=pieces)
        if settings.log_text:
            one = replace(one, question=scrub_text(question, rules)[0], block=block.text)
        try:
            self.stored.add(one)
            if self._is_time():
                self.stored.expire(one.at - settings.log_days * _DAY, _MOST)
        except ContextdError as error:
            _LOG.warning("the interaction log cannot be written: %s", error)

    def _is_time(self) -> bool:
        with self._lock:
            self._written += 1
            return self._written % _EVERY == 1


@dataclass(frozen=True, slots=True)
class LoggedDocuments:
    """What the log has of the documents of a workspace. If it cannot be changed, the run goes on and the next one tries."""

    stored: Interactions
    record: Record
    project: Project | None  # none for personal documents
    workspace: int

    def change(self, documents: Collection[int]) -> None:
        """Erase texts and labels of documents that are about to change."""
        with _excused():
            self.stored.erase(self.workspace, (), documents)

    def settle(self) -> None:
        """Erase pieces of documents that are gone."""
        with _excused():
            logged = self.stored.documents(self.workspace)
            if gone := logged - self.record.living(self.workspace, logged) - self._indexed(logged):
                self.stored.erase(self.workspace, gone)
            self.stored.settle()

    def _indexed(self, documents: frozenset[int]) -> frozenset[int]:
        return self.project.store.living(documents) if self.project is not None and documents else frozenset()


@contextmanager
def _excused() -> Iterator[None]:
    try:
        yield
    except ContextdError as error:
        _LOG.warning("the interaction log cannot be changed: %s", error)


@dataclass(frozen=True, slots=True)
class ShownInteraction:
    """An interaction, what became of each piece, and its block if everything in it is unchanged."""

    interaction: Interaction
    states: tuple[str, ...]  # of the pieces: unchanged, changed or gone, or shortened
    block: str


def found(stored: Interactions, reader: str, start: str) -> Interaction:
    """Return the interaction of a reader by its id or the beginning of it. Raises `NotFound` or InvalidInput."""
    several = stored.get(reader, start) if start else []
    if not several:
        raise NotFound(f"no such interaction: {start!r}; run `contextd log` for a list")
    if len(several) > 1:
        raise InvalidInput(f"several interactions begin with {start!r}; give more of the id")
    return several[0]


def shown(session: Session, interaction: Interaction) -> ShownInteraction:
    """Return an interaction with the block that the upstream got. The block is made again from the documents of today."""
    with ExitStack() as stack:
        query = query_of(session, "", None, None)
        resources = resources_of(session, query)
        views = pipeline.views_of(query, understand(query), resources, stack, Trace())
        hits = [_again(views, piece) for piece in interaction.pieces]
    states = tuple(_state(piece, hit) for piece, hit in zip(interaction.pieces, hits, strict=True))
    summary = profile_service(session).summary() if interaction.profile else ""
    same = all(hit is not None for hit in hits) and (not interaction.profile or digest_of(summary) == interaction.profile)
    if not same or not interaction.tokens:
        return ShownInteraction(interaction, states, "")
    kept = [hit for hit in hits if hit is not None]
    facts, pieces = ([hit for hit in kept if hit.chunk.is_memory == is_fact] for is_fact in (True, False))
    block = compose(summary, facts, pieces, interaction.tokens, session.home.tokens.count)
    return ShownInteraction(
        interaction, states, interaction.block or (block.text if block.tokens == interaction.tokens else "")
    )


def visible_to(session: Session, shown: ShownInteraction) -> ShownInteraction:
    """Return what a session may show of an interaction: without private data, only pieces and texts that it can find itself."""
    if session.private:
        return shown
    one = shown.interaction
    kept = [(piece, state) for piece, state in zip(one.pieces, shown.states, strict=True) if state == "unchanged"]
    whole = len(kept) == len(one.pieces)
    question = one.question if whole and not one.held_back and not is_private(one.question) else ""
    pieces, states = tuple(piece for piece, _ in kept), tuple(state for _, state in kept)
    return ShownInteraction(replace(one, pieces=pieces, question=question), states, shown.block if whole else "")


def _again(views: Sequence[View], piece: LoggedPiece) -> Hit | None:
    """Return a piece as it is now; None if it has changed, is gone, or was shortened to fit."""
    for view in views:
        for chunk in view.chunks_of([piece.document]).get(piece.document, ()):
            if chunk.workspace == piece.workspace and digest_of(chunk.text) == piece.digest:
                return Hit(view.get([chunk.id])[0], piece.score, piece.score)  # with attribute and value of a memory
    return None


def _state(piece: LoggedPiece, hit: Hit | None) -> str:
    return "unchanged" if hit is not None else "changed or gone" if piece.digest else "shortened"


def _logged(hit: Hit, *, as_it_is: bool = True) -> LoggedPiece:
    """Return a piece for the log. One that was shortened has no digest, since it equals no stored text."""
    chunk = hit.chunk
    is_whole = as_it_is and (chunk.is_memory or chunk.kind == "chat_message" or len(chunk.text) == chunk.end - chunk.start)
    label = "" if chunk.is_memory else chunk.label
    place = (chunk.start_line, chunk.end_line)
    return LoggedPiece(
        chunk.uri,
        label,
        *place,
        digest_of(chunk.text) if is_whole else "",
        round(hit.score, 4),
        chunk.workspace,
        chunk.id.document,
    )


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000
