"""Which facts are about the people that a question means: by their names, or by what they are to the person.

"My sister" means Bodil if a fact says "My sister Bodil …" or "Bodil is my sister". What somebody is to the person is known in
six languages by the concepts of the thesaurus; names are words with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.natural_language import ANY_SMALL
from contextd.text.thesaurus import concepts_of, languages_of

Float = NDArray[np.float64]

RELATIONS = frozenset(
    "mother father parents siblings partner_marriage children grandparents godparents_role_models friend boss neighbour "
    "cat dog".split()
)
_FURTHER = frozenset({"family", "colleague_team", "roommate"})  # aunts and uncles, colleagues, flatmates
_SON = {"son": "children"}  # also a French possessive, so that the thesaurus has it in no language
_HOUSEHOLD = frozenset({"partner_marriage", "children", "roommate", "cat", "dog"})
_READ = 300  # letters of a fact in which somebody is introduced
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_]+")
_INTRODUCED_BY = re.compile(  # "my wife Noor", "a cat called Bram"
    r"\b(?P<mine>(?:my|our|meine?|unsere?|mon|ma|notre|mi|nuestr[oa]) (?:[\w-]+ )??)?"
    r"(?!(?:family|team|parents|kids|children|friends)\b)(?P<what>[^\W\d_]+),?"
    r"(?: (?:called|named|namens|heißt|appelée?|s'appelle|llamad[oa]|se llama))?"
    r"(?: (?:Mr|Mrs|Ms|Dr|Prof|Frau|Herr)\.?)? (?=(?P<who>(?-i:[^\W\d_a-zß-öø-ÿ])[^\W\d_]+))",
    re.IGNORECASE,
)
_CALLED = re.compile(  # "Corinna is my younger sister", "Juno, our daughter"
    r"\b(?P<who>(?-i:[^\W\d_a-zß-öø-ÿ])[^\W\d_]+)(?:,| is| ist| est| es)"
    r" (?:my|our|meine?|unsere?|mon|ma|notre|mi|nuestr[oa]) (?P<what>[^\W\d_]+(?: [^\W\d_]+){0,2})",
    re.IGNORECASE,
)


class Mentions(NamedTuple):
    """For each fact: whether it has a name of the question, is about somebody meant, or about somebody else.

    `outside` of those about somebody else: whether that is known to be nobody of the household; `introduces`: whether it says
    who somebody is whom the question names.
    """

    named: Float
    meant: Float
    others: Float
    outside: Float
    introduces: Float

    def elsewhere(self) -> Float:
        """Whether a fact is of others than the people whom the question means."""
        return self.others * self.of_somebody()

    def of_somebody(self) -> bool:
        """Whether the question means other people, of whom facts are known."""
        return bool(self.named.any() or self.meant.any())


def mentions(question: str, facts: Sequence[str], whose: Sequence[str]) -> Mentions:
    """Compare the people of a question with those of facts. `whose` is whom a fact is about; empty for its author."""
    introduced = [_introduced(fact[:_READ]) for fact in facts]
    people: dict[str, frozenset[str]] = {}
    for one in introduced:
        for name, relations in one.items():
            people[name] = people.get(name, frozenset()) | relations
    asked = {word.casefold() for word in _WORD.findall(question)}
    names = {name.casefold() for name in _NAME.findall(question)} | {one for one in asked & people.keys() if not _is_word(one)}
    relations = concepts_of(question) & RELATIONS
    called = {name for name, own in people.items() if own & relations} if relations else set[str]()
    related = relations | {one for name in names & people.keys() for one in people[name]}
    words = [frozenset(word.casefold() for word in _WORD.findall(fact)) for fact in facts]
    capital = [frozenset(name.casefold() for name in _NAME.findall(fact)) for fact in facts]
    named = [not names.isdisjoint(own) for own in capital]
    meant = [
        not called.isdisjoint(own)
        or (bool(relations) and bool(concepts_of(fact) & relations))
        or (bool(related) and people.keys().isdisjoint(own) and bool(concepts_of(fact) & related & RELATIONS))
        for fact, own in zip(facts, words, strict=True)
    ]
    others = [bool(one) and not (has or is_meant) for one, has, is_meant in zip(whose, named, meant, strict=True)]
    outside = [other and _is_outside(own, people) for other, own in zip(others, whose, strict=True)]
    introduces = [not names.isdisjoint(one) or any(relations & own for own in one.values()) for one in introduced]
    return Mentions(*(np.array(column, float) for column in (named, meant, others, outside, introduces)))


@lru_cache(maxsize=1 << 12)  # the facts of a person are compared with every question
def _introduced(fact: str) -> dict[str, frozenset[str]]:
    """Return the names that a fact introduces, and what they are to the person."""
    found: dict[str, frozenset[str]] = {}
    for match in (*_INTRODUCED_BY.finditer(fact), *_CALLED.finditer(fact)):
        name = match["who"].casefold()
        known = match.groupdict().get("mine", "my")
        if match["who"][0].isupper() and (known or not _is_word(name)) and (relations := _relations(match["what"])):
            found[name] = found.get(name, frozenset()) | relations
    return found


def _is_word(name: str) -> bool:
    """Return whether a name is also a word of some language, or a day: Will, May, Monday."""
    return name in ANY_SMALL or bool(concepts_of(name)) or bool(languages_of(name))


def _is_outside(whose: str, people: Mapping[str, frozenset[str]]) -> bool:
    """Return whether somebody is known not to live with the person."""
    relations = people.get(whose) or _relations(whose)
    return bool(relations) and not relations & _HOUSEHOLD


def _relations(words: str) -> frozenset[str]:
    found = concepts_of(words) | {_SON[word] for word in words.casefold().split() if word in _SON}
    return found & (RELATIONS | _FURTHER)
