"""Divide a question into facets: the aspects of a person's life that matter for it, each with a weight.

The table has seven facets for each subject; the first five are used unless more or fewer are requested. They do not overlap:
every aspect of life (what a fact is about: money, looks, people, …) belongs to one of the facets used. A facet whose words the
question mentions weighs more; the heaviest weighs 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from contextd.errors import InvalidInput
from contextd.querying.facets.facet_table import SIDES, Side
from contextd.text.terms import terms_of
from contextd.values.query import Facet, Plan

USUAL, FEWEST, MOST = 5, 3, 7
MOST_TOPICS = 3
_SPOKEN_OF = 0.15  # additional weight for a facet the question mentions


_ASKING = re.compile(
    r"^(?:(?:from now on|would like|i'd like|draw up|"
    + "|".join(
        "please can could would will you i we me my us help need want wanna looking look for to find buy get choose pick order "
        "suggest recommend give make plan which what where when who how much many some any a an the new is are should do does "
        "did good best hey hi ich brauche suche kaufen empfiehl mir ein eine einen neue neuen".split()
    )
    + r")\b(?:['\u2019]s)?[ ,']*)+",
    re.IGNORECASE,
)
_END = re.compile(
    r"[?!.;\n]|,| (?:under|below|for|that|which|who|with|should|can|could|would|do|does|fits?|because|so|in order|unter|für"
    r"|damit)\b",
    re.IGNORECASE,
)


def divide(
    plan: Plan, topics_of: Callable[[str], Sequence[str]], count: int = USUAL, own: Sequence[Facet] = ()
) -> tuple[Facet, ...]:
    """Return the facets of a question: the caller's own, or those of its subject; none without a subject."""
    if own:
        return _checked(own)
    if not FEWEST <= count <= MOST:
        raise InvalidInput(f"invalid number of facets: {count} (must be between {FEWEST} and {MOST})")
    sides = SIDES.get(plan.subject, ())[:count]
    thing, about = thing_of(plan.text), plan.topics or tuple(topics_of(plan.text))
    weights = _weights(sides, plan.text)
    return tuple(
        Facet(side.name, side.title, side.question.format(thing=thing), side.rationale, _routed(side, about, topics_of), weight)
        for side, weight in zip(sides, weights, strict=True)
    )


def thing_of(text: str) -> str:
    """Return what a question is about, in its own words: the text without words of asking."""
    rest = _ASKING.sub("", " ".join(text.split()))
    thing = _END.split(rest, maxsplit=1)[0].strip()
    return thing if 2 < len(thing) <= 60 else "this"


def _weights(sides: Sequence[Side], text: str) -> list[float]:
    words = {term for word in re.findall(r"[\w']+|[€$£]", text) for term in terms_of(word)} | set(re.findall(r"[€$£]", text))
    spoken = [any(set(terms_of(word)) & words or word in words for word in side.words.split()) for side in sides]
    raised = [side.weight + _SPOKEN_OF * there for side, there in zip(sides, spoken, strict=True)]
    most = max(raised, default=1.0)
    return [round(weight / most, 2) for weight in raised]


def _routed(side: Side, about: Sequence[str], topics_of: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Return at most three of the person's topics: those of the question, and those of the facet itself."""
    return tuple(dict.fromkeys((*about[:2], *topics_of(side.question.format(thing="")))))[:MOST_TOPICS]


def _checked(own: Sequence[Facet]) -> tuple[Facet, ...]:
    names = [facet.name for facet in own]
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise InvalidInput("the name of every facet must be unique and not empty")
    if not all(0 <= facet.weight <= 1 for facet in own) or not any(facet.weight for facet in own):
        raise InvalidInput("the weights of facets must be between 0 and 1, and at least one weight must be greater than 0")
    if not all(facet.question.strip() for facet in own):
        raise InvalidInput("the question of a facet is empty")
    most = max(facet.weight for facet in own)
    return tuple(replace(facet, weight=round(facet.weight / most, 2), topics=facet.topics[:MOST_TOPICS]) for facet in own)
