"""Check the fields of a memory that a caller sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from contextd.errors import Forbidden, InvalidInput
from contextd.values.memory import GUESSED, LIMITS, PERSON, TIMES, Memory, fault_of, fault_of_list, fault_of_time

_SETTABLE = (*GUESSED, "text", "principals", "valid_from", "valid_to", "conversation", "said")
FLAGS = ("pinned", "silent", "private")
_SPRING_1970 = 10**13  # microseconds; a smaller number was meant as seconds or milliseconds


def restated(old: Memory, changed: Memory, source: str) -> Memory:
    """Return a changed memory: whoever rewords a fact states it, and fields that a program sets are not verified.

    Raises Forbidden if a program changes a memory that the person stated or verified.
    """
    if source != PERSON and old.trusted:
        raise Forbidden("you stated or verified this memory yourself; programs can save another one, but not change it")
    verified = changed.verified if source == PERSON else old.verified
    return replace(changed, verified=verified, source=old.source if changed.text == old.text else source)


def with_fields(memory: Memory, fields: Mapping[str, Any]) -> Memory:
    """Return a memory with fields set by the person, which become verified. Raises InvalidInput."""
    flags = {name: value for name, value in fields.items() if name in FLAGS}
    given = {name: value for name, value in fields.items() if name in _SETTABLE and value is not None}
    if unknown := set(fields) - set(_SETTABLE) - set(FLAGS):
        raise InvalidInput(
            f"unknown field of a memory: {', '.join(sorted(unknown))}; the fields are {', '.join((*_SETTABLE, *FLAGS))}"
        )
    if "topics" in given:
        given["topics"] = checked_names("topics", [checked_topic(topic) for topic in given["topics"]])
    if "principals" in given:
        given["principals"] = frozenset(checked_names("principals", given["principals"])) | {memory.author}
    checked(fault_of_text(given.get("text", "")))
    for name in set(given) & (set(LIMITS) - {"text"}):
        checked(fault_of(name, given[name]) if given[name] or name == "kind" else "")
    for name in set(given) & set(TIMES):
        given[name] = checked_time(name, given[name])
    if "kind" in given and not str(given["kind"]).strip():
        raise InvalidInput("the kind is empty; use a word such as constraint, preference or fact")
    if given.get("valid_to") is not None and given["valid_to"] < given.get("valid_from", memory.valid_from):
        if "valid_from" in {*given, *memory.verified}:
            raise InvalidInput("the end date of a memory must not be before its start date")
        memory = replace(memory, valid_from=0)  # it held until then; the start is unknown
    return replace(memory, **given, **flags, verified=memory.verified | (set(given) & {*GUESSED, "valid_from"}))


def checked_topic(text: str) -> str:
    """Return the name of a topic with single spaces. Raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput(f"invalid topic: expected text, not {type(text).__name__}")
    name = " ".join(text.encode("utf-8", "replace").decode().split())
    if not name or len(name) > LIMITS["topic"]:
        raise InvalidInput(f"invalid topic: the name must have 1 to {LIMITS['topic']} characters")
    checked(fault_of("topic", name))
    return name


def fault_of_text(text: object) -> str:
    """Return what is wrong with the text of a memory. Its length is checked when it is scrubbed."""
    return "" if isinstance(text, str) else f"a memory is a text, not {type(text).__name__}"


def checked_names(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Check the number and names of topics or principals. Raises InvalidInput."""
    given = (values,) if isinstance(values, str) else tuple(values)
    checked(fault_of_list(field, given))
    return given


def checked_time(field: str, value: float) -> int:
    """Return a time in microseconds. Raises InvalidInput."""
    checked(fault_of_time(field, value))
    if field == "said" and 0 < value < _SPRING_1970:
        raise InvalidInput(f"invalid value for said: {value:g} (must be microseconds since 1970)")
    return int(value)


def checked(fault: str) -> None:
    """Raise InvalidInput if there is a fault."""
    if fault:
        raise InvalidInput(fault)
