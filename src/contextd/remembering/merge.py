"""What becomes of a new memory among those like it: the same again, a newer value of the same thing, or one more.

A pure decision over memories of the same author with the same readers; the record applies it in the transaction that writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from contextd.text.natural_language import small_words
from contextd.text.terms import plain, split
from contextd.values.memory import Decided, Memory

# Of these a person has one at a time, however they say it of themselves.
_I = re.compile(r"\s*(?:i|i'm|i\u2019m|we|ich|wir|je|j'|j\u2019|nous|yo)\b", re.IGNORECASE)
_ONE_EACH = frozenset(
    "home job employer age height weight birthday birthplace blood_type wake_up_time bedtime shoe_size".split()
)
_OCCASION = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week(?:day|end)s?|holidays?|vacations?|summer|winter|when|if|except|unless|also"
    r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|wochenende)s?|auch|wenn|außer|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi|dimanche|aussi|lunes|martes|miércoles|jueves|viernes|sábado|domingo|también)\b",
    re.IGNORECASE,
)
# Attributes of which one may have several values at once: a new one joins the others.
_SEVERAL = (
    "allergy", "intolerance", "avoids", "diet", "likes", "dislikes", "hobby", "language", "pet", "child", "skill", "brand",
    "favorite", "medication", "name", "appointment", "subscription", "contact", "tool", "member", "trip", "plan", "visited",
)  # fmt: skip


def merge(new: Memory, alike: Sequence[Memory]) -> Decided:
    """Decide on a memory. `alike` has the same text, or says something of the same attribute of the same one."""
    for old in alike:
        if old.id == new.id:
            continue
        if plain(old.text) == plain(new.text):
            return Decided(_confirmed(old, new), known=True)
    current = [old for old in alike if old.id != new.id and _same_attribute(old, new) and old.valid_to is None]
    if not current or not _one_value(new.attribute):
        return Decided(new)
    others = [old for old in current if _same_thing(old, new) and (new.trusted or not old.trusted)]
    against = tuple(old for old in current if old not in others and old.value != new.value and _both_told(old, new))
    if not others:
        return Decided(new, against=against)
    late = [old for old in others if _came_after(old, new)]
    if late:  # told later than it held: what came after it stands
        first = min(late, key=lambda old: old.valid_from)
        return Decided(replace(new, valid_to=first.valid_from, replaced_by=first.id))
    ended = [
        replace(old, valid_to=max(old.valid_from, new.valid_from), replaced_by=new.id, changed=new.changed) for old in others
    ]
    return Decided(new, ended=tuple(ended), against=against)


def _came_after(old: Memory, new: Memory) -> bool:
    """Whether a value that is there began to hold after a new one: by what a person said of either, or by when they said it."""
    told = "valid_from" in old.verified | new.verified or old.said > new.said
    return old.valid_from > new.valid_from and told


def _same_attribute(old: Memory, new: Memory) -> bool:
    return bool(new.attribute) and (old.attribute, old.about) == (new.attribute, new.about)


def _same_thing(old: Memory, new: Memory) -> bool:
    """Whether two statements are about the same thing. An attribute is a guess, so all words but those of the value must agree:
    to keep one too many is a nuisance, to lose one is not to be forgiven."""
    if not _same_attribute(old, new) or _when(old) != _when(new):
        return False
    return _of_oneself(old, new) or _words(old) == _words(new)


def _both_told(old: Memory, new: Memory) -> bool:
    """Whether two values can hardly both be true: of what the person named so, or has one of at the same times."""
    named = all("attribute" in memory.verified for memory in (old, new))
    return named or (_when(old) == _when(new) and (_of_oneself(old, new) or _words(old) == _words(new)))


def _of_oneself(*memories: Memory) -> bool:
    return all(memory.attribute in _ONE_EACH and _I.match(memory.text) for memory in memories)


def _when(memory: Memory) -> frozenset[str]:
    """The days and occasions a statement is limited to, wherever it says so: on other ones another may hold."""
    return frozenset(found.casefold().removesuffix("s") for found in _OCCASION.findall(memory.text))


def _words(memory: Memory) -> frozenset[str]:
    """The words of a statement that tell, without those of its value."""
    small = small_words(memory.text)
    telling = " ".join(word for word in memory.text.casefold().split() if word.strip(".,:;!?") not in small)
    value = set(split(f"{memory.value} {memory.unit}"))
    return frozenset(term for term in split(telling) if term not in value)


def _confirmed(old: Memory, new: Memory) -> Memory:
    """An old memory that was said again; what the person set the first time stays."""
    topics = tuple(dict.fromkeys((*old.topics, *new.topics)))
    source = new.source if new.trusted else old.source  # what a person says, too, is theirs from then on
    return replace(
        old,
        source=source,
        said=max(old.said, new.said),
        confidence=max(old.confidence, new.confidence),
        topics=topics,
        changed=new.changed,
    )


def _one_value(attribute: str) -> bool:
    return not any(part in _SEVERAL for part in attribute.split("_"))
