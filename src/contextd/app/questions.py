"""Build a query from a caller's request: text, projects, sources, and the resources that answer it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from contextd.app import staleness
from contextd.app.asking import Asked, checked_recall
from contextd.app.assisting import assistant_of
from contextd.app.project import NOT_INDEXED, Project
from contextd.errors import InvalidInput
from contextd.ports.store import Store
from contextd.ports.world import Embedder
from contextd.querying import pipeline as querying
from contextd.querying.shares import GIT_HISTORY, is_off, shares_of
from contextd.querying.vectors import QueryVectors
from contextd.settings.limits import checked_paths, checked_text, checked_texts
from contextd.text.languages import ALIASES
from contextd.text.paths import below
from contextd.values.answer import Hit
from contextd.values.document import CHATS, MEMORIES, PUSHED
from contextd.values.memory import Recall
from contextd.values.query import Narrow, Plan, Query, Scope
from contextd.values.trace import Trace

if TYPE_CHECKING:
    from contextd.app.session import Session


def _relative(session: Session, path: str) -> str:
    """Return a caller's path or pattern relative to the project."""
    root = f"{session.project.root}/" if session.project is not None else ""
    return path.removeprefix(root).removeprefix("./").rstrip("/") or "."


def warn(session: Session, hits: Sequence[Hit], query: Query, plan: Plan, trace: Trace) -> None:
    """Add warnings on access and staleness to an answer's trace."""
    if session.unindexed is not None:
        trace.warn(NOT_INDEXED)
    late = query.deadline is not None and time.monotonic() > query.deadline
    sources = sources_of(session)
    for project in projects_of(session):
        if project.source.id not in sources:
            trace.warn(staleness.unreadable(session.reader, "this project" if project is session.project else project.name))
        elif project is session.project and query.text.strip() and not late:
            staleness.warn(project, session.reader, sources, hits, trace)
            if plan.wants_people:
                staleness.add_authors(project, hits, trace)


def _workspaces(session: Session, *, personal: bool) -> tuple[int, ...]:
    own = tuple(dict.fromkeys(project.workspace for project in projects_of(session)))
    return (*own, session.home.personal) if personal else own


def query_of(session: Session, text: str, narrow: Narrow | None, deadline: float | None) -> Query:
    """Return a query over everything the reader may see, narrowed by the caller. Raises InvalidInput."""
    text = checked_text("query", text)
    if deadline is not None and not deadline > 0:
        raise InvalidInput(f"invalid timeout: {deadline:g} s (must be greater than 0)")
    narrow = narrow or Narrow()
    if session.project is not None:
        text = text.replace(f"{session.project.root}/", "")  # paths are searched relative to the project
    scope = Scope(
        _workspaces(session, personal=narrow.personal),
        session.reader,
        _sources(session, narrow),
        tuple(_relative(session, path) for path in checked_paths(narrow.paths)),
        frozenset(ALIASES.get(name.lower(), name.lower()) for name in checked_texts("languages", narrow.languages)),
        frozenset(checked_texts("kinds", narrow.kinds)),
        narrow.since,
        narrow.until,
        _recall(session, narrow.recall),
        tuple(_relative(session, path) for path in checked_paths(narrow.exclude)),
        hidden_paths(session),
    )
    end = None if deadline is None else time.monotonic() + deadline
    occasional = frozenset(project.commits.id for project in projects_of(session))
    now = time.time_ns() // 1000
    return Query(text, scope, mmr_lambda=session.settings.query.mmr_lambda, now=now, deadline=end, occasional=occasional)


def _sources(session: Session, narrow: Narrow) -> frozenset[int]:
    """Return the sources that the caller wants; empty for all."""
    if narrow.memories_only:
        return frozenset({MEMORIES})
    every = sources_of(session)
    return every if narrow.memories else (every or frozenset({CHATS, PUSHED})) - {MEMORIES}


def _recall(session: Session, recall: Recall | None) -> Recall | None:
    """Return the caller's filters for memories, checked; without private memories if the session may not use them."""
    recall = checked_recall(recall)
    if session.private:
        return recall
    return replace(recall or Recall(), private=False, without_topics=session.memories.hidden())


def hidden_paths(session: Session) -> tuple[str, ...]:
    """Return the private folders and patterns of all its projects, if the session may not use them."""
    return () if session.private else tuple(dict.fromkeys(path for one in projects_of(session) for path in one.private_paths))


def is_hidden(session: Session, path: str) -> bool:
    """Return whether a path does not exist for the session."""
    return bool(paths := hidden_paths(session)) and below(paths)(path)


def visible_counts(session: Session, counts: dict[str, object]) -> dict[str, object]:
    """Return the counts of an index; only those that tell nothing about files if some of these are hidden."""
    return {name: counts[name] for name in ("position", "generation")} if hidden_paths(session) else counts


def sources_of(session: Session) -> frozenset[int]:
    """Return the ids of readable checkouts, memories and chats. Other worktrees have their own documents."""
    asked = projects_of(session)
    readable = [project for project in asked if session.access.may_read(project)]
    past = not is_off(shares_of(session.settings.providers), GIT_HISTORY)
    past = past and not hidden_paths(session)  # a commit shows lines of any file
    found = {project.source.id for project in readable} | {project.commits.id for project in readable if past}
    return frozenset(found | {MEMORIES, CHATS, PUSHED}) if asked else frozenset()


def projects_of(session: Session) -> tuple[Project, ...]:
    """Return the project, and the session's other projects."""
    return (*([session.project] if session.project is not None else []), *session.others)


def resources_of(session: Session, query: Query, asked: Asked = Asked()) -> querying.QueryResources:  # noqa: B008 - an immutable value
    """Return the stores, models, templates and retrievers that answer a query."""
    stores: dict[int, Sequence[Store]] = {}
    for workspace in query.scope.workspaces:
        projects = [project.store for project in projects_of(session) if project.workspace == workspace]
        record = session.home.record
        own = (record.store(workspace), record.chats(workspace), record.pushed(workspace))
        stores[workspace] = [*projects[:1], *own]  # worktrees of one repository share a store
    return querying.QueryResources(
        stores,
        lambda spaces: _embedders(session, spaces),
        session.home.tokens,
        {**session.setup.templates, **session.home.templates},
        session.setup.retrievers,
        session.settings.query.fusion,
        {project.workspace: project.name for project in session.others},
        session.setup.reranker,
        asked.rankers(session.home.rankers),
        shares_of(session.settings.providers),
        session.home.query_vectors if session.settings.embedding.cache_enabled else QueryVectors(0),
        session.setup.no_model,
        assistant_of(session, (query.text, *query.history)) if query.text.strip() else None,
    )


def _embedders(session: Session, spaces: Collection[str]) -> list[Embedder]:
    """Return the static model, and the deep models if there are deep vectors: loading one takes half a second."""
    setup = session.setup
    wanted = any(space.startswith("deep/") for space in spaces)
    deep = [setup.deep(), setup.own_deep() if setup.own_deep is not None else None] if wanted else []
    return [embedder for embedder in (setup.static, *deep) if embedder is not None]
