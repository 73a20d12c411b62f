"""What becomes of a new memory among those like it: the same again, a newer value of the same thing, or one more.

A pure decision over memories of the same author with the same readers; the record applies it in the transaction that writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextd.memory import Decided, Memory
from contextd.terms import plain

# Attributes of which one may have several values at once: a new one joins the others.
_SEVERAL = (
    "allergy", "intolerance", "avoids", "diet", "likes", "dislikes", "hobby", "language", "pet", "child", "skill", "brand",
    "favorite", "medication", "appointment", "subscription", "contact", "tool", "member", "trip", "plan", "visited",
)  # fmt: skip


def merge(new: Memory, alike: Sequence[Memory]) -> Decided:
    """Decide on a memory. `alike` has the same text, or says something of the same attribute of the same one."""
    for old in alike:
        if old.id == new.id:
            continue
        if _same_text(old, new) or _same_value(old, new):
            return Decided(_confirmed(old, new), known=True)
    others = [old for old in alike if old.id != new.id and _same_attribute(old, new) and old.valid_to is None]
    if not others:
        return Decided(new)
    if not _one_value(new.attribute):
        return Decided(new, contradicts=tuple(old for old in others if _denies(old, new)))
    ended = [replace(old, valid_to=new.valid_from, replaced_by=new.id, changed=new.changed) for old in others]
    late = [old for old in ended if old.valid_from > new.valid_from]
    if late:  # told later than it held: what came after it stands
        first = min(late, key=lambda old: old.valid_from)
        return Decided(replace(new, valid_to=first.valid_from, replaced_by=first.id))
    return Decided(new, ended=tuple(ended))


def _same_text(old: Memory, new: Memory) -> bool:
    return plain(old.text) == plain(new.text)


def _same_attribute(old: Memory, new: Memory) -> bool:
    return bool(new.attribute) and (old.attribute, old.about) == (new.attribute, new.about)


def _same_value(old: Memory, new: Memory) -> bool:
    """The same thing in other words: attribute, value, unit and kind."""
    return _same_attribute(old, new) and bool(new.value) and _value(old) == _value(new)


def _value(memory: Memory) -> tuple[str, str, str]:
    return memory.value.casefold(), memory.unit.casefold(), memory.kind


def _confirmed(old: Memory, new: Memory) -> Memory:
    """An old memory that was said again; what the person set the first time stays."""
    topics = tuple(dict.fromkeys((*old.topics, *new.topics)))
    return replace(
        old, said=max(old.said, new.said), confidence=max(old.confidence, new.confidence), topics=topics, changed=new.changed
    )


def _one_value(attribute: str) -> bool:
    return not any(part in _SEVERAL for part in attribute.split("_"))


def _denies(old: Memory, new: Memory) -> bool:
    """Whether two statements of an attribute with several values exclude each other: one says no to what the other has."""
    values = [{part.strip() for part in memory.value.casefold().split(",")} for memory in (old, new)]
    bare = [{value.removeprefix("not ").removeprefix("no ") for value in some} for some in values]
    return bool(bare[0] & bare[1]) and values[0].isdisjoint(values[1])
