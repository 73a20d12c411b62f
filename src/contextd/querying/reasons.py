"""Explain why a query has no hits, as far as the reader may know."""

from __future__ import annotations

from collections.abc import Sequence

from contextd.ports.store import View
from contextd.querying.understand import STOP_STEMS
from contextd.values.query import Plan
from contextd.values.trace import Trace

_EXPLAINED = 5  # maximum number of paths looked up


def say_why(views: Sequence[View], plan: Plan, trace: Trace) -> None:
    """Warn of missing search terms, and of filters that match nothing in the index."""
    if not plan.text.strip():
        return
    if not set(plan.terms) - STOP_STEMS:
        trace.warn("the query contains no search terms; add a word to search for")
    for what, wanted, there in (
        ("language", plan.scope.languages, frozenset().union(*(view.languages() for view in views))),
        ("kind", plan.scope.kinds, frozenset().union(*(view.kinds() for view in views))),
    ):
        if unknown := sorted(set(wanted) - there):
            trace.warn(f"the index has no {what} {', '.join(unknown)}; available: {', '.join(sorted(there - {''})) or 'none'}")
    _say_topics(views, plan, trace)
    for path in plan.scope.paths[:_EXPLAINED]:
        if not any(view.knows(path) for view in views):
            trace.warn(f"no indexed files at {path}; paths are relative to the project root")


def _say_topics(views: Sequence[View], plan: Plan, trace: Trace) -> None:
    """Warn of topics that no memory has."""
    there = frozenset[str]().union(*(view.topics() for view in views))
    for topic in sorted(set(plan.scope.recall.topics if plan.scope.recall else ()) - there):
        trace.warn(f"no valid memory has the topic {topic!r}; topics in use: {', '.join(sorted(there)) or 'none'}")
