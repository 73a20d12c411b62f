"""Queries: search, context, explain, find, facets, task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contextd.errors import NotFound
from contextd.querying.pipeline import MOST_HITS
from contextd.settings.limits import checked_path, checked_query
from contextd.surfaces.http.caller import Caller, moment
from contextd.surfaces.wire import api_requests as requests
from contextd.surfaces.wire.answers import ContextAnswer, PlanAnswer, SearchAnswer, TraceAnswer
from contextd.surfaces.wire.api_answers import ExplainAnswer, FindAnswer, HookAnswer, OccurrenceAnswer, TaskAnswer
from contextd.values.memory import Recall
from contextd.values.query import Facet, Narrow

if TYPE_CHECKING:
    from contextd.app.session import Session
    from contextd.values.answer import Context
    from contextd.values.trace import Trace

_SECONDS = 30.0  # timeout of a query that names none


def search(caller: Caller, asked: requests.SearchRequest) -> SearchAnswer:
    """Search the project and personal memories."""
    session = caller.session(asked, asked.also)
    found = session.search(checked_query(asked.query), k=asked.k, **_options(asked))
    _warn_of_no_project(session, asked, found.trace)
    return SearchAnswer.of(found.hits, found.plan, found.trace, asked.query, highlights=asked.highlights)


def context(caller: Caller, asked: requests.ContextRequest) -> ContextAnswer:
    """Answer a question within a token budget."""
    return ContextAnswer.of(_context(caller, asked), texts=asked.texts, highlights=asked.highlights)


def explain(caller: Caller, asked: requests.ContextRequest) -> ExplainAnswer:
    """Answer a question with its whole trace."""
    return _explained(_context(caller, asked, explained=True), texts=asked.texts, highlights=asked.highlights)


def find(caller: Caller, asked: requests.FindRequest) -> FindAnswer:
    """Find an exact text or a pattern."""
    session = caller.session(asked, asked.also)
    look = session.find_pattern if asked.regex else session.find
    found = look(asked.query, limit=asked.limit + 1, narrow=narrow_of(asked), deadline=asked.timeout or _SECONDS)
    matches = [
        OccurrenceAnswer(one.uri, one.line, one.column, one.match, one.text, one.kind, one.label)
        for one in found[: asked.limit]
    ]
    return FindAnswer(asked.query, matches, len(found) > asked.limit)


def facets(caller: Caller, asked: requests.FacetsRequest) -> ExplainAnswer:
    """Answer a question by facets of a person."""
    own = [Facet(one.name, one.title or one.name, one.question, one.rationale, one.topics, one.weight) for one in asked.own]
    answer = caller.session(asked).facets(
        checked_query(asked.query),
        budget=asked.budget,
        count=asked.count,
        own=own,
        min_score=asked.min_score,
        k=asked.k,
        history=asked.history,
        deadline=asked.timeout or _SECONDS,
    )
    return _explained(answer, texts=True)


def task(caller: Caller, asked: requests.TaskRequest) -> TaskAnswer:
    """Make the prompt of a task, with its context."""
    from contextd.app.tasks import Task

    wanted = Task(asked.title, asked.description, asked.type, asked.complexity, asked.task_id, narrow_of(asked))
    session = caller.session(asked, asked.also)
    found = session.task(wanted, min_score=asked.min_score, deadline=asked.timeout or _SECONDS)
    inner = None if found.context is None else ContextAnswer.of(found.context, texts=True, highlights=False)
    keywords = list(found.context.plan.terms) if found.context is not None else []
    return TaskAnswer(asked.task_id, found.prompt, found.budget, keywords, inner, _by_retriever(inner), found.warnings)


def hook(caller: Caller, asked: requests.HookRequest) -> HookAnswer:
    """Give the context of an agent's prompt, if its project is indexed."""
    from contextd.app.prompts import for_prompt, is_trivial
    from contextd.app.root import find_root

    if is_trivial(asked.prompt) or not asked.directory.startswith("/"):
        return HookAnswer("")
    try:
        session = caller.service.session(caller.token, str(find_root(checked_path(asked.directory))))
    except NotFound:  # says nothing about folders that are not projects
        return HookAnswer("")
    conversation = f"{caller.token.id}:{asked.conversation}" if asked.conversation else ""
    return HookAnswer(for_prompt(session, asked.prompt, conversation, caller.service.given))


def narrow_of(asked: requests.Narrowed) -> Narrow:
    """Return the filters of a request."""
    recall = None
    if isinstance(asked, requests.SearchRequest):
        as_of = moment("as_of", asked.as_of)
        recall = Recall(frozenset(asked.topics), asked.conversation, asked.min_confidence, as_of, depth=asked.depth)
    return Narrow(
        asked.paths,
        [one.lower() for one in asked.languages],
        [one.lower() for one in asked.kinds],
        asked.personal,
        moment("since", asked.since),
        moment("until", asked.until),
        recall,
        isinstance(asked, requests.SearchRequest) and asked.memories_only,
        asked.exclude,
    )


def _options(asked: requests.SearchRequest) -> dict[str, Any]:
    return {
        "min_score": asked.min_score,
        "narrow": narrow_of(asked),
        "history": asked.history,
        "rerank": asked.rerank,
        "ranker": asked.ranker,
        "mmr_lambda": asked.mmr_lambda,
        "cache": asked.cache,
        "deadline": asked.timeout or _SECONDS,
    }


def _context(caller: Caller, asked: requests.ContextRequest, *, explained: bool = False) -> Context:
    session, k = caller.session(asked, asked.also), MOST_HITS if asked.k is None else asked.k
    answer = session.preview if explained else session.context
    found = answer(checked_query(asked.query), budget=asked.budget, template=asked.template, k=k, **_options(asked))
    _warn_of_no_project(session, asked, found.trace)
    return found


def _warn_of_no_project(session: Session, asked: requests.SearchRequest, trace: Trace) -> None:
    named = session.project is not None or session.others or session.unindexed is not None
    if not named and not asked.memories_only:
        trace.warn("no project is named, so personal memories and chats alone were searched")


def _explained(answer: Context, *, texts: bool, highlights: bool = False) -> ExplainAnswer:
    return ExplainAnswer(
        ContextAnswer.of(answer, texts=texts, highlights=highlights),
        PlanAnswer.of(answer.plan),
        dict(answer.plan.terms),
        TraceAnswer.of(answer.trace),
    )


def _by_retriever(context: ContextAnswer | None) -> dict[str, list[str]]:
    """Return the ids of hits by the retriever that contributed most to each."""
    found: dict[str, list[str]] = {}
    for hit in context.hits if context is not None else ():
        best = max(hit.why, key=lambda name: hit.why[name], default="")
        found.setdefault(best, []).append(hit.id)
    return found
