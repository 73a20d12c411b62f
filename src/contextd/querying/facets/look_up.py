"""Look up: what belongs to the answer to a look-up, besides the facts that are likely to be it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contextd.text.patterns import pattern
from contextd.text.people import Mentions
from contextd.text.terms import split

_NAMED = 2  # facts that introduce somebody, or have the attribute that is asked for, which are shown first
_NEWER = 2  # newer facts with the attribute of an answer that are shown beside it

Attribute = tuple[str, str]  # its name, empty if there is none, and whom the fact is about


def completed(
    question: str, found: Sequence[int], attributes: Sequence[Attribute], told: Sequence[int], people: Mentions
) -> list[int]:  # fmt: skip
    """Return the places of an answer's facts: those about the people that are meant, with newer values of their attributes.

    Who somebody is is answered by the facts that introduce them. Facts with the attribute that the question names leave room
    for the most likely one alone. `told` has when each fact was told.
    """
    introducing = [place for place, one in enumerate(people.introduces) if one]
    if introducing and pattern("who").search(question):
        return introducing[:_NAMED]
    first = _asked_for(question, attributes, people)
    own = [place for place in found if not people.others[place]] or found
    meant = [place for place in own if people.named[place] or people.meant[place]] or own
    since = {attributes[place]: told[place] for place in meant if attributes[place][0]}
    newer = [
        place for place, one in enumerate(attributes) if place not in meant and told[place] > since.get(one, math.inf)
    ]  # fmt: skip
    likely = meant[:1] if first else meant
    return [*first, *(place for place in (*newer[:_NEWER], *likely) if place not in first)]


def _asked_for(question: str, attributes: Sequence[Attribute], people: Mentions) -> list[int]:
    """Return the places of facts about the people meant whose attribute the question names."""
    words, somebody = set(split(question.casefold())), people.of_somebody()
    return [
        place
        for place, (name, whose) in enumerate(attributes)
        if name and set(split(name.replace("_", " "))) <= words
        and (bool(people.named[place] or people.meant[place]) if somebody else not whose)
    ][:_NAMED]  # fmt: skip
