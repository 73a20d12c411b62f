"""What a memory is, and what goes with it: values only, as `types` has them for documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import category

KINDS = ("constraint", "preference", "activity", "characteristic", "goal", "fact", "decision")
UNKNOWN = "unknown"  # the kind of a memory that nothing sure can be said of
GUESSED = ("kind", "about", "attribute", "value", "unit", "topics", "language")  # what enrichment fills in

# Most characters of each field, whoever gives it: a person, a program or a file.
LIMITS = {
    "id": 32, "text": 100_000, "kind": 64, "about": 200, "attribute": 200, "value": 2_000, "unit": 64, "topic": 80,
    "language": 64, "source": 200, "conversation": 200, "principal": 200, "author": 200, "link kind": 64, "replaced_by": 64,
}  # fmt: skip
MOST = {"topics": 50, "principals": 100}
TIMES = ("said", "valid_from", "valid_to", "changed")
_LEAST_TIME, _GREATEST_TIME = -62_135_510_400_000_000, 253_402_214_400_000_000  # years 1 to 9999, wherever one lives
_LINES = frozenset({"text", "value"})  # may have more than one line
_NUMBERS = {"useful": 10**9, "useless": 10**9, "enriched": 10**6}


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact a person told; a document with one chunk and these columns. Times are microseconds."""

    id: str
    workspace: int
    text: str
    principals: frozenset[str]
    author: str
    said: int
    kind: str = UNKNOWN
    about: str = ""  # whose it is: empty for the person's own
    attribute: str = ""
    value: str = ""
    unit: str = ""
    topics: tuple[str, ...] = ()
    language: str = ""
    confidence: float = 1.0  # of what was guessed
    source: str = "person"  # or the name of what it was taken from
    conversation: str = ""
    verified: frozenset[str] = frozenset()  # the fields a person set: no guess overwrites them
    valid_from: int = 0
    valid_to: int | None = None  # since then another value holds
    replaced_by: str = ""
    pinned: bool = False
    silent: bool = False  # kept, and never recalled
    private: bool = False  # answers on this machine only
    useful: int = 0
    useless: int = 0
    enriched: int = 0  # the version of the enrichment, negative for one in haste; 0 for none yet
    changed: int = 0
    clock: str = ""

    @property
    def trusted(self) -> bool:
        """Whether the person told it, or said that it is right: what comes from elsewhere replaces nothing of theirs."""
        return self.source == "person" or set(GUESSED) <= self.verified


def fault_of(field: str, value: object) -> str:
    """What is wrong with a text in a field of a memory, and the limit; empty when nothing is."""
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
    """What is wrong with a time in microseconds; empty when nothing is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{field} is a number of microseconds since 1970, not {type(value).__name__}"
    if not _LEAST_TIME <= value <= _GREATEST_TIME:  # neither is a number that is none
        return f"{field} is {value:g}; give microseconds since 1970, within the years 1 to 9999"
    return ""


def fault_of_list(field: str, values: Collection[object]) -> str:
    """What is wrong with topics or principals; empty when nothing is."""
    if len(values) > MOST[field]:
        return f"a memory has at most {MOST[field]} {field}; these are {len(values)}"
    return next((fault for one in values if (fault := fault_of(field.removesuffix("s"), one))), "")


def fault_of_memory(memory: Memory) -> str:
    """The first thing that is wrong with a memory from elsewhere; empty when nothing is."""
    times = [(name, getattr(memory, name)) for name in TIMES]
    found = [fault_of(name, getattr(memory, name)) for name in LIMITS if hasattr(memory, name)]
    found += [fault_of_list(name, getattr(memory, name)) for name in MOST]
    found += [fault_of_time(name, value) for name, value in times if value is not None]
    found += [f"{name} is out of range" for name, most in _NUMBERS.items() if abs(getattr(memory, name)) > most]
    found += [] if 0 <= memory.confidence <= 1 else ["confidence is between 0 and 1"]
    return next(filter(None, found), "")


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory was before a change."""

    at: int
    by: str
    before: Memory


@dataclass(frozen=True, slots=True)
class Link:
    """A typed relationship between two memories; read from the other side it has the same kind."""

    start: str
    end: str
    kind: str
    clock: str = ""


class Related(NamedTuple):
    """A document that a person linked with another, and the kind of the link."""

    document: int
    kind: str


class Relation(NamedTuple):
    """Why a hit came along with another: the kind of the link, how many links away, and the uri it is linked with."""

    kind: str
    depth: int
    uri: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One of a person's own categories, below another or none."""

    name: str
    parent: str = ""
    clock: str = ""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that got another name, or none: it was renamed, merged into another, or deleted."""

    name: str
    new: str
    clock: str


def renamed(names: Iterable[str], since: str, changes: Iterable[TopicChange]) -> tuple[str, ...]:
    """Topics that were written down at a clock, after all changes that came later; `changes` are in order."""
    found = tuple(names)
    for change in changes:
        if change.clock > since and change.name in found:
            found = tuple(change.new if name == change.name else name for name in found)
    return tuple(dict.fromkeys(name for name in found if name))


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of a new memory among those that are there: kept, or one with an old one; and which others change."""

    memory: Memory
    known: bool = False  # it was said before: `memory` is the old one, confirmed
    ended: tuple[Memory, ...] = ()  # older values, which hold no longer
    against: tuple[Memory, ...] = ()  # others that hold and say another value of the same thing


@dataclass(frozen=True, slots=True)
class Remembered:
    """What came of remembering something."""

    memory: Memory
    known: bool = False
    replaced: tuple[Memory, ...] = ()
    contradicts: tuple[Memory, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """How memories are narrowed; an empty field does not narrow. Times are microseconds."""

    topics: frozenset[str] = frozenset()
    conversation: str = ""
    min_confidence: float = 0.0
    as_of: int | None = None  # what held at this time, instead of now
    private: bool = True  # whether private ones may answer
    depth: int = 0  # how far links are followed from what is found


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known of all memories that were enriched."""

    total: int
    kinds: Mapping[str, int] = field(default_factory=dict)
    with_attribute: int = 0
    unsure: int = 0
    verified: int = 0
