"""Answers of the HTTP API that no other surface gives. Values that are plain already are answered as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextd.surfaces.wire.answers import ContextAnswer, MemoryAnswer, PlanAnswer, TraceAnswer, time_of
from contextd.values.access_token import AccessToken
from contextd.values.git_history import Edit
from contextd.values.job import Job
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


@dataclass(frozen=True, slots=True)
class ProjectAnswer:
    """A project of the data directory."""

    id: str
    name: str
    roots: Sequence[str]
    bytes: int
    indexed: str | None
    memories: int


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """An index job."""

    id: str
    kind: str
    state: str
    who: str
    paths: Sequence[str]
    created: str | None
    started: str | None
    ended: str | None
    done: int
    total: int
    message: str
    attempts: int
    report: Mapping[str, Any]

    @classmethod
    def of(cls, job: Job) -> JobAnswer:
        """A job."""
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            who=job.who,
            paths=job.paths,
            created=time_of(job.created),
            started=time_of(job.started),
            ended=time_of(job.ended),
            done=job.done,
            total=job.total,
            message=job.reason or job.message,
            attempts=job.attempts,
            report=job.report,
        )


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a job's log."""

    at: str | None
    line: str


@dataclass(frozen=True, slots=True)
class JobShown:
    """A job with its log."""

    job: JobAnswer
    log: Sequence[LogLine]


@dataclass(frozen=True, slots=True)
class LanguageEstimate:
    """Files of one language."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job that was started, or the estimate of a dry run."""

    job: JobAnswer | None
    estimated_files: int
    estimated_seconds: int
    by_language: Mapping[str, LanguageEstimate]


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret that was scrubbed. Its value is not stored."""

    path: str
    line: int
    rule: str


@dataclass(frozen=True, slots=True)
class FailureAnswer:
    """A file that could not be indexed."""

    path: str
    error: str
    retries: int


@dataclass(frozen=True, slots=True)
class StatsAnswer:
    """Counts and sizes of an index."""

    project: str
    root: str
    counts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SettingAnswer:
    """A setting, and where its value comes from."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigAnswer:
    """All settings of a project."""

    settings: Mapping[str, SettingAnswer]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """A token without its secret."""

    name: str
    reader: str
    groups: Sequence[str]
    may: str
    projects: Sequence[str]
    private: bool
    created: str | None
    expires: str | None

    @classmethod
    def of(cls, token: AccessToken) -> TokenAnswer:
        """A token."""
        return cls(
            name=token.name,
            reader=token.reader.name,
            groups=sorted(token.reader.groups),
            may=token.may,
            projects=[f"{one:016x}" for one in sorted(token.workspaces)],
            private=token.private,
            created=time_of(token.created),
            expires=time_of(token.expires),
        )


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token. It is not shown again."""

    name: str
    token: str


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The state of a project's index."""

    name: str
    root: str
    indexed: str | None
    files: int
    commits: int
    chunks: int
    deep: int
    changed: int
    gone: int
    failed: int
    job: str
    writer: str
