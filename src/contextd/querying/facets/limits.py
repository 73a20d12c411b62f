"""Find the facts that must not be missed: hard limits that the question touches, whatever their standing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contextd.ports.store import View
from contextd.querying.facets.traits import is_budget_elsewhere
from contextd.text.hard_limits import ANY, DOMAINS, is_budget, limit_log_odds, limit_term, question_domains
from contextd.text.invisible import visible
from contextd.text.limit_words import classes_of
from contextd.text.natural_language import is_foreign, language_of, may_be_english
from contextd.text.patterns import pattern
from contextd.text.severity import LIMIT, SEVERE, severities
from contextd.text.terms import PARTS, key
from contextd.text.wording import is_about_world
from contextd.values.answer import Hit
from contextd.values.document import Chunk
from contextd.values.query import Facet
from contextd.values.retrieval import Wanted, Words
from contextd.values.trace import Trace

LIMITS = Facet("must", "Must Be Respected", "Which limits must not be missed?", "what harms comes before taste")
MOST, _READ = 1000, 200  # limits that are found, and those whose texts are read: the reader's own first
_OWN = 10.0  # weight of a domain of the question: of more limits than that, its own are read
_TOUCHES = -2.75  # log-odds from which a question touches a limit
_TOUCHES_ACROSS, SURELY = -1.0, 0.0  # the same for a limit in another language; and if nothing else seems to matter
_MONEY = -0.5  # log-odds from which a question touches a budget
_ALL, _OF_ALL = 20, 0.1  # limits that are shown, and their share of all facts: the larger number
RARE = 0.33  # share of all facts: if more of them are limits, these are tastes, which end when enough is right
_INTRODUCED = 4  # words at the start of a fact that say whom it is about
_FOR_SOMEBODY = re.compile(
    r"\b(?:schenk\w+ (?:ich|wir)|geschenk für|cadeau pour|offrir à|regal(?:o para|ar a)) "
    r"(?!mir\b|uns\b|moi\b|nous\b)(?:[a-zäöüß]\w+ )?[A-ZÄÖÜ]\w+|"
    r"\bfor (?:my |our )?(?!me\b|us\b|Christmas\b|Easter\b)(?:[A-Z]\w+|(?:mother|father|sister|brother|wife|husband)\b)"
)


class HardLimit(NamedTuple):
    """A fact that is a hard limit."""

    chunk: Chunk
    odds: float  # log-odds that the question touches it
    severity: float  # the probability that it is a hard limit, not a taste or a habit
    concerns: bool  # whether it applies to a person whom the question names or includes
    own: bool  # whether the reader stated it, and no program or other person

    def as_hit(self, score: float) -> Hit:
        """Return the limit as a hit; the reader's own come before what others say."""
        return Hit(self.chunk, score, 1 + score + self.own, {"limit": 1.0, "relevance": round(score, 4)}, LIMITS.name)


def limits_for(text: str, view: View, reader: str, situation: str = "", space: str = "") -> list[HardLimit]:
    """Return the hard limits of a person and of people close to them, the likeliest to be touched first.

    `space` is that of vectors for facts, which tell hard limits from tastes and habits better than words alone. Memories that
    older versions saved are found by the domains of their limits.
    """
    if "parts" not in view.fields:
        return []
    domains = question_domains(text, situation)
    terms = {key(limit_term(domain), PARTS): _OWN if domain in domains else 1.0 for domain in (*DOMAINS, ANY)}
    found = [one.chunk for one in view.retrieve(Wanted(MOST, {"parts": Words("parts", terms, MOST)})).found["parts"]]
    about = dict(zip(found, view.about(found), strict=True))
    own = {chunk for chunk, one in about.items() if one.stated_by == reader}
    about_world = is_about_world(text) and "at_hand" not in classes_of(text)  # what's for dinner tonight: of the person
    limits = _limits_among(view.get(sorted(found, key=lambda chunk: chunk not in own)[:_READ]), view, space)
    odds = limit_log_odds(text, [chunk.text for chunk, _ in limits], domains, about_world=about_world).tolist()
    known = [
        HardLimit(chunk, round(one, 6), severity, _concerns(text, chunk.text, about[chunk.id].whose, domains), chunk.id in own)
        for (chunk, severity), one in zip(limits, odds, strict=True)
    ]
    return sorted(known, key=lambda one: (-one.odds, one.chunk.text, one.chunk.id))


def _limits_among(chunks: Sequence[Chunk], view: View, space: str) -> list[tuple[Chunk, float]]:
    """Return the facts that are hard limits, each with the probability of that."""
    none = np.zeros((len(chunks), 1), np.float32)
    vectors = view.vectors([chunk.id for chunk in chunks], space) if view.spaces.get(space) else none
    likely = severities([chunk.text for chunk in chunks], vectors).tolist()
    return [(chunk, one) for chunk, one in zip(chunks, likely, strict=True) if one >= LIMIT]


def is_called_like_limits(facet: Facet) -> bool:
    """Return whether the name or title of a facet is that of the hard limits, as it is rendered."""
    names = {" ".join(visible(one).split()).rstrip(": ").casefold() for one in (facet.name, facet.title)}
    return bool(names & {LIMITS.name, LIMITS.title.casefold()})


def touched(limits: Sequence[HardLimit], question: str) -> list[HardLimit]:
    """Return the limits that a question touches and that concern those it is about.

    Used if question or fact are not in English, or if there are no vectors.
    """
    english = may_be_english(question)
    return [
        one
        for one in limits
        if one.concerns
        and one.odds >= _TOUCHES
        and (one.odds >= _TOUCHES_ACROSS or not english or not is_foreign(one.chunk.text))
    ]


def is_sure(limit: HardLimit) -> bool:
    """Return whether a fact surely is a hard limit, and applies to a person whom the question is about."""
    return limit.concerns and limit.severity >= SEVERE


def without_other_money(limits: Sequence[HardLimit], question: str, *, buys: bool) -> list[HardLimit]:
    """Return the limits without those of money that the question is hardly about; if it buys something, for another thing."""
    return [
        one
        for one in limits
        if not (buys and is_budget_elsewhere(one.chunk.label, question))
        and not (one.odds < _MONEY and is_budget(one.chunk.text))
    ]


def most_pressing(limits: list[HardLimit], size: int, trace: Trace) -> list[HardLimit]:
    """Return all limits, unless they are very many of `size` facts: then the reader's own first, and the trace says so."""
    most = max(_ALL, int(_OF_ALL * size))
    if len(limits) <= most:
        return limits
    trace.warn(f"at least {len(limits)} hard limits may matter; only the most pressing are shown, your own first")
    return sorted(limits, key=lambda one: not one.own)[:most]


def _concerns(text: str, fact: str, whose: str, domains: frozenset[str]) -> bool:
    """Whether a limit concerns those that the question is about: oneself, and others that it names or speaks of together.

    A gift for somebody is chosen by the limits of that person. A limit in another language than English always concerns them:
    rather too many.
    """
    named = {word.casefold() for word in re.findall(r"[^\W\d_]{2,}", text)}
    if domains == {"gifts"} and _FOR_SOMEBODY.search(text):
        return whose in named or bool(_names(fact) & named)
    return (
        not whose
        or language_of(fact) != "en"
        or "household" in classes_of(_start(fact))
        or whose in named
        or bool(_names(fact) & named)
        or bool(pattern("together").search(text))
    )


def _names(fact: str) -> set[str]:
    """Return the names in the first words of a fact: My sister Bodil."""
    return {word.casefold() for word in re.findall(r"\b[A-Z][^\W\d_]+", _start(fact))}


def _start(fact: str) -> str:
    return " ".join(fact.split()[:_INTRODUCED])
