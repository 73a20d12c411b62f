"""Which facts are about the people that a question means: by their names, or by what they are to the person.

"My sister" means Bodil if a fact says "My sister Bodil …". What somebody is to the person is known in six languages by the
concepts of the thesaurus; names are words with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.thesaurus import concepts_of

Float = NDArray[np.float64]

RELATIONS = frozenset(
    "mother father parents siblings partner_marriage children grandparents godparents_role_models friend boss neighbour "
    "cat dog".split()
)
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_]+")
_INTRODUCED = 6  # words at the start of a fact that introduce somebody: My daughter Kristin lives …


class Mentions(NamedTuple):
    """For each fact: whether it has a name of the question, is about somebody meant, or is about somebody else."""

    named: Float
    meant: Float
    others: Float


def mentions(question: str, facts: Sequence[str], whose: Sequence[str]) -> Mentions:
    """Compare the people of a question with those of facts. `whose` is whom a fact is about; empty for its author."""
    relations = concepts_of(question) & RELATIONS
    names = {name.casefold() for name in _NAME.findall(question)}
    words = [frozenset(word.casefold() for word in _WORD.findall(fact)) for fact in facts]
    called = {name for fact in facts if relations for name in _introduced(fact, relations)}
    capital = [frozenset(name.casefold() for name in _NAME.findall(fact)) for fact in facts]
    named = np.array([not names.isdisjoint(own) for own in capital], float)
    meant = np.array(
        [
            not called.isdisjoint(own) or bool(relations and concepts_of(fact) & relations)
            for fact, own in zip(facts, words, strict=True)
        ],
        float,
    )
    others = np.array([bool(one) for one in whose], float) * (1 - np.maximum(named, meant))
    return Mentions(named, meant, others)


def _introduced(fact: str, relations: frozenset[str]) -> set[str]:
    """Return the names that follow a relation at the start of a fact."""
    words = _WORD.findall(fact)[:_INTRODUCED]
    return {name.casefold() for word, name in pairwise(words) if name[0].isupper() and concepts_of(word) & relations}
