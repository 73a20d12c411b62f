"""QUERY ► understand ► consult ► retrieve ► fuse ► boost ► weigh ► rerank ► gather ► order ► calibrate ► cut ► diversify
► relate ► rank ► pack ► render.

This module alone defines the order of the steps. No step calls another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from contextd.errors import InvalidInput, Unavailable
from contextd.ports.store import Store, View
from contextd.ports.world import Embedder, Reranker, Retriever, Tokens
from contextd.querying.assisted.ask import Assistant
from contextd.querying.assisted.intend import intended
from contextd.querying.assisted.rescore import rescored
from contextd.querying.boost import boost, named
from contextd.querying.calibrate import WordEvidence, calibrate, falling
from contextd.querying.combine import combine
from contextd.querying.compete import compete
from contextd.querying.consult import consult
from contextd.querying.cut import cut
from contextd.querying.diversify import PER_DOCUMENT, diversify, limit_per_document
from contextd.querying.fuse import KEPT, fuse
from contextd.querying.gather import FILES, gather
from contextd.querying.gathered import Gathered
from contextd.querying.messages import said, unknown_names, with_author, with_earlier
from contextd.querying.order import SHORTLIST, asked_for, known_of, order, placed, shortlist, worth
from contextd.querying.pack import LIKELY, pack
from contextd.querying.precedents import precedents
from contextd.querying.price import prices_of
from contextd.querying.rank import RANKERS, RELEVANCE, Ranker, authors, commits_first, rank
from contextd.querying.reasons import say_why
from contextd.querying.recollect import chances, vectors_for
from contextd.querying.relate import relate
from contextd.querying.render import Template, render, warn_of_hidden
from contextd.querying.rerank import MOST as MOST_READ
from contextd.querying.rerank import SECONDS, rerank
from contextd.querying.retrieve import retrieve
from contextd.querying.shares import GIT_HISTORY, SEMANTIC, Shares, by_retriever, is_off, narrowed, weighed
from contextd.querying.understand import REPORT_WORDS, understand
from contextd.querying.vectors import NO_MODEL, QueryVectors, given, vectors_of
from contextd.querying.weigh import MOST as MOST_WEIGHED
from contextd.querying.weigh import weigh
from contextd.values.answer import CHANCE, Candidate, Context, Hit, Retrieved, Suggestion
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.query import Plan, Query, Scope
from contextd.values.trace import DeadlineExceeded, Trace

MOST_HITS = 200
_TALK = frozenset({"turns", "parts"})  # fields of chat and memory views; reranking does not improve code
REST = 0.5  # times min_score: once a file is relevant, the remaining budget may show less certain files
_MAX_MESSAGES = 40  # maximum number of messages and memories in an answer
_MIN_CHANCE = 0.0005  # of a chunk whose file is shown anyway; less likely ones only use up tokens
_NAMED = "named"  # among the reasons of a hit: the question names its file
POOL = 60  # messages of one chat considered for diversity
OF_ONE_DOCUMENT = 6


@dataclass(frozen=True, slots=True)
class QueryResources:
    """The stores, models, templates and rankers that answer a query."""

    stores: Mapping[int, Sequence[Store]]
    embedders: Callable[[Collection[str]], Sequence[Embedder]]  # called with the spaces in use, so unused models are not loaded
    tokens: Tokens
    templates: Mapping[str, Template]
    retrievers: Mapping[str, tuple[float, Retriever]] = field(default_factory=dict)
    fusion: str = "weighted"
    names: Mapping[int, str] = field(default_factory=dict)  # names of the other workspaces in the query
    reranker: Callable[[], Reranker | None] = lambda: None
    rankers: Mapping[str, Ranker] = field(default_factory=lambda: RANKERS)
    shares: Shares = field(default_factory=dict)  # weights of the built-in retrievers
    known: QueryVectors = field(default_factory=lambda: QueryVectors(0))
    no_model: str = NO_MODEL  # the warning if there is no embedding model
    assistant: Assistant | None = None  # a language model for optional steps


def search(query: Query, resources: QueryResources) -> tuple[list[Hit], Plan, Trace]:
    """Return the best hits of all workspaces in scope, with the plan and the trace."""
    with ExitStack() as open_views:
        return _search(query, resources, open_views, _spread)


def _search(query: Query, resources: QueryResources, open_views: ExitStack, choose: Choose) -> tuple[list[Hit], Plan, Trace]:
    """Return the hits of all workspaces in scope. `choose` selects hits from the candidates of one workspace."""
    trace = Trace(query.deadline)
    query = checked(query, trace, resources.rankers)
    plan = narrowed(trace.step("understand", lambda: understand(query)), resources.shares)
    plan = intended(plan, query, resources.assistant, trace)
    if not plan.text.strip() and query.vector is None:
        trace.warn("the query has only filters; add a word to search for" if query.text.strip() else "the query is empty")
    views = views_of(query, plan, resources, open_views, trace)
    vectors = _vectors(query, plan, resources, views, trace)
    others = {name: retriever for name, (_, retriever) in resources.retrievers.items()}
    suggested = trace.step("consult", lambda: consult(others, plan, trace)) if others and plan.text.strip() else {}
    pasts = [None] * len(views) if is_off(resources.shares, GIT_HISTORY) else _pasts(query, plan, views)
    lists = list[list[Hit]]()
    for view, past in ((view, past) for view, past in zip(views, pasts, strict=True) if view.size):
        try:
            lists.append(_search_one(view, past, plan, query, resources, vectors, suggested, choose, trace))
        except DeadlineExceeded as error:
            if not any(lists):
                raise
            trace.warn(f"not everything was searched: {error}")
    hits = rescored(combine(lists, min(query.k, plan.k or query.k)), plan, resources.assistant, query.deadline, trace)
    if query.ranker != RELEVANCE:
        hits = trace.step("rank", lambda: rank(hits, resources.rankers[query.ranker], query.now))
    elif plan.wants_history:
        hits = _monotonic(commits_first(hits, newest=plan.wants_latest))
    if plan.wants_people and (people := authors(hits)):
        trace.warn(f"authors of the matching commits: {people}")
    if not hits:
        say_why(views, plan, trace)
    executed = replace(plan, route="report") if any(pasts) else plan
    return hits, executed, trace


def context(query: Query, resources: QueryResources) -> Context:
    """Return the rendered answer to a query, within its token budget."""
    template = resources.templates.get(query.template)
    if template is None:
        raise InvalidInput(f"no such template: {query.template!r}; the templates are {', '.join(sorted(resources.templates))}")
    if query.budget <= 0:
        raise InvalidInput(f"invalid value for budget: {query.budget} (must be at least 1)")
    with ExitStack() as open_views:
        hits, plan, trace = _search(query, resources, open_views, _by_worth)
    prices = prices_of(hits, template, resources.tokens)
    chosen = trace.step("pack", lambda: pack(hits, query.budget, prices, plan.terms, trace))
    if hits and not chosen.hits:
        found = "1 piece was" if len(hits) == 1 else f"{len(hits)} pieces were"
        trace.warn(f"{found} found, but none fits into a budget of {query.budget} tokens; raise the budget")
    shown = _likeliest_first(chosen.hits) if query.ranker == RELEVANCE else chosen.hits
    if plan.wants_history and query.ranker == RELEVANCE:
        shown = _monotonic(commits_first(shown, newest=plan.wants_latest))
    text = trace.step("render", lambda: render(shown, template))
    warn_of_hidden(shown, trace)
    tokens = resources.tokens.count(text)
    return Context(
        text, tokens, query.budget, resources.tokens.name, template.name, tuple(shown), plan, trace, chosen.truncated
    )


def _likeliest_first(hits: Sequence[Hit]) -> list[Hit]:
    """Sort the chunks of files by probability, within each workspace; those of a file that the question names come first."""
    ordered: dict[int, list[Hit]] = {}
    for hit in sorted((hit for hit in hits if CHANCE in hit.why), key=lambda hit: (hit.why.get(_NAMED, 0), hit.why[CHANCE])):
        ordered.setdefault(hit.chunk.workspace, []).append(hit)
    found = [ordered[hit.chunk.workspace].pop() if CHANCE in hit.why else hit for hit in hits]
    return _monotonic(found)


def _monotonic(hits: Sequence[Hit]) -> list[Hit]:
    """Make the scores non-increasing in the order of the hits."""
    scores = falling([hit.score for hit in hits])
    return [replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]


def checked(query: Query, trace: Trace, rankers: Mapping[str, Ranker] = RANKERS) -> Query:
    """Check a query and return it, with `k` limited to MOST_HITS. Raises InvalidInput."""
    if query.ranker not in (RELEVANCE, *rankers):
        raise InvalidInput(f"no such ranker: {query.ranker!r}; the rankers are {', '.join(sorted((RELEVANCE, *rankers)))}")
    if not query.scope.workspaces:
        raise InvalidInput("no workspace to search; index a project first")
    if not query.k > 0:
        raise InvalidInput(f"invalid limit (k): {query.k} (must be at least 1)")
    if not 0 <= query.min_score <= 1:
        raise InvalidInput(f"invalid minimum score (min_score): {query.min_score:g} (must be between 0 and 1)")
    if query.k > MOST_HITS:
        trace.warn(f"the limit (k) was reduced to its maximum, {MOST_HITS}")
        query = replace(query, k=MOST_HITS)
    return query


def views_of(query: Query, plan: Plan, resources: QueryResources, stack: ExitStack, trace: Trace) -> list[View]:
    """Open a view of every store in scope, until the stack closes. Skips a store that is not ready in time, with a warning."""
    scope, found = replace(plan.scope, now=query.now), list[View]()
    for store in (store for workspace in query.scope.workspaces for store in resources.stores.get(workspace, ())):
        try:
            found.append(stack.enter_context(store.view(scope, query.deadline)))
        except Unavailable as error:
            trace.warn(f"not everything was searched: {error}")
    return found


def _vectors(
    query: Query, plan: Plan, resources: QueryResources, views: Sequence[View], trace: Trace
) -> dict[str, NDArray[np.float32]]:
    """Return the query vectors by space: the caller's own vector, or the text embedded."""
    if query.vector is not None or is_off(resources.shares, SEMANTIC):
        return given(query.vector, views) if query.vector is not None else {}
    return vectors_of(views, plan, resources.embedders, trace, resources.known, resources.no_model)


def _pasts(query: Query, plan: Plan, views: Sequence[View]) -> list[View | None]:
    """For a report, return the view of commits that belongs to each view; None where there are no commits."""
    if plan.wants_history or not query.occasional or len(plan.text.split()) < REPORT_WORDS:
        return [None] * len(views)
    pasts = [view.within(Scope(plan.scope.workspaces, plan.scope.reader, query.occasional)) for view in views]
    return [past if past.size else None for past in pasts]


def _search_one(
    view: View,
    past: View | None,
    plan: Plan,
    query: Query,
    resources: QueryResources,
    vectors: Mapping[str, NDArray[np.float32]],
    suggested: Mapping[str, Sequence[Suggestion]],
    choose: Choose,
    trace: Trace,
) -> list[Hit]:
    """Return the hits of one workspace, using its own statistics and the vector spaces it has."""
    held = {space: vector for space, vector in vectors.items() if view.spaces.get(space)}
    memories = "parts" in view.fields
    held = vectors_for(held, plan, query) if memories else held
    if "turns" in view.fields:
        plan = replace(plan, route="chat")
    before: dict[str, Sequence[Suggestion]] = {}
    if past is not None:
        before = {"history": trace.attempt("precedents", lambda: precedents(past, plan), [])}
        plan = replace(plan, route="report")
    shares = weighed(resources.shares, plan, vectors=bool(held))
    off = [arm for arm, share in shares.items() if not share]
    retrieved = trace.step("retrieve", lambda: retrieve(view, plan, held, {**suggested, **before}, off))
    trace.propose(by_retriever(retrieved.proposed))
    weights = {name: weight for name, (weight, _) in resources.retrievers.items()}
    most = max(POOL, query.k) * 2 if memories else KEPT  # `boost` raises files further than memories
    weighted = partial(fuse, route=plan.route, method=resources.fusion)
    join = compete if memories and held and resources.fusion != "rrf" else weighted
    fused = trace.step("fuse", lambda: join(retrieved, more=weights, most=most, shares=shares))
    about = view.about([one.chunk for one in fused])
    boosted = trace.step("boost", lambda: boost(fused, about, plan))
    if "turns" in view.fields:
        boosted = trace.step("weigh", lambda: weigh(boosted, said(boosted[:MOST_WEIGHED], view), plan.text))
    if query.rerank and view.fields & _TALK and plan.text.strip():
        boosted = trace.attempt("rerank", lambda: _reranked(boosted, view, plan, query, resources), boosted)
    asked_for = _asked_for(fused, about, plan, view)
    read: dict[ChunkId, Chunk] = {}
    focus: dict[ChunkId, int] = {}
    if not view.fields & _TALK:
        known = {one.chunk: where for one, where in zip(fused, about, strict=True)}
        boosted, read, focus = _open_files(view, boosted, known, retrieved, plan, trace)
    known_words = retrieved.strength is not None and not view.fields & _TALK
    words = WordEvidence(retrieved.strength or 0.0, view.size) if known_words else None
    unknown = unknown_names(plan.entities, retrieved) if "turns" in view.fields else None
    likely = trace.step("calibrate", lambda: calibrate(boosted, asked_for, suggested, words, unknown))
    if memories and query.vector is None:
        likely = trace.step("matter", lambda: chances(likely, retrieved, view, plan, held, resources.embedders, trace))
    kept = trace.step("cut", lambda: cut(boosted, likely, query.min_score, trace))
    some = choose(_Pool(view, boosted, kept, likely, read, held), query, trace) if kept else []
    missing = [one.chunk for one in some if one.chunk not in read]
    chunks = read | ({chunk.id: chunk for chunk in view.get(missing)} if missing else {})
    hits = _hits([one for one in some if one.chunk in chunks], chunks, likely, asked_for, focus, resources.names)
    depth = plan.scope.recall.depth if plan.scope.recall is not None else 0
    return trace.step("relate", lambda: relate(hits, view, depth, query.k)) if depth and hits else hits


def _hits(
    chosen: Sequence[Candidate],
    chunks: Mapping[ChunkId, Chunk],
    likely: Mapping[ChunkId, float],
    asked_for: Collection[ChunkId],
    focus: Mapping[ChunkId, int],
    names: Mapping[int, str],
) -> list[Hit]:
    """Return the chosen candidates as hits, with scores that do not rise."""
    scores = falling([likely[one.chunk] for one in chosen])
    return [
        Hit(_with_project(chunks[one.chunk], names), score, one.score, _why(one, asked_for), focus=focus.get(one.chunk, 0))
        for one, score in zip(chosen, scores, strict=True)
    ]


def _asked_for(fused: Sequence[Candidate], about: Sequence[About], plan: Plan, view: View) -> set[ChunkId]:
    """Return the chunks of files that the question names, and messages of the time and person it asks for."""
    found = {one.chunk for one, where in zip(fused, about, strict=True) if named(where.uri, plan.paths)}
    if plan.bare and "turns" in view.fields:
        wanted = [arm for arm, there in (("during", plan.windows), ("name", plan.entities)) if there]
        found |= {one.chunk for one in fused if all(one.arms.get(arm, 0) > 0 for arm in wanted)}
    return found


def _open_files(
    view: View, ranked: list[Candidate], about: Mapping[ChunkId, About], retrieved: Retrieved, plan: Plan, trace: Trace
) -> tuple[list[Candidate], dict[ChunkId, Chunk], dict[ChunkId, int]]:
    """Open the best files. Returns the reordered candidates, the chunks read, and the lines of declarations."""
    gathered = trace.step("gather", lambda: gather(ranked, about, retrieved, plan, view))
    known = known_of(gathered, plan)
    listed = shortlist(known, asked_for(gathered, plan))
    _note_unread(gathered, listed, trace)
    chunks = {chunk.id: chunk for chunk in view.get([gathered.chunks[place] for place in listed])}
    places = [place for place in listed if gathered.chunks[place] in chunks]
    texts = [chunks[gathered.chunks[place]] for place in places]
    ordered = trace.step("order", lambda: order(gathered, known, places, texts, plan))
    return placed(ranked, gathered, places, ordered, plan), chunks, {one: line for one, (_, line) in gathered.declared.items()}


def _note_unread(gathered: Gathered, listed: Sequence[int], trace: Trace) -> None:
    """Add a trace entry for each unread chunk of an opened file and for each file that was not opened."""
    trace.drop_all("order", f"less likely than the {SHORTLIST} chunks that are read", lambda: gathered.without(listed))
    trace.drop_all("gather", f"behind the {FILES} files that are opened", gathered.closed)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Input for choosing the hits of one workspace: all candidates, and those above the threshold (`kept`)."""

    view: View
    candidates: Sequence[Candidate]
    kept: Sequence[Candidate]
    likely: Mapping[ChunkId, float]
    read: Mapping[ChunkId, Chunk]
    vectors: Mapping[str, NDArray[np.float32]]


Choose = Callable[[_Pool, Query, Trace], list[Candidate]]


def _spread(pool: _Pool, query: Query, trace: Trace) -> list[Candidate]:
    """For a list of hits: the best chunks of several files, near-duplicates last; the same order for any threshold."""
    several = "turns" in pool.view.fields  # any number of messages of one chat may answer
    best = limit_per_document(pool.candidates, POOL if several else max(OF_ONE_DOCUMENT, query.k))
    most = query.k if several else PER_DOCUMENT
    space = max(pool.vectors, key=lambda name: (name.startswith("static/"), name), default="")
    vectors = pool.view.vectors([one.chunk for one in best], space)
    share, kept = query.mmr_lambda, {one.chunk for one in pool.kept}
    days = [one.chunk.document for one in best] if several else None
    return trace.attempt(
        "diversify",
        lambda: diversify(best, vectors, query.k, relevance=share, most=most, shown=kept, groups=days),
        [one for one in best if one.chunk in kept][: query.k],
    )


def _by_worth(pool: _Pool, query: Query, trace: Trace) -> list[Candidate]:
    """For an answer: the chunks read from relevant files, by probability per token. For chats and memories, as `_spread`."""
    if not pool.read:
        return _spread(pool, replace(query, k=min(query.k, _MAX_MESSAGES)), trace)
    least, read = query.rest_score, [one for one in pool.candidates if one.chunk in pool.read]
    relevant = {one.chunk.document for one in pool.candidates if pool.likely[one.chunk] >= least}
    inside = [one for one in read if one.chunk.document in relevant]
    shown = {one.chunk.document for one in inside if one.arms[CHANCE] >= LIKELY}
    least_of = {one.chunk: _MIN_CHANCE if one.chunk.document in shown else LIKELY for one in inside}
    kept = [one for one in inside if one.arms[CHANCE] >= least_of[one.chunk]]
    _note_unlikely(read, pool.read, least_of, least, trace)
    ordered = sorted(kept, key=lambda one: (one.arms[CHANCE] < LIKELY, -worth(one, pool.read[one.chunk]), one.chunk))
    return ordered[: query.k]


def _note_unlikely(
    read: Sequence[Candidate], chunks: Mapping[ChunkId, Chunk], least_of: Mapping[ChunkId, float], least: float, trace: Trace
) -> None:
    """Add a trace entry for each chunk that was read and is left out: `least_of` has the required chances of relevant files."""
    for one in (one for one in read if one.arms[CHANCE] < least_of.get(one.chunk, 2.0)):
        place, needed = f"{chunks[one.chunk].uri}:{chunks[one.chunk].start_line}", least_of.get(one.chunk)
        if needed is None:
            trace.drop("cut", place, f"relevance of the file below {least:g}")
        else:
            trace.drop("order", place, f"a chance below {needed:g} of holding the answer")


def _reranked(boosted: Sequence[Candidate], view: View, plan: Plan, query: Query, resources: QueryResources) -> list[Candidate]:
    """Reorder the best candidates with the reranker, as far as time allows. Raises Unavailable without a model."""
    reranker = resources.reranker()
    if reranker is None:
        raise Unavailable("the reranking model is not installed; run `contextd models fetch`")
    pairs = with_earlier(boosted[:MOST_READ], view)
    texts = [" ".join(with_author(chunk) for chunk in pair if chunk is not None) for pair in pairs]
    end = time.monotonic() + SECONDS
    return rerank(boosted, texts, plan.text, reranker, end if query.deadline is None else min(end, query.deadline))


def _with_project(chunk: Chunk, names: Mapping[int, str]) -> Chunk:
    """Prefix the path of a chunk of another project with the project's name."""
    name = names.get(chunk.workspace)
    return replace(chunk, uri=f"{name}:{chunk.uri}") if name else chunk


def _why(candidate: Candidate, asked_for: Collection[ChunkId]) -> dict[str, float]:
    found = {name.split("/")[0]: round(value, 4) for name, value in candidate.arms.items() if value > 0 or name == CHANCE}
    return found | ({_NAMED: 1.0} if candidate.chunk in asked_for else {})
