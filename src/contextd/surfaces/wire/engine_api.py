"""The flat routes of a context engine: add, delete and query a context, statistics. Its clients know these field names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextd.surfaces.wire.answers import QueryHit
from contextd.surfaces.wire.api_requests import InProject
from contextd.surfaces.wire.convert import about


@dataclass(frozen=True, slots=True, kw_only=True)
class AddContext(InProject):
    """A text to add, or a file of the project to read again."""

    file_path: str = about("Path of the file.")
    lang: str | None = about("Its language. Default: by the path.", None)
    mime: str | None = about("Its media type, if the path does not tell the language.", None)
    content: str | None = about("Its text. Without it, the file of the project is read.", None)


@dataclass(frozen=True, slots=True)
class AddedContext:
    """What was stored of a text."""

    file_id: str
    chunks: int
    embeddings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteContext(InProject):
    """A text that was added."""

    file_path: str = about("Path of the file.")


@dataclass(frozen=True, slots=True)
class DeletedContext:
    """Whether there was such a text."""

    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFilters:
    """Filters of `query_context`."""

    lang: str | None = about("Only this language.", None)
    kind: str | None = about("Only this kind of chunk.", None)
    path_glob: str | None = about("Only paths that match this pattern.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContextRequest(InProject):
    """A question to a project."""

    q: str = about("The question.")
    k: int = about("Maximum number of hits.", 12, least=1, most=1000)
    model: str | None = about("The embedding model of the caller; the one of the index is used, whatever it is.", None)
    filters: ContextFilters = about("Filters.", ContextFilters)
    mmr_lambda: float | None = about("1: by relevance alone; 0: diverse.", None, least=0, most=1)


@dataclass(frozen=True, slots=True)
class QueriedContext:
    """Hits of a question."""

    q_embed_model: str
    total: int
    hits: Sequence[QueryHit]


@dataclass(frozen=True, slots=True)
class ProviderStats:
    """A retriever: whether it is enabled, and whether it can answer."""

    id: str
    name: str
    enabled: bool
    available: bool
    stats: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StorageStats:
    """Size of an index."""

    totalFiles: int
    totalChunks: int
    totalEmbeddings: int
    dbSizeMB: float
    lastIndexed: str | None


@dataclass(frozen=True, slots=True)
class EngineStats:
    """State of the engine for one project."""

    enabled: bool
    mode: str
    providers: Sequence[ProviderStats]
    storage: StorageStats
    languages: Mapping[str, int]
    cache: Mapping[str, int]  # answers since the service started: by level, and those that were computed
    recentActivity: Sequence[str]
