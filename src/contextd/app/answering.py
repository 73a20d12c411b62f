"""Answer the queries of a session: check the request, take a cached answer or make one, add warnings, record usage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from contextd.app.asking import Asked, checked_facets
from contextd.app.questions import query_of, resources_of, warn
from contextd.querying import pipeline as querying
from contextd.settings.limits import LARGEST_K, MOST_TOKENS, checked_number, checked_text, checked_texts
from contextd.values.answer import Context, SearchResult
from contextd.values.query import Facet, Narrow, Query

if TYPE_CHECKING:
    from contextd.app.session import Session

T = TypeVar("T", SearchResult, Context)


def search(
    session: Session,
    text: str,
    narrow: Narrow | None,
    deadline: float | None,
    k: int | None,
    min_score: float | None,
    asked: Asked,
) -> SearchResult:
    """Return the best hits for a question."""
    began, settings = time.perf_counter(), session.settings.query
    query = replace(
        query_of(session, text, narrow, deadline),
        k=settings.default_k if k is None else checked_number("k", k, LARGEST_K),
        min_score=settings.min_score_threshold if min_score is None else min_score,
        **asked.fields(settings),
    )
    answer = session.home.answers.get(
        session, query, asked, "search", lambda: SearchResult(*querying.search(query, resources_of(session, query, asked)))
    )
    return _finished(session, "search", query, answer, began)


def context(
    session: Session,
    text: str,
    narrow: Narrow | None,
    deadline: float | None,
    k: int,
    min_score: float | None,
    asked: Asked,
    budget: int | None,
    template: str,
) -> Context:
    """Return the answer to a question as text, within a budget."""
    began, settings = time.perf_counter(), session.settings
    query = replace(
        query_of(session, text, narrow, deadline),
        budget=settings.budget.default_max_tokens if budget is None else checked_number("budget", budget, MOST_TOKENS),
        template=checked_text("template", template),
        k=checked_number("k", k, LARGEST_K),
        min_score=settings.query.min_score_threshold if min_score is None else min_score,
        **asked.fields(settings.query),
    )
    query = replace(query, rest_score=query.min_score * (querying.REST if min_score is None else 1.0))
    answer = session.home.answers.get(
        session, query, asked, "context", lambda: querying.context(query, resources_of(session, query, asked))
    )
    return _finished(session, "context", query, answer, began)


def facets(
    session: Session,
    text: str,
    narrow: Narrow | None,
    deadline: float | None,
    k: int,
    min_score: float,
    history: Sequence[str],
    budget: int,
    count: int,
    own: Sequence[Facet],
) -> Context:
    """Return the memories relevant for a question, by facets."""
    from contextd.querying.facets.pipeline import TEMPLATE, Facets, faceted
    from contextd.remembering.topics import Routing

    began = time.perf_counter()
    query = replace(
        query_of(session, text, replace(narrow or Narrow(), memories_only=True), deadline),
        budget=checked_number("budget", budget, MOST_TOKENS),
        template=TEMPLATE,
        k=checked_number("k", k, LARGEST_K),
        min_score=min_score,
        history=checked_texts("history", history),
    )
    wanted = Facets(count, checked_facets(own), Routing(session.memories.topics(), session.setup.static).topics_of)
    answer = faceted(query, resources_of(session, query), wanted)
    session.home.usage.record(session, "facets", query, answer, began)
    return answer


def _finished(session: Session, operation: str, query: Query, answer: T, began: float) -> T:
    """Add warnings to an answer, and record it."""
    warn(session, answer.hits, query, answer.plan, answer.trace)
    session.home.usage.record(session, operation, query, answer, began)
    return answer
