"""Whom a fact is about, if it is not its author: "My wife is …", "Tom's shoe size …", "Lena trägt …"."""

from __future__ import annotations

import re

from contextd.text.natural_language import ANY_SMALL
from contextd.text.people import RELATIONS
from contextd.text.thesaurus import concepts_of, languages_of

_POSSESSIVE = re.compile(r"^(?:my |our |the )?(?P<who>[\w-]+)(?:'s|\u2019s|s') (?P<rest>.+)$", re.IGNORECASE)
PEOPLE = re.compile(
    r"\b(?:my |our )?(?P<who>wife|husband|partner|son|daughter|mum|mom|mother|dad|father|brother|sister|grandma|grandpa|grandad|grandson|granddaughter"
    r"|godson|goddaughter|nephew|niece|aunt|uncle|cousin|girlfriend|boyfriend|fianc[ée]e?|neighbou?r|best friend|boss|cat|dog|kids?|twins|team)\b",
    re.IGNORECASE,
)
_OF_MINE = re.compile(  # without an apostrophe: my moms birthday
    r"\b(?:my|our) (?P<who>mum|mom|mother|dad|father|brother|sister|wife|husband|son|daughter|boss)s \w", re.IGNORECASE
)
NAMED = re.compile(
    r"^(?P<who>[A-Z][a-z]+)(?:'s|\u2019s)? (?:is|has|likes|hates|loves|prefers|wants|turns|works|lives|needs|can't|must|speaks|takes|was|went|eats|won't"
    r"|doesn't|gets|reacts|carries|avoids|uses|sold|left|quit|stopped|gave|got|joined|bought|wears|plays|drinks|studies"
    r"|teaches|swims|dances|cooks|bakes|enjoys|dislikes|snores|volunteers|attends)\b"
)
# The same in German, French and Spanish. Things can do what the verbs of the second group say, so these need a name.
_ACTS_ABROAD = re.compile(
    r"^(?P<who>[^\W\d_a-z][^\W\d_]{2,}) (?:trägt|mag|liebt|hasst|lebt|wohnt|arbeitet|isst|trinkt|spielt|möchte|verträgt|studiert|aime|n'aime"
    r"|déteste|habite|travaille|mange|boit|préfère|vive|trabaja|bebe|juega|prefiere|odia|calza)\b"
)
_IS_ABROAD = re.compile(
    r"^(?P<who>[^\W\d_a-z][^\W\d_]{2,}) (?:ist|hat|braucht|nimmt|fährt|wird|kann|darf|muss|reagiert|est|porte|vit|prend|joue|doit"
    r"|peut|está|tiene|lleva|come|necesita)\b"
)
_MINE_ABROAD = re.compile(r"^(?:meine?|unsere?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?) ", re.IGNORECASE)
NOT_NAMES = frozenset(
    "Everyone Everybody Nobody Somebody Someone Anyone People The This That There It My Our He She We They What Who Our Your Its All Every Each One No Not Shoe Budget Rent".split()
)


def whose(line: str) -> tuple[str, str]:
    """Return whom a fact is about, if it says so, and the rest of it."""
    if match := _POSSESSIVE.match(line):
        return match["who"].casefold(), match["rest"]
    if (match := NAMED.match(line)) and match["who"] not in NOT_NAMES:
        return match["who"].casefold(), line
    head = " ".join(line.split()[:4])
    if match := _OF_MINE.match(head) or PEOPLE.search(head):
        return match["who"].casefold(), line
    return _whose_abroad(line), line


def _whose_abroad(line: str) -> str:
    """Return whom a fact in German, French or Spanish is about: my sister, or a name."""
    if _MINE_ABROAD.match(line):
        first = line.casefold().split()[1:3]
        return next((word for word in first if concepts_of(word) & RELATIONS), "")
    match = _ACTS_ABROAD.match(line) or _IS_ABROAD.match(line)
    who = match["who"].casefold() if match else ""
    is_word = who in ANY_SMALL or (match is not None and match.re is _IS_ABROAD and (languages_of(who) or concepts_of(who)))
    return "" if is_word else who
