"""FACETS ► understand ► interpret ► divide ► retrieve ► limits ► compete ► need ► matter ► judge ► assign ► fill ► diversify ►
allot ► compress ► render.

Answers the same question as `querying/pipeline.py`, but from a person's memories and by facets. This module alone defines the
order of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from contextd.errors import InvalidInput
from contextd.ports.store import View
from contextd.ports.world import Embedder, Matrix, fact_embedder
from contextd.querying import pipeline
from contextd.querying.assisted.intend import intended
from contextd.querying.assisted.shorten import shortened
from contextd.querying.boost import recency
from contextd.querying.compete import alone, distances, likely_by, odds_by_standing, shared_words, standings
from contextd.querying.diversify import diversify
from contextd.querying.facets.allot import limits_first
from contextd.querying.facets.assign import assign, nearest, raised
from contextd.querying.facets.blocks import blocks_of, costs_of, headed_blocks, text_of
from contextd.querying.facets.divide import USUAL, divide
from contextd.querying.facets.facet_table import aspects_of
from contextd.querying.facets.fill import NEARLY, fill, is_filled
from contextd.querying.facets.interpret import interpret, without_amounts
from contextd.querying.facets.judge import answers, evidence, is_possible_limit, odds_of, relevant, until_enough
from contextd.querying.facets.limits import (
    LIMITS,
    RARE,
    SURELY,
    HardLimit,
    is_called_like_limits,
    is_sure,
    limits_for,
    most_pressing,
    touched,
    without_other_money,
)
from contextd.querying.facets.look_up import completed, with_newer
from contextd.querying.facets.need import Need, need
from contextd.querying.facets.traits import Traits, is_elsewhere, shared_concepts, traits_of
from contextd.querying.matter import ENOUGH, any_needed
from contextd.querying.pipeline import QueryResources
from contextd.querying.render import warn_of_hidden
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.text.aim import aimed
from contextd.text.classifiers import fitted
from contextd.text.hard_limits import is_budget
from contextd.text.natural_language import is_foreign, may_be_english
from contextd.text.needs import FACTS
from contextd.text.people import Mentions, mentions
from contextd.text.situations import situation_of
from contextd.text.wording import is_for_oneself, says_nothing, speaks_of_oneself
from contextd.values.answer import Candidate, Context, Hit, Retrieved
from contextd.values.document import About, Chunk, ChunkId
from contextd.values.query import Facet, Plan, Query
from contextd.values.trace import Trace

TEMPLATE = "facets"
_COMPARED, _LOOKED_AT = 600, 120  # facts that are compared with the question, and those whose texts are read
_LIMITS_LOOKED_AT = 40  # hard limits that are read besides
_CONCEPTS, _PERSON = 0.3, 0.8  # for a look-up, in the unit of standings: shared concepts, and the person meant
_DIGITS, _TOPIC = 6, 0.1  # of a score: further digits depend on the facts around it; what a topic of its facet adds
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
        named = replace(plan, text=without_amounts(plan.text))
        own = partial(_fitted, resources.embedders)
        vectors = vectors_of(views, named, own, trace, resources.known, resources.no_model)
        embedders = [one for one in own(set(vectors)) if one.space in vectors]
        as_text = _as_text(plan.text, embedders)
        plan = trace.attempt("interpret", lambda: interpret(plan, as_text), plan)
        topics = tuple(asked.topics_of(plan.text))  # of the person; the first is the domain
        plan = replace(plan, topics=topics, domain=next(iter(topics), ""))
        plan = intended(plan, query, resources.assistant, trace)
        asked = replace(asked, own=asked.own or [one for one in plan.facets if not is_called_like_limits(one)])
        divided = trace.step("divide", lambda: divide(plan, asked.topics_of, asked.count, asked.own))
        plan = replace(plan, facets=divided or (replace(_KNOWN, topics=plan.topics if plan.model else ()),))
        aims = {space: aimed(one, space) for space, one in vectors.items()}
        as_named = as_text if named.text == plan.text else _as_text(named.text, embedders)
        asking = _Asking(plan, query, asked, embedders, aims, as_text, named.text, as_named)
        hits = list[Hit]()
        for view in views:
            hits += trace.attempt("facts", partial(_found, view, asking, trace), [])
    chosen = trace.step(
        "allot",
        lambda: limits_first(
            hits, LIMITS, plan.facets, query.budget, costs_of(hits, (LIMITS, *plan.facets), resources.tokens.count), trace
        ),
    )
    text = trace.step("render", lambda: text_of(chosen, plan.facets))
    while resources.tokens.count(text) > query.budget:  # enforces the budget: parts may cost more together than separately
        chosen = chosen[:-1]
        text = text_of(chosen, plan.facets)
    short = _shorter(chosen, plan, query, resources, trace)
    text = headed_blocks(short) if short else text
    warn_of_hidden(chosen, trace)
    if hits and not chosen:
        found = "1 memory is" if len(hits) == 1 else f"{len(hits)} memories are"
        trace.warn(f"{found} relevant, but none fits into a budget of {query.budget} tokens; raise the budget")
    return Context(
        text, resources.tokens.count(text), query.budget, resources.tokens.name, TEMPLATE, tuple(chosen), plan, trace,
        len(chosen) < len(hits), tuple(line for _, lines in short for line in lines),
    )  # fmt: skip


def _fitted(embedders: Callable[[Collection[str]], Sequence[Embedder]], spaces: Collection[str]) -> list[Embedder]:
    """Return the models whose vectors facts can be judged by."""
    found = {one.space: one for one in embedders(spaces)}
    return [one for one in found.values() if one.space in fitted(found)]


def _as_text(text: str, embedders: Sequence[Embedder]) -> dict[str, NDArray[np.float32]]:
    """Embed the question as a document: act and subject are classified by what is said, not by what is searched for."""
    return {embedder.space: embedder.documents([text])[0] for embedder in embedders}


def _shorter(
    hits: Sequence[Hit], plan: Plan, query: Query, resources: QueryResources, trace: Trace
) -> list[tuple[str, Sequence[str]]]:  # fmt: skip
    """Return the blocks as a language model shortens them; none if it does not. What must not be missed stays as it is."""
    if resources.assistant is None:
        return []
    blocks = [(title, [str(one) for one in statements]) for title, statements in blocks_of(hits, plan.facets)]
    must, others = ([one for one in blocks if (one[0] == LIMITS.title) is there] for there in (True, False))
    short = shortened(others, query, resources.assistant, resources.tokens.count, trace, plan.private)
    made = [*must, *short]
    return made if short != others and resources.tokens.count(headed_blocks(made)) <= query.budget else []


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question with its vectors: aimed at facts, and as a text to be classified."""

    plan: Plan
    query: Query
    asked: Facets
    embedders: Sequence[Embedder]
    vectors: Mapping[str, Matrix]
    as_text: Mapping[str, NDArray[np.float32]]
    named: str  # the question without amounts, which name nothing
    as_named: Mapping[str, NDArray[np.float32]]

    def held(self, view: View) -> list[Embedder]:
        """The embedders whose vectors the view has. English models embed all facts of another language alike."""
        return [] if is_foreign(self.plan.text) else [one for one in self.embedders if view.spaces.get(one.space)]

    def space_for_facts(self) -> str:
        """The space of vectors for facts; none without the deep model."""
        own = fact_embedder(self.embedders[-1]) if self.embedders else None
        return own.space if own else ""


def _found(view: View, asking: _Asking, trace: Trace) -> list[Hit]:
    """Return the relevant facts of one workspace and its limits, each with its facet."""
    plan, held = asking.plan, asking.held(view)
    if says_nothing(plan.text):
        return []
    found = trace.step(
        "retrieve", lambda: retrieve(view, plan, {one.space: asking.vectors[one.space] for one in held}, near=_COMPARED)
    )
    situation = situation_of(asking.as_text[held[-1].space], held[-1].space) if held else ""
    reader, own_space = asking.query.scope.reader.name, asking.space_for_facts()
    limits = trace.step("limits", lambda: limits_for(plan.text, view, reader, situation, own_space))
    limits = without_other_money(limits, plan.text, buys=is_filled(plan.subject))
    if not found.chunks:
        return [one.as_hit(0.0) for one in most_pressing(touched(limits, plan.text), view.size, trace)]
    standing = trace.step("compete", lambda: _standing(view, found, held, asking))
    wants = trace.step("need", lambda: need(asking.named, asking.as_named, view, found, held, trace))
    gate = trace.step("matter", lambda: any_needed(plan.text, found, standing, asking.as_text, wants.odds, wants.tier))
    enough = ENOUGH[wants.tier]
    if gate < enough.limits and (wants.tier == FACTS or not speaks_of_oneself(plan.text)):
        limits = [one for one in limits if is_foreign(one.chunk.text) and one.odds >= SURELY]  # the gate does not know these
    may_answer = wants.looks_up and gate >= enough.look_up
    if not limits and not may_answer and gate < enough.facts:
        return []  # nothing can be shown, so nothing is read
    facts = trace.step("read", lambda: _read(view, found, standing, limits, held, wants, asking))
    likely = np.round(trace.step("judge", lambda: _odds(found, facts, limits, view.size)), _DIGITS)
    odds = np.round(odds_by_standing(facts.standing, view.size), _DIGITS) if asking.asked.own else likely
    shown = dict(zip(facts.chunks, likely_by(odds, gate).tolist(), strict=True))
    answer = _answers(facts, odds, view.size, asking) if may_answer else []  # if there is one, that alone is asked for
    best = answer or (relevant(odds, view.size) if gate >= enough.facts else [])
    must, budgets = _must([] if answer else limits, facts, likely, view.size, asking, trace)
    kept = list(dict.fromkeys([*_concerned(best, facts, {one.chunk.id for one in must}, shown, asking), *budgets]))
    chosen = {one.chunk.id: one.own for one in must} | {facts.chunks[place]: facts.own[place] for place in kept}
    there = {chunk for own in (True, False) for chunk in until_enough([one for one in chosen if chosen[one] is own], shown)}
    must = [one for one in must if one.chunk.id in there or (is_sure(one) and len(limits) <= RARE * view.size)]
    kept = [place for place in kept if facts.chunks[place] in there]
    kept, shown = with_newer(kept, facts.chunks, facts.about, odds, shown, view)
    names = trace.step("assign", lambda: _facets_of(facts, kept, asking))
    if kept and not wants.looks_up and is_filled(plan.subject) and not asking.asked.own:
        nearly = _concerned(relevant(odds, view.size, NEARLY), facts, {one.chunk.id for one in must}, shown, asking)
        kept, names = trace.step("fill", lambda: _filled(kept, names, nearly, facts, asking))
    first = [one.as_hit(shown.get(one.chunk.id, 0.0)) for one in must]
    return [*first, *_ordered(facts, kept, names, shown, view, asking, trace)]


def _must(
    limits: Sequence[HardLimit], facts: _Facts, likely: NDArray[np.float64], size: int, asking: _Asking, trace: Trace
) -> tuple[list[HardLimit], list[int]]:  # fmt: skip
    """Return the limits that must be shown, and the places of budgets among them: these are shown in their facets.

    With vectors, English limits are judged by how likely they matter. The odds say too little of those in other languages.
    """
    must = touched(limits, asking.plan.text)
    if facts.traits is not None and may_be_english(asking.plan.text):
        odds = dict(zip(facts.chunks, likely.tolist(), strict=True))
        of_limits = odds.keys() & {one.chunk.id for one in limits}
        english = {chunk for chunk in of_limits if not is_foreign(facts.read[chunk].text)}
        others = {chunk for chunk, other in zip(facts.chunks, facts.people.others, strict=True) if other}
        meant = english - others if is_for_oneself(asking.plan.text) else english
        spared = [one for one in must if one.own and is_sure(one)] if not all(facts.own) else []  # others cannot lower these
        judged = [
            one
            for one in limits
            if one.chunk.id in meant and (one in spared or is_possible_limit(odds[one.chunk.id], size, sure=is_sure(one)))
        ]
        further = [one for one in must if one.chunk.id not in english]
        must = [*sorted(judged, key=lambda one: -odds[one.chunk.id]), *further]
    must = most_pressing(must, size, trace)
    place_of = {chunk: place for place, chunk in enumerate(facts.chunks)}
    budgets = [one for one in must if one.chunk.id in place_of and is_budget(one.chunk.text)]
    return [one for one in must if one not in budgets], [place_of[one.chunk.id] for one in budgets]


def _answers(facts: _Facts, odds: NDArray[np.float64], size: int, asking: _Asking) -> list[int]:
    """Return the answer to a look-up, by standing if no vectors were trained for it; and newer values of its attribute."""
    found = answers(odds) if facts.wants.tier == FACTS and not asking.asked.own else alone(facts.standing, size)
    attributes = [(facts.read[chunk].label, about.whose) for chunk, about in zip(facts.chunks, facts.about, strict=True)]
    told = [about.modified for about in facts.about]
    return completed(asking.plan.text, found, attributes, told, facts.people, facts.own, odds)


def _filled(
    kept: list[int], names: list[str], nearly: list[int], facts: _Facts, asking: _Asking
) -> tuple[list[int], list[str]]:  # fmt: skip
    """Return the shown facts and their facets, with what fills the facets of a purchase, for the people meant."""
    people = facts.people
    meant = np.maximum(people.named, people.meant) if people.named.any() else 1 - people.others
    more = [place for place in nearly if place not in kept and meant[place]]
    labels = {place: facts.read[facts.chunks[place]].label for place in (*kept, *more)}
    shown = dict(zip(kept, names, strict=True))
    filled = fill(shown, dict(zip(more, _facets_of(facts, more, asking), strict=True)), labels)
    return list(filled), list(filled.values())


def _concerned(
    best: Sequence[int], facts: _Facts, limits: set[ChunkId], shown: Mapping[ChunkId, float], asking: _Asking
) -> list[int]:  # fmt: skip
    """Return the relevant facts that are no limits and concern the people and things that the question names."""
    text, buys, others = asking.plan.text, is_filled(asking.plan.subject), facts.people.others
    labels = {place: facts.read[facts.chunks[place]].label for place in best}
    return [
        place
        for place in best
        if shown[facts.chunks[place]] >= asking.query.min_score
        and facts.chunks[place] not in limits
        and not (is_for_oneself(text) and others[place])
        and not (buys and is_elsewhere(labels[place], text, of_others=bool(others[place])))
    ]


def _standing(view: View, found: Retrieved, held: Sequence[Embedder], asking: _Asking) -> NDArray[np.float64]:
    """Return the standing of each fact for the question, or for one of the caller's own facets if that is better."""
    standing = standings(found)
    for facet in asking.asked.own if held else ():
        vectors = {one.space: aimed(one.query(facet.question), one.space) for one in held}
        near = retrieve(view, replace(asking.plan, text=facet.question), vectors)
        by_chunk = dict(zip(near.chunks, standings(near).tolist(), strict=True))
        standing = np.maximum(standing, [by_chunk.get(chunk, -1.0) for chunk in found.chunks])
    return standing


@dataclass(frozen=True, slots=True)
class _Facts:
    """The most promising facts, read, best first. Ties: newest first."""

    places: list[int]  # among what was found
    chunks: Sequence[ChunkId]
    read: Mapping[ChunkId, Chunk]
    about: Sequence[About]
    standing: NDArray[np.float64]  # with the concepts and people that they share with the question
    concepts: NDArray[np.float64]
    people: Mentions
    wants: Need  # what the question needs, of all facts that were found
    needed: NDArray[np.float64]  # the log-odds of these facts
    space: str  # the best one
    vectors: Matrix
    traits: Traits | None
    own: list[bool]  # whether the reader stated them


def _read(
    view: View,
    found: Retrieved,
    standing: NDArray[np.float64],
    limits: Sequence[HardLimit],
    held: Sequence[Embedder],
    wants: Need,
    asking: _Asking,
) -> _Facts:
    """Read the limits, the facts of the best standing, and those that are needed for such a question."""
    space, needed = held[-1].space if held else "", wants.odds
    promising, of_limits = standing + needed, {one.chunk.id: one.own for one in limits}
    order = np.argsort(-promising, kind="stable").tolist()
    further = [place for place in order[_LOOKED_AT:] if found.chunks[place] in of_limits]
    further.sort(key=lambda place: not of_limits[found.chunks[place]])
    best = [*order[:_LOOKED_AT], *further[:_LIMITS_LOOKED_AT]]
    read = {chunk.id: chunk for chunk in view.get([found.chunks[place] for place in best])}
    places = [place for place in best if found.chunks[place] in read]
    said = {one: about.modified for one, about in zip(places, view.about([found.chunks[one] for one in places]), strict=True)}
    places.sort(
        key=lambda one: (-round(float(promising[one]), _DIGITS), -said[one], read[found.chunks[one]].text, found.chunks[one])
    )
    chunks = [found.chunks[place] for place in places]
    about, texts = view.about(chunks), [read[chunk].text for chunk in chunks]
    vectors, concepts = view.vectors(chunks, space), shared_concepts(asking.plan.text, texts)
    people = mentions(asking.plan.text, texts, [one.whose for one in about])
    raised = np.round(standing[places] + _CONCEPTS * concepts + _PERSON * (people.meant - people.others), _DIGITS)
    traits = traits_of(texts, [one.kind for one in about], space, vectors) if held else None
    needed = needed[places] + wants.question.by_concepts(texts)
    own = [one.stated_by == asking.query.scope.reader.name for one in about]
    return _Facts(places, chunks, read, about, raised, concepts, people, wants, needed, space, vectors, traits, own)


def _odds(found: Retrieved, facts: _Facts, limits: Sequence[HardLimit], size: int) -> NDArray[np.float64]:
    """Return the log-odds that each fact matters."""
    touched_by = {one.chunk.id: 1 / (1 + math.exp(-one.odds)) for one in limits if one.concerns}
    of_limits = np.array([touched_by.get(chunk, 0.0) for chunk in facts.chunks])
    shared = {**shared_words(found, facts.places), "concepts": facts.concepts}
    columns = evidence(distances(found, facts.places), shared, facts.needed, of_limits, facts.people, size)
    return odds_of(columns, facts.wants.tier)


def _facets_of(facts: _Facts, kept: Sequence[int], asking: _Asking) -> list[str]:
    """Return the facet of each fact: the nearest of the caller's own facets, or by the fact's aspects."""
    facets, subject = asking.plan.facets, asking.plan.subject
    if not kept or facts.traits is None or facets == (_KNOWN,):
        return [facets[0].name] * len(kept)
    if asking.asked.own:
        embedder = next(one for one in asking.embedders if one.space == facts.space)
        near = facts.vectors[kept] @ np.stack([embedder.query(facet.question) for facet in facets]).T
        return nearest(near, [facts.about[place].topics for place in kept], facets)
    traits = Traits(facts.traits.aspects[kept], [facts.traits.kinds[place] for place in kept])
    direct = [facts.wants.looks_up] * len(kept)
    return assign(traits, subject, aspects_of(facets, subject), direct, facts.space.split("/")[0])


def _ordered(
    facts: _Facts, kept: Sequence[int], names: Sequence[str], shown: Mapping[ChunkId, float], view: View, asking: _Asking,
    trace: Trace,
) -> list[Hit]:  # fmt: skip
    """Return the facts as hits: by relevance and what their kind, topics, pin and feedback add. Ties: as in `kept`."""
    topics = {facet.name: set(facet.topics) for facet in asking.plan.facets}
    facet = {facts.chunks[place]: name for place, name in zip(kept, names, strict=True)}
    last = max((facts.about[place].modified for place in kept), default=0)

    def worth(chunk: ChunkId, about: About) -> float:
        of_topic = bool(topics[facet[chunk]] & set(about.topics))
        return round(
            shown[chunk] + raised(about, asking.plan.subject, recency(about.modified, last)) + _TOPIC * of_topic, _DIGITS
        )

    candidates = [Candidate(facts.chunks[place], {}, worth(facts.chunks[place], facts.about[place])) for place in kept]
    best_first, query = sorted(candidates, key=lambda one: -one.score), asking.query
    close = view.vectors([one.chunk for one in best_first], facts.space)
    spread = trace.step("diversify", lambda: diversify(best_first, close, query.k, relevance=query.mmr_lambda))
    return [
        Hit(facts.read[one.chunk], shown[one.chunk], one.score, {"relevance": round(shown[one.chunk], 4)}, facet[one.chunk])
        for one in spread
    ]
