"""A request that passed through the proxy, as the interaction log keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class LoggedPiece:
    """A piece of a block: where it stands, and a digest of its text."""

    uri: str
    label: str
    start_line: int
    end_line: int
    digest: str
    score: float
    workspace: int
    document: int


@dataclass(frozen=True, slots=True)
class Interaction:
    """One request. Times are microseconds, durations milliseconds. `question` and `block` are empty unless texts are kept."""

    id: str
    at: int
    reader: str
    status: str  # enriched, bypassed or degraded
    endpoint: str
    model: str
    upstream: str
    remote: bool
    project: str = ""
    cache: str = ""  # "exact" or "semantic" if the block was made before
    held_back: bool = False
    http_status: int = 0  # 0: no answer
    complete: bool = False  # whether the client got the whole answer
    tokens: int = 0
    enrich_ms: float = 0.0
    total_ms: float = 0.0
    missing: tuple[str, ...] = ()  # parts that failed
    profile: str = ""  # digest of the profile's summary; empty if it was not added
    pieces: tuple[LoggedPiece, ...] = ()
    question: str = ""
    block: str = ""


def digest_of(text: str) -> str:
    """Return the digest of a text, as pieces have it."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
