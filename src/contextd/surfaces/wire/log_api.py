"""Requests and answers about the interaction log and proposed memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextd.surfaces.wire.answers import time_of
from contextd.surfaces.wire.convert import about

if TYPE_CHECKING:
    from contextd.app.interactions import ShownInteraction
    from contextd.values.interaction import Interaction
    from contextd.values.proposal import Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """A list of the newest requests."""

    limit: int = about("Maximum number of entries.", 20, least=1, most=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogIdRequest:
    """A request about one entry of the log."""

    id: str = about("Id of the entry, or its first characters.")


@dataclass(frozen=True, slots=True)
class LogEntryAnswer:
    """A request that passed through the proxy: counts and durations."""

    id: str
    at: str | None
    status: str
    endpoint: str
    model: str
    upstream: str
    remote: bool
    cache: str
    held_back: bool
    http_status: int
    complete: bool
    pieces: int
    tokens: int
    enrich_ms: float
    total_ms: float
    missing: Sequence[str]

    @classmethod
    def of(cls, one: Interaction) -> LogEntryAnswer:
        """An entry of the log."""
        return cls(
            one.id, time_of(one.at), one.status, one.endpoint, one.model, one.upstream, one.remote, one.cache, one.held_back,
            one.http_status, one.complete, len(one.pieces), one.tokens, one.enrich_ms, one.total_ms, one.missing,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogPieceAnswer:
    """A piece of a block: where it stands, and what became of it."""

    uri: str
    label: str
    start_line: int
    end_line: int
    digest: str
    score: float
    state: str


@dataclass(frozen=True, slots=True)
class LogShownAnswer:
    """An entry of the log with its pieces, and its texts as far as they can be shown."""

    entry: LogEntryAnswer
    pieces: Sequence[LogPieceAnswer]
    question: str
    block: str

    @classmethod
    def of(cls, shown: ShownInteraction) -> LogShownAnswer:
        """An entry and its pieces."""
        one = shown.interaction
        pieces = [
            LogPieceAnswer(piece.uri, piece.label, piece.start_line, piece.end_line, piece.digest, piece.score, state)
            for piece, state in zip(one.pieces, shown.states, strict=True)
        ]
        return cls(LogEntryAnswer.of(one), pieces, one.question, shown.block)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """A request about one proposal."""

    id: str = about("Id of the proposal, or at least its first four characters.")


@dataclass(frozen=True, slots=True)
class ProposalAnswer:
    """A memory that is proposed."""

    id: str
    at: str | None
    text: str

    @classmethod
    def of(cls, one: Proposal) -> ProposalAnswer:
        """A proposal."""
        return cls(one.id, time_of(one.at), one.text)
