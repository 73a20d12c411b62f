"""Look up: what belongs to an answer besides likely facts: who somebody is, newer values, newer facts that contradict one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.text.patterns import pattern
from contextd.text.people import Mentions
from contextd.text.terms import split
from contextd.values.document import About, ChunkId
from contextd.values.memory import CONTRADICTS

_NAMED = 2  # facts that introduce somebody, or have the attribute that is asked for, which are shown first
_OVERTAKEN = 0.5  # share of the probability of a fact that a newer one contradicts
_FAR = 3.0  # log-odds below the likeliest fact: what is farther only sounds like an answer
_NEWER = 2  # newer facts with the attribute of an answer that are shown beside it

Attribute = tuple[str, str]  # its name, empty if there is none, and whom the fact is about


def completed(
    question: str, found: Sequence[int], attributes: Sequence[Attribute], told: Sequence[int], people: Mentions,
    own: Sequence[bool], odds: NDArray[np.float64],
) -> list[int]:  # fmt: skip
    """Return the places of an answer's facts: those about the people that are meant, with newer values of their attributes.

    Who somebody is is answered by the facts that introduce them. Facts with the attribute that the question names leave room
    for the most likely one alone. `told` has when each fact was told, `own` whether the reader stated it: these come first.
    """
    introducing = sorted((place for place, one in enumerate(people.introduces) if one), key=lambda place: not own[place])
    if introducing and pattern("who").match(question.strip()):
        return introducing[:_NAMED]
    asked = [place for place in _asked_for(question, attributes, people) if odds[place] >= odds.max() - _FAR]
    first = sorted(asked, key=lambda place: not own[place])[:_NAMED]
    of_them = [place for place in found if not people.others[place]] or found
    meant = [place for place in of_them if people.named[place] or people.meant[place]] or of_them
    since = {attributes[place]: told[place] for place in meant if attributes[place][0]}
    newer = [
        place for place, one in enumerate(attributes) if place not in meant and told[place] > since.get(one, math.inf)
    ]  # fmt: skip
    likely = meant[:1] if first else meant
    return [*first, *(place for place in (*newer[:_NEWER], *likely) if place not in first)]


def with_newer(
    kept: Sequence[int], chunks: Sequence[ChunkId], about: Sequence[About], odds: NDArray[np.float64],
    shown: Mapping[ChunkId, float], view: View,
) -> tuple[list[int], dict[ChunkId, float]]:  # fmt: skip
    """Return the places of shown facts, each with newer ones that contradict it, which are likelier; and the probabilities."""
    related, place_of = (
        view.related([chunks[place].document for place in kept]),
        {one.document: n for n, one in enumerate(chunks)},
    )
    found, likely = list[int](), dict(shown)
    for place in kept:
        others = [place_of.get(one.document) for one in related.get(chunks[place].document, ()) if one.kind == CONTRADICTS]
        near = [one for one in others if one is not None and odds[one] >= odds[place] - _FAR]
        newer = [one for one in near if about[one].modified > about[place].modified]
        for one in newer:
            likely[chunks[one]] = max(likely[chunks[one]], likely[chunks[place]])
        likely[chunks[place]] *= _OVERTAKEN if newer else 1
        found += [one for one in (*newer, place) if one not in found]
    return found, likely


def _asked_for(question: str, attributes: Sequence[Attribute], people: Mentions) -> list[int]:
    """Return the places of facts about the people meant whose attribute the question names."""
    words, somebody = set(split(question.casefold())), people.of_somebody()
    return [
        place
        for place, (name, whose) in enumerate(attributes)
        if name and set(split(name.replace("_", " "))) <= words
        and (bool(people.named[place] or people.meant[place]) if somebody else not whose)
    ]  # fmt: skip
