"""FACETS ► understand ► interpret ► divide ► retrieve ► judge ► cut ► diversify ► allot ► compress ► render.

Answers the same question as `querying/pipeline.py`, but from a person's memories and by facets. This module alone defines the
order of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from contextd.errors import InvalidInput
from contextd.ports.store import View
from contextd.ports.world import Embedder, Matrix
from contextd.querying import pipeline
from contextd.querying.cut import cut
from contextd.querying.diversify import diversify
from contextd.querying.facets.allot import Costs, allot
from contextd.querying.facets.compress import Statement, compress
from contextd.querying.facets.divide import USUAL, divide
from contextd.querying.facets.facet_table import aspects_of
from contextd.querying.facets.interpret import interpret, without_amounts
from contextd.querying.facets.judge import BOOSTS, Signals, relevance, sides
from contextd.querying.pipeline import QueryResources
from contextd.querying.render import headed, warn_of_hidden
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.text.classifiers import likelihoods
from contextd.values.answer import Candidate, Context, Hit, Retrieved
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.query import Facet, Plan, Query
from contextd.values.retrieval import Wanted
from contextd.values.trace import Trace

TEMPLATE = "facets"
_LOOKED_AT = 80  # nearest facts, whose texts are read
_NEAR = 200  # facts near the question itself
_BY_FACET = 40  # facts retrieved for each facet
_NEARLY = 0.75  # factor on min_score for the best fact of an otherwise empty facet, if the answer has a fact above `_SURE`
_SURE = 0.95
_CERTAIN = 0.9  # a question for one thing gets only facts above this, if there are any
_TOPIC = 0.1  # if the fact has a topic of its facet
_PINNED, _FEEDBACK = 0.1, 0.02  # against boosts by kind of at most .15
_PLAIN = 0.7  # factor on min_score for a question without facets, which has fewer features
_KNOWN = Facet("known", "What Is Known", "What is known of this?")  # for a question without a subject


@dataclass(frozen=True, slots=True)
class Facets:
    """How to divide a question: the number of facets, or the caller's own facets."""

    count: int = USUAL
    own: Sequence[Facet] = ()
    topics_of: Callable[[str], Sequence[str]] = lambda _: ()


def faceted(query: Query, resources: QueryResources, asked: Facets) -> Context:
    """Return the facts relevant for a question, by facet, within the budget; empty if none is relevant."""
    if query.budget <= 0:
        raise InvalidInput(f"invalid value for budget: {query.budget} (must be at least 1)")
    trace = Trace(query.deadline)
    query = pipeline.checked(query, trace)
    plan = trace.step("understand", lambda: understand(query))
    with ExitStack() as open_views:
        views = [view for view in pipeline.views_of(query, plan, resources, open_views, trace) if view.size]
        asked_for = replace(plan, text=without_amounts(plan.text))
        vectors = vectors_of(views, asked_for, resources.embedders, trace, resources.known, resources.no_model)
        embedders = [one for one in resources.embedders(set(vectors)) if one.space in vectors]
        plan = trace.attempt("interpret", lambda: interpret(plan, _as_text(plan.text, embedders)), plan)
        plan = replace(plan, facets=trace.step("divide", lambda: divide(plan, asked.topics_of, asked.count, asked.own)))
        hits = list[Hit]()
        for view in views if plan.facets and embedders else ():
            work = partial(_found, view, plan, query, embedders, vectors, asked, trace)
            hits += trace.attempt("facts", work, [])
    if not plan.facets or not embedders:
        plan = replace(plan, facets=plan.facets or (_KNOWN,))
        hits = _plainly(query, plan, resources, trace)
    costs = _costs(hits, plan.facets, resources)
    chosen = trace.step("allot", lambda: allot(hits, plan.facets, query.budget, costs, trace))
    text = trace.step("render", lambda: _text(chosen, plan.facets))
    while resources.tokens.count(text) > query.budget:  # enforces the budget: parts may cost more together than separately
        chosen = chosen[:-1]
        text = _text(chosen, plan.facets)
    warn_of_hidden(chosen, trace)
    if hits and not chosen:
        found = "1 memory is" if len(hits) == 1 else f"{len(hits)} memories are"
        trace.warn(f"{found} relevant, but none fits into a budget of {query.budget} tokens; raise the budget")
    return Context(
        text, resources.tokens.count(text), query.budget, resources.tokens.name, TEMPLATE, tuple(chosen), plan, trace,
        len(chosen) < len(hits),
    )  # fmt: skip


def _as_text(text: str, embedders: Sequence[Embedder]) -> dict[str, NDArray[np.float32]]:
    """Embed the question as a document: act and subject are classified by what is said, not by what is searched for."""
    return {embedder.space: embedder.documents([text])[0] for embedder in embedders}


def _plainly(query: Query, plan: Plan, resources: QueryResources, trace: Trace) -> list[Hit]:
    """Return hits for a question without facets or without vectors: one block, by the ordinary relevance."""
    hits, _, found = pipeline.search(replace(query, min_score=_PLAIN * query.min_score), resources)
    for warning in found.warnings if query.text.strip() else ():
        trace.warn(warning)
    return [replace(hit, facet=plan.facets[0].name) for hit in hits]


def _text(hits: Sequence[Hit], facets: Sequence[Facet]) -> str:
    blocks = [(facet.title, compress([hit for hit in hits if hit.facet == facet.name])) for facet in facets]
    return headed([(title, *_parted(statements)) for title, statements in blocks if statements])


def _parted(statements: Sequence[Statement]) -> tuple[list[str], list[str]]:
    """Separate short statements from facts in full."""
    return [str(one) for one in statements if one.attribute], [str(one) for one in statements if not one.attribute]


def _costs(hits: Sequence[Hit], facets: Sequence[Facet], resources: QueryResources) -> Costs:
    """Return the costs of the parts of an answer, each by itself."""
    count = resources.tokens.count
    frame = count(headed([("", [], [])]))
    return Costs(
        frame,
        {facet.name: count(headed([(facet.title, [], [])])) - frame + 1 for facet in facets},
        {hit.chunk.id: 1 + max(count(f"- {one}\n") for one in compress([hit])) for hit in hits},
    )


def _found(
    view: View,
    plan: Plan,
    query: Query,
    embedders: Sequence[Embedder],
    vectors: Mapping[str, Matrix],
    asked: Facets,
    trace: Trace,
) -> list[Hit]:
    """Return the relevant facts of one workspace, each with its facet."""
    held = [embedder for embedder in embedders if view.spaces.get(embedder.space)]
    vectors = {embedder.space: vectors[embedder.space] for embedder in held}
    found = trace.step("retrieve", lambda: _candidates(view, plan, held, vectors)) if held else Retrieved((), {})
    if not found.chunks:
        return []
    facts = trace.step("read", lambda: _read(view, plan, found, held, vectors, asked))
    likely = trace.step("judge", lambda: _relevance(facts, plan))
    belongs = _sides(facts, plan, held, likely, bool(asked.own))
    topics = {facet.name: set(facet.topics) for facet in plan.facets}
    order = [
        score + _raised(about, plan.subject) + _TOPIC * bool(topics[name] & set(about.topics))
        for score, about, name in zip(likely.tolist(), facts.about, belongs, strict=True)
    ]
    candidates = [Candidate(chunk, {}, score) for chunk, score in zip(facts.chunks, order, strict=True)]
    by_chunk = dict(zip(facts.chunks, likely.tolist(), strict=True))
    best_first = sorted(candidates, key=lambda one: (-one.score, one.chunk))
    least = max(query.min_score, _CERTAIN) if plan.act == "recall" and likely.max() >= _CERTAIN else query.min_score
    side = dict(zip(facts.chunks, belongs, strict=True))
    enough = trace.step("cut", lambda: cut(best_first, by_chunk, least, trace))
    kept = [*enough, *_nearly(best_first, enough, side, by_chunk, least)]
    close = view.vectors([one.chunk for one in kept], held[0].space)
    spread = trace.step("diversify", lambda: diversify(kept, close, query.k, relevance=query.mmr_lambda))
    return [
        Hit(
            facts.read[one.chunk], by_chunk[one.chunk], one.score, {"relevance": round(by_chunk[one.chunk], 4)}, side[one.chunk]
        )
        for one in spread
    ]


def _nearly(
    candidates: Sequence[Candidate],
    enough: Sequence[Candidate],
    side: Mapping[ChunkId, str],
    likely: Mapping[ChunkId, float],
    least: float,
) -> list[Candidate]:
    """For each facet that would stay empty, return its best fact if it is nearly relevant enough."""
    taken = {side[one.chunk] for one in enough}
    found: dict[str, Candidate] = {}
    for one in candidates if enough and max(likely.values()) >= _SURE else ():
        if side[one.chunk] not in taken and likely[one.chunk] >= _NEARLY * least:
            found.setdefault(side[one.chunk], one)
    return list(found.values())


def _candidates(view: View, plan: Plan, held: Sequence[Embedder], vectors: Mapping[str, Matrix]) -> Retrieved:
    """Return facts near the question in any arm, and facts near each facet's question."""
    retrieved, static = retrieve(view, plan, vectors), held[0]
    asked = (Wanted(_BY_FACET, vectors={static.space: static.query(facet.question)}) for facet in plan.facets)
    of_facets = [one.chunk for wanted in asked for one in view.retrieve(wanted).found[static.space]]
    return replace(retrieved, chunks=tuple(dict.fromkeys((*retrieved.chunks[:_NEAR], *of_facets))), arms={})


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts that were read, with their features in each tier and their similarity to each facet."""

    chunks: list[ChunkId]
    read: dict[ChunkId, Chunk]
    about: list[About]
    signals: dict[str, Signals]  # by space
    there: dict[str, NDArray[np.bool_]]  # which facts have a vector in each space
    near: NDArray[np.float64]  # one column per facet


def _read(
    view: View, plan: Plan, found: Retrieved, held: Sequence[Embedder], vectors: Mapping[str, Matrix], asked: Facets
) -> _Facts:
    chunks, rows = _nearest(view, found.chunks, held, vectors)
    read = {chunk.id: chunk for chunk in view.get(chunks)}
    about, coverage = view.about(chunks), found.scores(chunks).get("document_coverage", np.zeros(len(chunks)))
    wanted = set(asked.topics_of(plan.text))
    topics = np.array([float(bool(wanted & set(one.topics))) for one in about])
    kinds = [one.kind for one in about]
    static = rows[held[0].space] @ vectors[held[0].space]
    there = {space: np.asarray(matrix.any(axis=1)) for space, matrix in rows.items()}
    signals = {}
    for space in rows if not there[held[-1].space].all() else (held[-1].space,):  # the last space is the best
        tells = likelihoods("aspect", [read[chunk].text for chunk in chunks], space, rows[space])
        cosines = (rows[space] @ vectors[space]).astype(np.float64)
        signals[space] = Signals(cosines, static.astype(np.float64), coverage, topics, tells, kinds)
    asks = np.stack([held[-1].query(facet.question) for facet in plan.facets]) if asked.own else np.zeros((0, 0))
    near = rows[held[-1].space] @ asks.T if asked.own else np.zeros((len(chunks), 0))
    for column, facet in enumerate(plan.facets if asked.own else ()):  # a facet with topics takes only facts with these topics
        near[[bool(facet.topics) and not set(facet.topics) & set(one.topics) for one in about], column] = -1
    return _Facts(chunks, read, about, signals, there, near.astype(np.float64))


def _nearest(
    view: View, chunks: Sequence[ChunkId], held: Sequence[Embedder], vectors: Mapping[str, Matrix]
) -> tuple[list[ChunkId], dict[str, Matrix]]:
    """Return the facts nearest to the question by any vector, and their vectors by space."""
    rows = {embedder.space: view.vectors(chunks, embedder.space) for embedder in held}
    ranks = [np.argsort(np.argsort(-(rows[space] @ vectors[space]), kind="stable")) for space in rows]
    best = np.argsort(np.min(ranks, axis=0), kind="stable")[:_LOOKED_AT]
    return [chunks[place] for place in best.tolist()], {space: matrix[best] for space, matrix in rows.items()}


def _relevance(facts: _Facts, plan: Plan) -> NDArray[np.float64]:
    """Return how likely each fact is relevant, by the best tier it has a vector in."""
    subject = plan.subject or "information"
    found = np.zeros(len(facts.chunks))
    for space, signals in facts.signals.items():  # the static tier first; the deep tier overrides it where there is a vector
        if facts.near.size:
            signals = signals._replace(cosines=np.maximum(signals.cosines, facts.near.max(axis=1)))
        found = np.where(facts.there[space], relevance(signals, subject, space.split("/")[0]), found)
    return found


def _sides(facts: _Facts, plan: Plan, held: Sequence[Embedder], likely: NDArray[np.float64], own: bool) -> list[str]:
    """Return the facet of each fact: the nearest of the caller's own facets, or by the fact's aspects."""
    if own:
        return [plan.facets[best].name for best in facts.near.argmax(axis=1)]
    best = held[-1]
    claims = aspects_of(plan.facets, plan.subject)
    return sides(facts.signals[best.space], plan.subject, claims, likely, best.space.split("/")[0])


def _raised(about: About, subject: str) -> float:
    by_kind = BOOSTS.get(subject, {}).get(about.kind, 0.0)
    return by_kind + _PINNED * about.pinned + _FEEDBACK * max(-3, min(3, about.feedback))
