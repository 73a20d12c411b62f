"""Whether two questions ask for the same, judged by their words alone. In doubt they do not.

Words without meaning of their own are left out: articles, present auxiliaries, polite phrases. All others have to agree, in
order: names, numbers, negations, tenses, quantities, persons, question words. One exception: "how do we parse dates" is "how
are dates parsed", since the subject of the first is nobody in particular.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from contextd.text.terms import terms_of

_WORD = re.compile(r"\w+(?:['\u2019]\w+)?(?:[.,:]\d+)*|[%€$£¥°#+<>=!]")
_FRAME = re.compile(
    r"""(?ix)^ (?: (?:hey|hi|hello|ok|okay|so|please) \b [\s,:!]* )*
    (?: (?: (?:can|could|would|will) \s (?:you|someone) | i (?:\s would|['\u2019]d)? \s (?:like|want|need) \s to ) \s
      (?:please \s)? )?
    (?: (?:tell|show|give|explain|describe|remind) \b (?:\s (?:to \s)? (?:me|us))? (?:\s about)? [\s,:]*
      | (?:know|find \s out|understand) \s+ | do \s you \s know \s+ | i \s wonder \s+ )?"""
)
_COPULA = re.compile(r"(?i)^what(?:['\u2019]s| is| are)\s+(?=(?:the|my|our)\b)")  # "what is the rent" asks for the rent
_COURTESY = re.compile(r"(?i)[\s,]*\b(?:please|thanks|thank you|exactly|again|or not)\s*[.!?]*\s*$")
_FRONTED = re.compile(r"(?i)^((?:in|on|at|before|after|during|for|with|if|when)\b[^,?]*),\s*([^,]+)$")
_EMPTY = frozenset(
    "a an the this these that is are am be being do does it its there any of for in on at i we you one our can could get gets "
    "have has just actually currently really please so then also within inside here".split()
)
_IMPERSONAL = re.compile(r"(?i)\b(?:do|can|could)\s+(?:i|we|you|one)\b")
_PASSIVE = re.compile(r"(?i)\b(?:is|are|be|being|(?:what|where|who|how|when|it|there)['\u2019]s)\b")
_NEGATED = re.compile(r"(?:n't|^not|(?<=can)not)$")
_AUXILIARIES = frozenset("do does is are have has".split())
_SPELLINGS = ((re.compile(r"isation$"), "ization"), (re.compile(r"ise(?=[drs]?$)"), "ize"), (re.compile(r"our(?=s?$)"), "or"))
_SAME = {
    "occur": "happen", "begin": "start", "remove": "delete", "erase": "delete", "locate": "find", "invoke": "call",
    "declare": "define", "save": "store", "keep": "store", "kept": "store", "calculate": "compute", "folder": "directory",
    "repo": "repository", "config": "configuration", "auth": "authentication", "db": "database", "func": "function",
    "license": "licence", "bicycle": "bike",
}  # fmt: skip
_STEMS = {terms_of(one)[-1]: terms_of(other)[-1] for one, other in _SAME.items()}
_LONGEST = 60  # words; in longer texts one word more or less decides


@dataclass(frozen=True, slots=True)
class Meaning:
    """The words of a question that decide what it asks for, in order, and its voice."""

    words: tuple[str, ...]
    impersonal: bool  # its subject is nobody in particular: "how do we …"
    passive: bool  # or a statement about what something is


@lru_cache(maxsize=4096)
def meaning(text: str) -> Meaning:
    """Return the meaning of a question as far as it can be compared."""
    bare = _FRONTED.sub(r"\2 \1", _COURTESY.sub("", _FRAME.sub("", " ".join(text.split()), count=1)).rstrip("?!. "))
    asked = _COPULA.sub("", bare)
    passive = asked == bare and bool(_PASSIVE.search(bare))
    words = [word for place, token in enumerate(_WORD.findall(asked)) for word in _words(token, first=not place)]
    return Meaning(tuple(words[: _LONGEST + 1]), bool(_IMPERSONAL.search(bare)), passive)


def same_question(one: str, other: str) -> bool:
    """Return whether two questions ask for the same."""
    first, second = meaning(one), meaning(other)
    if not first.words or len(first.words) != len(second.words) or len(first.words) > _LONGEST:
        return False
    if first.passive == second.passive:
        return first.words == second.words
    passive, active = (first, second) if first.passive else (second, first)
    return active.impersonal and _without_verb(active.words, passive.words)


def _without_verb(active: tuple[str, ...], passive: tuple[str, ...]) -> bool:
    """Return whether the words agree, but for the verb: in the active voice it comes first, behind the question word."""
    return any(
        active[at] in passive[at:] and active[:at] + active[at + 1 :] == _less(passive, active[at], at)
        for at in range(min(2, len(active)))
    )


def _less(words: tuple[str, ...], word: str, start: int) -> tuple[str, ...]:
    place = words.index(word, start)
    return words[:place] + words[place + 1 :]


def _words(token: str, *, first: bool) -> list[str]:
    """Return the meaning of one token: itself, the stem of a plain word, or a mark for a negation."""
    lower = token.lower().replace("\u2019", "'")
    if _NEGATED.search(lower):
        verb = _NEGATED.sub("", lower)
        return ["not"] if not verb or verb in _AUXILIARIES else [verb, "not"]
    lower, _, ending = lower.partition("'")
    if not lower or lower in _EMPTY or (ending in ("m", "re", "ve") and lower in ("i", "we")):
        return []
    if not first and lower in ("which", "when"):  # relative: "the function which …", "what happens when …"
        return ["if"] if lower == "when" else []
    if not lower.isalpha() or not lower.isascii() or not (token.islower() or token.istitle() or "'" in token):
        return [token]  # an identifier, a number, an abbreviation, another language: as it is
    return [_stem("what" if lower == "which" else lower)]


def _stem(word: str) -> str:
    for pattern, usual in _SPELLINGS:
        word = pattern.sub(usual, word)
    stem = terms_of(word)[-1]
    return _STEMS.get(stem, stem)
