"""Answers of the HTTP API that no other surface gives. Values that are plain already are answered as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextd.surfaces.wire.answers import ContextAnswer, MemoryAnswer, PlanAnswer, TraceAnswer, time_of
from contextd.values.git_history import Edit
from contextd.values.memory import Link, Memory, Remembered, Version
from contextd.values.structure import DefinitionSite, Dependent, Use


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """A context with everything that led to it."""

    context: ContextAnswer
    plan: PlanAnswer
    terms: Mapping[str, float]
    trace: TraceAnswer


@dataclass(frozen=True, slots=True)
class OccurrenceAnswer:
    """A match of an exact text or a pattern."""

    path: str
    line: int
    column: int
    match: str
    text: str
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class FindAnswer:
    """Matches of an exact text or a pattern."""

    query: str
    matches: Sequence[OccurrenceAnswer]
    truncated: bool


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """The prompt of a task with its context."""

    task_id: str
    prompt: str
    budget: int
    keywords: Sequence[str]
    context: ContextAnswer | None
    retrievers: Mapping[str, Sequence[str]]  # ids of the hits, by the retriever that found them
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The context of a prompt; empty if there is nothing new."""

    text: str


@dataclass(frozen=True, slots=True)
class CallersAnswer:
    """Definitions and uses of a name."""

    definitions: Sequence[DefinitionSite]
    uses: Sequence[Use]


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    """Dependents of a file or a name, nearest first; `known` is false if there is no such file or definition."""

    items: Sequence[Dependent]
    total: int
    known: bool


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """The history of a path."""

    edits: Sequence[Edit]
    authors: Mapping[str, int]
    together: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The commit that last changed a line."""

    commit: str
    author: str
    day: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """The result of saving a memory."""

    memory: MemoryAnswer
    known: bool
    replaced: Sequence[MemoryAnswer]
    contradicts: Sequence[MemoryAnswer]
    warnings: Sequence[str]

    @classmethod
    def of(cls, saved: Remembered) -> RememberedAnswer:
        """A saved memory, and others that it affects."""
        replaced, contradicts = ([MemoryAnswer.of(one) for one in some] for some in (saved.replaced, saved.contradicts))
        return cls(MemoryAnswer.of(saved.memory), saved.known, replaced, contradicts, saved.warnings)


@dataclass(frozen=True, slots=True)
class LinkAnswer:
    """A link of a memory, and the memory at its other end."""

    start: str
    end: str
    kind: str
    memory: MemoryAnswer

    @classmethod
    def of(cls, link: Link, other: Memory) -> LinkAnswer:
        """A link."""
        return cls(link.start, link.end, link.kind, MemoryAnswer.of(other))


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory with its links."""

    memory: MemoryAnswer
    links: Sequence[LinkAnswer]


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """A memory before a change."""

    at: str | None
    by: str
    before: MemoryAnswer

    @classmethod
    def of(cls, version: Version) -> VersionAnswer:
        """An earlier version."""
        return cls(time_of(version.at), version.by, MemoryAnswer.of(version.before))


@dataclass(frozen=True, slots=True)
class CountAnswer:
    """How many things a request changed."""

    count: int


@dataclass(frozen=True, slots=True)
class ForgottenAnswer:
    """What was erased: `gone`, or `pending` while another process still reads."""

    id: str
    state: str


@dataclass(frozen=True, slots=True)
class MadeLink:
    """A new link."""

    start: str
    end: str
    kind: str


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """A topic, and how many memories have it."""

    name: str
    below: str
    memories: int


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The result of storing a chat."""

    written: int
    unchanged: int
    secrets_scrubbed: int
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class PushedAnswer:
    """The result of storing a document."""

    path: str
    document: str
    chunks: int
    embeddings: int
    secrets_scrubbed: int


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """A stored document."""

    path: str
    language: str
    changed: str | None
