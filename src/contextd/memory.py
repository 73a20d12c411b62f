"""What a memory is, and what goes with it: values only, as `types` has them for documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("constraint", "preference", "activity", "characteristic", "goal", "fact", "decision")
UNKNOWN = "unknown"  # the kind of a memory that nothing sure can be said of
GUESSED = ("kind", "about", "attribute", "value", "unit", "topics", "language")  # what enrichment fills in


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


@dataclass(frozen=True, slots=True)
class Topic:
    """One of a person's own categories, below another or none."""

    name: str
    parent: str = ""
    clock: str = ""


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
