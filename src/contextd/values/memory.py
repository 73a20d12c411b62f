"""Memories and their topics, links and versions: values only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import category

KINDS = ("constraint", "preference", "activity", "characteristic", "goal", "fact", "decision")
PERSON = "person"  # source of a memory that the person stated
CONTRADICTS = "contradicts"  # kind of the link from a memory to one that it contradicts
UNKNOWN = "unknown"  # kind of a memory that could not be classified
GUESSED = ("kind", "about", "attribute", "value", "unit", "topics", "language")  # fields that enrichment fills in

# Maximum number of characters of each field, whether from a person, a program or a file.
LIMITS = {
    "id": 32, "text": 100_000, "kind": 64, "about": 200, "attribute": 200, "value": 2_000, "unit": 64, "topic": 80,
    "language": 64, "source": 200, "conversation": 200, "principal": 200, "author": 200, "link kind": 64, "replaced_by": 64,
}  # fmt: skip
MOST = {"topics": 50, "principals": 100}
TIMES = ("said", "valid_from", "valid_to", "changed")
_LEAST_TIME, _GREATEST_TIME = -62_135_510_400_000_000, 253_402_214_400_000_000  # years 1 to 9999, in any time zone
_LINES = frozenset({"text", "value"})  # fields that may have more than one line
_NUMBERS = {"useful": 10**9, "useless": 10**9, "enriched": 10**6}


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact stated by a person; a document with one chunk and these columns. Times are microseconds."""

    id: str
    workspace: int
    text: str
    principals: frozenset[str]
    author: str
    said: int
    kind: str = UNKNOWN
    about: str = ""  # whom it is about: empty for the person themselves
    attribute: str = ""
    value: str = ""
    unit: str = ""
    topics: tuple[str, ...] = ()
    language: str = ""
    confidence: float = 1.0  # of the guessed kind
    source: str = PERSON  # or the name of the program it came from
    conversation: str = ""
    verified: frozenset[str] = frozenset()  # fields a person set; guesses do not overwrite them
    valid_from: int = 0
    valid_to: int | None = None  # when another value replaced it
    replaced_by: str = ""
    pinned: bool = False
    silent: bool = False  # stored, but never recalled
    private: bool = False  # used in answers on this machine only
    useful: int = 0
    useless: int = 0
    enriched: int = 0  # version of the enrichment, negative for a provisional one; 0 for none yet
    changed: int = 0
    clock: str = ""

    @property
    def trusted(self) -> bool:
        """Whether the person stated or verified it. Memories from elsewhere do not replace trusted ones."""
        return self.source == PERSON or set(GUESSED) <= self.verified


def fault_of(field: str, value: object) -> str:
    """Return what is wrong with a text in a field of a memory, with the limit; empty if nothing is."""
    if not isinstance(value, str):
        return f"{field} is a text, not {type(value).__name__}"
    if field == "id" and (len(value) != LIMITS["id"] or set(value) - set("0123456789abcdef")):
        return f"an id has {LIMITS['id']} hexadecimal digits"
    if len(value) > LIMITS[field]:
        return f"{field} has at most {LIMITS[field]} characters; this has {len(value)}"
    if field in ("topic", "principal", "author", "kind", "link kind") and not value.strip():
        return f"{field} is empty; give a name"
    odd = "" if field == "text" else next((one for one in value if _is_odd(one, field)), "")
    return f"{field} contains a line break or control character: U+{ord(odd):04X}" if odd else ""


def _is_odd(character: str, field: str) -> bool:
    if field in _LINES and character in "\n\t":
        return False
    return category(character) in ("Cc", "Zl", "Zp", "Cs")


def fault_of_time(field: str, value: object) -> str:
    """Return what is wrong with a time in microseconds; empty if nothing is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{field} is a number of microseconds since 1970, not {type(value).__name__}"
    if not _LEAST_TIME <= value <= _GREATEST_TIME:  # also rejects NaN
        return f"{field} is {value:g}; give microseconds since 1970, within the years 1 to 9999"
    return ""


def fault_of_list(field: str, values: Collection[object]) -> str:
    """Return what is wrong with topics or principals; empty if nothing is."""
    if len(values) > MOST[field]:
        return f"a memory has at most {MOST[field]} {field}; these are {len(values)}"
    return next((fault for one in values if (fault := fault_of(field.removesuffix("s"), one))), "")


def fault_of_memory(memory: Memory) -> str:
    """Return the first fault of a memory from elsewhere; empty if there is none."""
    times = [(name, getattr(memory, name)) for name in TIMES]
    found = [fault_of(name, getattr(memory, name)) for name in LIMITS if hasattr(memory, name)]
    found += [fault_of_list(name, getattr(memory, name)) for name in MOST]
    found += [fault_of_time(name, value) for name, value in times if value is not None]
    found += [f"{name} is out of range" for name, most in _NUMBERS.items() if abs(getattr(memory, name)) > most]
    found += [] if 0 <= memory.confidence <= 1 else ["confidence is between 0 and 1"]
    return next(filter(None, found), "")


@dataclass(frozen=True, slots=True)
class Version:
    """A memory before a change."""

    at: int
    by: str
    before: Memory


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, symmetric link between two memories."""

    start: str
    end: str
    kind: str
    clock: str = ""


class Related(NamedTuple):
    """A document that a person linked with another, and the kind of the link."""

    document: int
    kind: str


class Relation(NamedTuple):
    """Why a linked hit was added: the kind of the link, the number of links away, and the uri it is linked with."""

    kind: str
    depth: int
    uri: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One of a person's own categories, optionally below another."""

    name: str
    parent: str = ""
    clock: str = ""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that was renamed, merged into another, or deleted (`new` is empty)."""

    name: str
    new: str
    clock: str


def renamed(names: Iterable[str], since: str, changes: Iterable[TopicChange]) -> tuple[str, ...]:
    """Apply later topic changes to topics that were written at a clock. `changes` are in order."""
    found = tuple(names)
    for change in changes:
        if change.clock > since and change.name in found:
            found = tuple(change.new if name == change.name else name for name in found)
    return tuple(dict.fromkeys(name for name in found if name))


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on a new memory: store it or confirm an old one, and which others change."""

    memory: Memory
    known: bool = False  # a repetition: `memory` is the old one, confirmed
    ended: tuple[Memory, ...] = ()  # older values that hold no longer
    against: tuple[Memory, ...] = ()  # current memories with another value of the same attribute


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of saving a memory."""

    memory: Memory
    known: bool = False
    replaced: tuple[Memory, ...] = ()
    contradicts: tuple[Memory, ...] = ()
    warnings: tuple[str, ...] = ()


ANYONE = ""  # every author


@dataclass(frozen=True, slots=True)
class Recall:
    """Filters for memories; an empty field does not filter. Times are microseconds."""

    topics: frozenset[str] = frozenset()
    conversation: str = ""
    min_confidence: float = 0.0
    as_of: int | None = None  # memories valid at this time, instead of now
    private: bool = True  # whether private memories may be used
    without_topics: frozenset[tuple[str, str]] = frozenset()  # author (or ANYONE) and topic of memories that may not be used
    depth: int = 0  # number of links to follow from the hits


@dataclass(frozen=True, slots=True)
class Quality:
    """Statistics on all enriched memories."""

    total: int
    kinds: Mapping[str, int] = field(default_factory=dict)
    with_attribute: int = 0
    unsure: int = 0
    verified: int = 0

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> Quality:
        """Return the statistics of some memories."""
        kinds = Counter(memory.kind for memory in memories)
        return cls(
            len(memories),
            dict(sorted(kinds.items(), key=lambda entry: (-entry[1], entry[0]))),
            sum(bool(memory.attribute) for memory in memories),
            kinds["unknown"],
            sum(bool(memory.verified) for memory in memories),
        )
