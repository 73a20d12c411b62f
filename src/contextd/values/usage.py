"""What each answered query and each call of an agent took: counts, tokens, times. Texts only if the settings ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Purpose:
    """Why queries are asked: the operation that asks them, and the task it is for. `last` records the last of them."""

    operation: str
    task: str = ""
    last: Callable[[], None] = lambda: None


_PURPOSE: ContextVar[Purpose | None] = ContextVar("purpose", default=None)


@contextmanager
def asked_for(operation: str, task: str = "") -> Iterator[None]:
    """Set the purpose of the queries inside. The last one is recorded, at the end; the outermost purpose counts."""
    if _PURPOSE.get() is not None:
        yield
        return
    made = Purpose(operation, task)
    token = _PURPOSE.set(made)
    try:
        yield
    finally:
        _PURPOSE.reset(token)
    made.last()


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record none of the queries inside: nobody receives their answers."""
    token = _PURPOSE.set(Purpose(""))
    try:
        yield
    finally:
        _PURPOSE.reset(token)


def purpose() -> Purpose | None:
    """Return the purpose of the current query; None if it is asked for itself."""
    return _PURPOSE.get()


@dataclass(frozen=True, slots=True)
class QueryUsage:
    """One answered query."""

    at: int  # microseconds
    operation: str  # search, recall, context, explain, facets, task, hook, query_context
    reader: str
    project: str = ""  # id of the workspace
    task: str = ""
    cache: str = ""  # "exact" or "semantic" if the answer was given before
    milliseconds: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)  # milliseconds
    hits: int = 0
    proposed: Mapping[str, int] = field(default_factory=dict)  # by retriever: the documents it proposed
    survived: Mapping[str, int] = field(default_factory=dict)  # by retriever: those of them in the answer
    languages: Mapping[str, int] = field(default_factory=dict)  # hits by language
    tokens: int = 0  # of the context
    budget: int = 0
    file_tokens: int = 0  # of the whole files that the context quotes, estimated
    warnings: int = 0
    public: bool = False  # asked without private data, so everyone who sees this row may see its task
    text: str = ""


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """Tokens that an agent or a model used, as its program reported them."""

    at: int  # microseconds
    operation: str
    reader: str
    project: str = ""
    agent: str = ""
    task: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    with_context: bool = True
    text: str = ""  # notes
