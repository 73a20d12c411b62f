"""Find the facts that must not be missed: hard limits in the domains of the question, whatever their standing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from contextd.ports.store import View
from contextd.text.hard_limits import limit_term, question_domains
from contextd.text.limit_words import classes_of
from contextd.text.natural_language import language_of
from contextd.text.patterns import pattern
from contextd.text.terms import PARTS, key
from contextd.text.wording import is_about_world
from contextd.values.document import Chunk, ChunkId
from contextd.values.query import Facet
from contextd.values.retrieval import Wanted, Words

LIMITS = Facet("must", "Must Be Respected", "Which limits must not be missed?", "what harms comes before taste")
MOST = 60
_ALL, _NEAREST = 20, 8  # so many limits are all shown; of more, those of the best standing
_SHARE = 0.1  # of all facts: so many limits are all shown, too
_INTRODUCED = 4  # words at the start of a fact that say whom it is about
_FOR_SOMEBODY = re.compile(
    r"\b(?:schenk\w+ (?:ich|wir)|geschenk für|cadeau pour|offrir à|regal(?:o para|ar a)) "
    r"(?!mir\b|uns\b|moi\b|nous\b)(?:[a-zäöüß]\w+ )?[A-ZÄÖÜ]\w+|"
    r"\bfor (?:my |our )?(?!me\b|us\b|Christmas\b|Easter\b)(?:[A-Z]\w+|(?:mother|father|sister|brother|wife|husband)\b)"
)


def limits_for(text: str, view: View, situation: str = "") -> list[Chunk]:
    """Return the hard limits of a person in the domains of a question and its situation; none for one about the world.

    Limits of another person count if the question names them or speaks of several people. A gift for somebody is chosen by
    the limits of that person.
    """
    domains = question_domains(text, situation)
    elsewhere = is_about_world(text) and "at_hand" not in classes_of(text)  # what's for dinner tonight: of the person
    if not domains or elsewhere or "parts" not in view.fields:
        return []
    terms = {key(limit_term(domain), PARTS): 1.0 for domain in domains}
    found = [one.chunk for one in view.retrieve(Wanted(MOST, {"parts": Words("parts", terms, MOST)})).found["parts"]]
    whose = {chunk: about.whose for chunk, about in zip(found, view.about(found), strict=True)}
    return [chunk for chunk in view.get(found) if _concerns(text, chunk.text, whose[chunk.id], domains)]


def most_pressing(limits: Sequence[Chunk], standing: Mapping[ChunkId, float], size: int) -> list[Chunk]:
    """Return the limits to show, by standing: all of them, or the first if they are very many of a person's `size` facts."""
    order = sorted(limits, key=lambda chunk: (-round(standing.get(chunk.id, -1.0), 6), chunk.text, chunk.id))
    return order if len(order) <= max(_ALL, _SHARE * size) else order[:_NEAREST]


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
