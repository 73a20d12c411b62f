"""Find the facts that must not be missed: hard limits that the question touches, whatever their standing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contextd.ports.store import View
from contextd.text.hard_limits import ANY, DOMAINS, limit_log_odds, limit_term, question_domains
from contextd.text.limit_words import classes_of
from contextd.text.natural_language import language_of
from contextd.text.patterns import pattern
from contextd.text.severity import LIMIT, severities
from contextd.text.terms import PARTS, key
from contextd.text.wording import is_about_world
from contextd.values.document import Chunk
from contextd.values.query import Facet
from contextd.values.retrieval import Wanted, Words

LIMITS = Facet("must", "Must Be Respected", "Which limits must not be missed?", "what harms comes before taste")
MOST = 200
_OWN = 10.0  # weight of a domain of the question: of more limits than that, its own are read
_TOUCHES = -2.0  # log-odds from which a question touches a limit
_ALL, _SHARE = 20, 0.1  # limits that are shown, and their share of all facts: the larger number
_INTRODUCED = 4  # words at the start of a fact that say whom it is about
_FOR_SOMEBODY = re.compile(
    r"\b(?:schenk\w+ (?:ich|wir)|geschenk für|cadeau pour|offrir à|regal(?:o para|ar a)) "
    r"(?!mir\b|uns\b|moi\b|nous\b)(?:[a-zäöüß]\w+ )?[A-ZÄÖÜ]\w+|"
    r"\bfor (?:my |our )?(?!me\b|us\b|Christmas\b|Easter\b)(?:[A-Z]\w+|(?:mother|father|sister|brother|wife|husband)\b)"
)


class HardLimit(NamedTuple):
    """A hard limit, the log-odds that the question touches it, and the probability that it is none of taste or habit."""

    chunk: Chunk
    odds: float
    severity: float


def limits_for(text: str, view: View, situation: str = "", space: str = "") -> list[HardLimit]:
    """Return the hard limits that concern those whom a question is about, the likeliest to be touched first.

    `space` is that of vectors for facts, which tell hard limits from tastes and habits better than words alone.
    Limits of another person count if the question names them or speaks of several people. A gift for somebody is chosen by
    the limits of that person. Memories that older versions saved are found by the domains of their limits.
    """
    if "parts" not in view.fields:
        return []
    domains = question_domains(text, situation)
    terms = {key(limit_term(domain), PARTS): _OWN if domain in domains else 1.0 for domain in (*DOMAINS, ANY)}
    found = [one.chunk for one in view.retrieve(Wanted(MOST, {"parts": Words("parts", terms, MOST)})).found["parts"]]
    whose = {chunk: about.whose for chunk, about in zip(found, view.about(found), strict=True)}
    about_world = is_about_world(text) and "at_hand" not in classes_of(text)  # what's for dinner tonight: of the person
    concern = [chunk for chunk in view.get(found) if _concerns(text, chunk.text, whose[chunk.id], domains)]
    severe = _severities(concern, view, space)
    limits = [chunk for chunk, one in zip(concern, severe, strict=True) if one >= LIMIT]
    odds = limit_log_odds(text, [chunk.text for chunk in limits], domains, about_world=about_world).tolist()
    known = zip(limits, odds, (one for one in severe if one >= LIMIT), strict=True)
    return sorted(
        (HardLimit(chunk, round(one, 6), severity) for chunk, one, severity in known),
        key=lambda one: (-one.odds, one.chunk.text, one.chunk.id),
    )


def _severities(chunks: Sequence[Chunk], view: View, space: str) -> list[float]:
    none = np.zeros((len(chunks), 1), np.float32)
    vectors = view.vectors([chunk.id for chunk in chunks], space) if view.spaces.get(space) else none
    return [float(one) for one in severities([chunk.text for chunk in chunks], vectors)]


def touched(limits: Sequence[HardLimit]) -> list[HardLimit]:
    """Return the limits that a question touches, where nothing else is known of both."""
    return [one for one in limits if one.odds >= _TOUCHES]


def most_pressing(limits: list[HardLimit], size: int) -> list[HardLimit]:
    """Return the first limits: all of them, unless they are very many of a person's `size` facts."""
    return limits[: max(_ALL, int(_SHARE * size))]


def _concerns(text: str, fact: str, whose: str, domains: frozenset[str]) -> bool:
    """Whether a limit concerns those that the question is about. One in another language than English does: rather too many."""
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
