"""Answers of the HTTP API about projects, jobs, settings and access tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextd.surfaces.wire.answers import time_of
from contextd.values.access_token import AccessToken
from contextd.values.job import Job


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
    def of(cls, job: Job, *, paths: bool = True) -> JobAnswer:
        """A job; without `paths`, nothing of it that names files."""
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            who=job.who,
            paths=job.paths if paths else (),
            created=time_of(job.created),
            started=time_of(job.started),
            ended=time_of(job.ended),
            done=job.done,
            total=job.total,
            message=(job.reason or job.message) if paths else "",
            attempts=job.attempts,
            report=job.report if paths else {},
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
