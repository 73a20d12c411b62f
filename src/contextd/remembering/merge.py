"""Decide what to do with a new memory: a repetition, a new value that replaces an old one, or an addition.

This is a pure decision over memories of the same author with the same readers. The record applies it in the transaction that
writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from contextd.text.changes import LATER, Ending, change_of, says_more, speaks_of
from contextd.text.hard_limits import denies_limit, limit_domains
from contextd.text.natural_language import small_words
from contextd.text.terms import plain, split
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.memory import Decided, Memory

# A person has one value of each of these at a time, however it is worded.
_I = re.compile(
    r"\s*(?:(?-i:[A-Z])\w+ (?:and|und) )?(?:i|i'm|i\u2019m|we|moved|turned|started|joined|new job|ich|bin|wir|je|j'|j\u2019"
    r"|nous|on|yo|me|vivo|trabajo|ahora)\b|\s*我|[\u4e00-\u9fff]+に(?:住|引)"
    r"|.*\b(?:wohne|lebe|arbeite) (?:ich|wir)\b",
    re.IGNORECASE,
)
_ONE_EACH = frozenset(
    "home job employer relationship age height weight birthday birthplace blood_type wake_up_time bedtime shoe_size".split()
)
_CALLED = {"job": "job", "employer": "job company"}  # other words for an attribute, in sentences that end it
_OCCASION = re.compile(
    r"(?<!\bsince )(?<!\bfrom )(?<!\blast )(?<!\bthis )"
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week(?:day|end)s?|holidays?|vacations?|summer|winter|when|if|except|unless|also"
    r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|wochenende)s?|auch|wenn|außer|lundi|mardi|mercredi|jeudi"
    r"|mornings?|evenings?|nights?|noon|bedtime|breakfast|lunch|dinner|before|after|morgens?|abends?|mittags?|nachts?|früh"
    r"|vendredi|samedi|dimanche|aussi|lunes|martes|miércoles|jueves|viernes|sábado|domingo|también)\b",
    re.IGNORECASE,
)
_LONG_AGO = re.compile(
    r"\b(?:used to|formerly|back in (?:the )?\d|years ago|almost|nearly|as a (?:child|kid|teen\w*|student))\b", re.IGNORECASE
)
_OWNS = re.compile(r"\s*(?:(?:i|we) (?:have|own|bought|got)|i've got|(?:ich|wir) (?:habe|haben|besitz\w+))\b", re.IGNORECASE)
_SHORT = 8  # words of a fact that says what somebody has, and little else
_HAS = re.compile(
    r"\s*(?:(?:i|we) (?:have|own|use|drive|bank|got|bought)\b|i've got\b|(?:my|our) [\w ]+? (?:is|are)\b"
    r"|(?:mein|unser)\w* \w+ (?:ist|sind)\b"
    r"|(?:ich|wir) (?:habe|haben|nutze\w*|benutze\w*|fahre\w*)\b|j'ai\b|je (?:conduis|roule)\b|(?:mon|ma) \w+ est\b"
    r"|(?:tengo|conduzco|uso)\b|mi \w+ es\b)",
    re.IGNORECASE,
)
# Words that a statement of an attribute may have beside its value, without being about anything else.
_SAYS = {
    "age": frozenset(split("turn turns turned turning is years year old jahre jahr alt geworden wird")),
    "version": frozenset(
        split("use using run running upgraded upgrade updated update moved switched migrated nutzen verwenden")
    ),
}
# Attributes that may have several values at once: a new value is added to the others.
_SEVERAL = (
    "allergy", "intolerance", "avoids", "diet", "likes", "dislikes", "hobby", "language", "pet", "child", "skill", "brand",
    "favorite", "medication", "name", "appointment", "subscription", "contact", "tool", "member", "trip", "plan", "visited",
)  # fmt: skip


def merge(new: Memory, alike: Sequence[Memory], likely: Collection[str] = ()) -> Decided:
    """Decide on a memory. `alike` are memories with the same text, or with the same attribute of the same subject.

    Of memories that no longer hold, `alike` has those with the same text: an import does not bring them back. `likely` has
    the ids of those that the new one may overtake (`overtaken.py`). They are contradicted, not ended: losing a fact is worse
    than keeping one.
    """
    decided = _by_rules(new, alike)
    if decided.known or decided.memory.valid_to is not None or not likely or _LONG_AGO.search(new.text):
        return decided
    known = {old.id for old in (*decided.ended, *decided.against)}
    further = [
        old for old in alike if old.id in likely and old.id not in known and _may_end(old, new) and _may_be_one(old, new)
    ]
    return replace(decided, against=(*decided.against, *further))


def _may_be_one(old: Memory, new: Memory) -> bool:
    """Return whether two facts may be of one thing: not with an attribute on other days, of others, or with several values."""
    if not new.attribute or old.attribute != new.attribute:
        return True
    return _when(old) == _when(new) and old.about == new.about and _one_value(new.attribute)


def _says_later(memory: Memory) -> bool:
    return bool(LATER & set(re.findall(r"\w+", memory.text.casefold())))


def _by_rules(new: Memory, alike: Sequence[Memory]) -> Decided:
    """Decide by words, attributes and values."""
    said = [old for old in alike if old.id != new.id and plain(old.text) == plain(new.text)]
    if holds := next((old for old in said if old.valid_to is None), None):
        return Decided(_confirmed(holds, new), known=True)
    if said and not new.trusted:
        return Decided(said[-1], known=True)
    over, partly = _over(new, alike)
    if partly and not over:
        return Decided(new, against=tuple(partly))
    current = [old for old in alike if old.id != new.id and _same_attribute(old, new) and old.valid_to is None]
    if over or not current or not (_one_value(new.attribute) or _says_later(new)):
        return Decided(new, ended=tuple(_ended(old, new) for old in over), against=tuple(partly))
    others = [old for old in current if _same_thing(old, new) and (new.trusted or not old.trusted) and not says_more(old.text)]
    against = tuple(old for old in current if old not in others and old.value != new.value and _contradicts(old, new))
    if not others:
        return Decided(new, against=against)
    late = [old for old in others if _came_after(old, new)]
    if late:  # the new value is older: later values stay
        first = min(late, key=lambda old: old.valid_from)
        return Decided(replace(new, valid_to=first.valid_from, replaced_by=first.id))
    return Decided(new, ended=tuple(_ended(old, new) for old in others), against=against)


def _ended(old: Memory, new: Memory) -> Memory:
    return replace(old, valid_to=max(old.valid_from, new.valid_from), replaced_by=new.id, changed=new.changed)


def _over(new: Memory, alike: Sequence[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Return the facts that a sentence such as "I switched from Neovim to Zed" ends, and those that it contradicts in part.

    A thing that is over ends all facts about it. A thing that only has another value ends a fact that says its value and
    nothing more. A fact that says several things stays, and so does one if the change is unsure. A hard limit stays unless it
    is denied itself: who gave up nuts is still allergic to them.
    """
    change = change_of(new.text)
    if change is None:
        return [], []
    told = [old for old in alike if _may_end(old, new) and _may_be_of(old, new, change) and _is_about(change, old)]
    ended = [old for old in told if not change.moved or (old.value and _words(old) <= change.thing)]
    denied = denies_limit(new.text)
    partly = [old for old in ended if change.unsure or says_more(old.text) or (limit_domains(old.text) and not denied)]
    return [old for old in ended if old not in partly], partly


def _may_end(old: Memory, new: Memory) -> bool:
    """Return whether a fact may end another: one that holds and was told before, by no more trusted author."""
    return old.id != new.id and old.valid_to is None and old.said <= new.said and (new.trusted or not old.trusted)


def _may_be_of(old: Memory, new: Memory, change: Ending) -> bool:
    """Return whether a change may be of a fact: of the same person, and no change itself."""
    if change.consumed and _OWNS.match(old.text):
        return False  # who stops drinking coffee keeps the grinder
    whose = replace(new, about="") if change.role else new  # who has the role now does not own it
    mine = change.gone and (not old.about or "pet_animals" in widened(concepts_of(old.about)))  # Rex died: my dog
    return (mine or _same_owner(old, whose, change.thing)) and change_of(old.text) is None


def _same_owner(old: Memory, new: Memory, thing: frozenset[str]) -> bool:
    """Return whether two facts are about the same person. The thing itself is nobody: "Standup has been pushed"."""
    owners = [frozenset(split(memory.about)) - thing for memory in (old, new)]
    return owners[0] == owners[1]


def _is_about(change: Ending, old: Memory) -> bool:
    """Return whether a fact is about the thing that is over: by its words, or by its attribute ("I quit my job")."""
    if change.alike:
        return _is_one_of(change.alike, old)
    named = _CALLED.get(old.attribute, "") if not old.about else ""
    return speaks_of(change.thing, old.text) or (bool(named) and speaks_of(change.thing, named))


def _is_one_of(concepts: frozenset[str], old: Memory) -> bool:
    """Return whether a fact says that the person has or uses such a thing, and little else: "I have an iPhone 12"."""
    return bool(concepts & concepts_of(old.text)) and len(old.text.split()) <= _SHORT and bool(_HAS.match(old.text))


def _came_after(old: Memory, new: Memory) -> bool:
    """Return whether an existing value began after the new one, by dates a person gave or by when each was said."""
    dated = "valid_from" in old.verified | new.verified or old.said > new.said
    return old.valid_from > new.valid_from and dated


def _same_attribute(old: Memory, new: Memory) -> bool:
    return bool(new.attribute) and (old.attribute, old.about) == (new.attribute, new.about)


def _same_thing(old: Memory, new: Memory) -> bool:
    """Return whether two statements are about the same thing.

    An attribute is a guess, so all words except those of the value must agree. Keeping a duplicate is a nuisance; losing a
    fact is worse.
    """
    if not _same_attribute(old, new) or _when(old) != _when(new):
        return False
    return _of_oneself(old, new) or _words(old) == _words(new)


def _contradicts(old: Memory, new: Memory) -> bool:
    """Return whether two values can hardly both be true.

    The person named the attribute, the new one is told as a change ("is now") in the same unit, or the wording and days agree.
    """
    named = all("attribute" in memory.verified for memory in (old, new))
    changed = _says_later(new) and old.unit == new.unit
    return named or changed or (_when(old) == _when(new) and (_of_oneself(old, new) or _words(old) == _words(new)))


def _of_oneself(*memories: Memory) -> bool:
    return all(memory.attribute in _ONE_EACH and _says_i(memory) for memory in memories)


def _says_i(memory: Memory) -> bool:
    """Return whether a fact is of the person: "I …", or "My weight …" for the attribute of that name."""
    own = re.match(rf"\s*my (?:current )?{memory.attribute.replace('_', ' ')}\b", memory.text, re.IGNORECASE)
    return bool(_I.match(memory.text) or own)


def _when(memory: Memory) -> frozenset[str]:
    """Return the days and occasions a statement is limited to. Another value may hold on other days."""
    return frozenset(found.casefold().removesuffix("s") for found in _OCCASION.findall(memory.text))


def _words(memory: Memory) -> frozenset[str]:
    """Return the content words of a statement, without those of its value."""
    small = small_words(memory.text)
    telling = " ".join(word for word in memory.text.casefold().split() if word.strip(".,:;!?") not in small | LATER)
    value = set(split(f"{memory.value} {memory.unit}".casefold()))
    value |= _SAYS.get(memory.attribute.split("_")[0], frozenset())
    return frozenset(term for term in split(telling) if term not in value)


def _confirmed(old: Memory, new: Memory) -> Memory:
    """Return an old memory confirmed by a new one. A person may add fields and flags; those set the first time stay.

    A program changes nothing of what a person told.
    """
    if old.trusted and not new.trusted:
        return old
    said, confidence, topics = (
        max(old.said, new.said), max(old.confidence, new.confidence), tuple(dict.fromkeys((*old.topics, *new.topics)))
    )  # fmt: skip
    confirmed = replace(old, said=said, confidence=confidence, topics=topics, changed=new.changed)
    if not new.trusted:
        return confirmed
    given = {name: getattr(new, name) for name in new.verified - old.verified - {"topics"}}
    return replace(
        confirmed,
        **given,
        source=new.source,  # a person's confirmation makes it their own
        verified=old.verified | new.verified,
        valid_to=old.valid_to if new.valid_to is None else new.valid_to,
        pinned=old.pinned or new.pinned,
        silent=old.silent or new.silent,
        private=old.private or new.private,
    )


def _one_value(attribute: str) -> bool:
    return not any(part in _SEVERAL for part in attribute.split("_"))
