"""Guess the fields of a memory that the person did not set: kind, attribute with value and unit, topics, language.

Guesses come from examples and patterns, with a confidence. They never overwrite fields the person set. A kind the person
corrected becomes an example for nearly identical facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from contextd.ports.world import Embedder, Matrix
from contextd.remembering.owners import whose
from contextd.remembering.topics import Routing, Vector
from contextd.remembering.values import TaggedFact, valued
from contextd.text.classifiers import guess
from contextd.text.hard_limits import limit_domains
from contextd.text.natural_language import language_of
from contextd.text.relative_times import lasting_since
from contextd.text.times import windows
from contextd.text.wording import kind_of
from contextd.values.memory import GUESSED, UNKNOWN, Memory, fault_of

VERSION = 6
_SURE = 0.65  # below, the kind is unknown; on examples by another author 95 % above .6 were right
_BY_WORDING = 0.65  # confidence in a kind without vectors: two thirds of such kinds were right on unseen facts
_ALIKE = 0.85  # cosine of static vectors: the same sentence with another day or number in it


_BEGINS = re.compile(
    r"\b(?:since|as of|starting|from|moved|started|joined|switched|changed|became|turned|quit|left|stopped|began|married"
    r"|adopted|seit|ab|zog|wechselte|begann|depuis|desde)\b",
    re.IGNORECASE,
)


def began(text: str, said: int) -> int:
    """Return since when a fact holds, if it says so and that is past: "I moved to Lyon in March"; else 0."""
    times = windows(text, said) if _BEGINS.search(text) else ()
    return max((start for start, _ in times if 0 < start < said), default=lasting_since(text, said))  # of several, the last


def _stated(text: str, tagged: TaggedFact | None) -> dict[str, str]:
    """Return about, attribute, value and unit of a text; all empty if one exceeds the limit of its field."""
    fact = valued(text, log_parts=tagged.log_parts if tagged is not None else None)
    about = fact.about if fact.attribute else whose(" ".join(text.split()))[0]
    found = {"about": about, "attribute": fact.attribute, "value": fact.value, "unit": fact.unit}
    return dict.fromkeys(found, "") if any(fault_of(name, value) for name, value in found.items()) else found


class Taught(NamedTuple):
    """A memory whose kind a person set, and its vectors by space."""

    memory: Memory
    vectors: Mapping[str, Matrix]


@dataclass(frozen=True, slots=True)
class Enricher:
    """Fills in the fields of a memory that are not verified."""

    static: Embedder | None
    routing: Routing
    corrected: Callable[[], Sequence[Taught]] = tuple  # memories whose kind a person set
    version: int = VERSION  # negative if the guesses are to be improved later
    _examples: list[tuple[list[str], Matrix]] = field(default_factory=list)  # filled on first use

    def enrich(self, memory: Memory, vectors: Mapping[str, Matrix], tagged: TaggedFact | None = None) -> Memory:
        """Return the memory with guesses in all fields that are not verified."""
        static = vectors.get(self.static.space) if self.static is not None else None
        vector = static[0] if static is not None else None
        kind, confidence = self._kind(memory.text, {**vectors, **(tagged.vectors if tagged else {})}, vector)
        guesses: dict[str, Any] = {
            "kind": UNKNOWN if fault_of("kind", kind) else kind,
            **_stated(memory.text, tagged),
            "topics": self.routing.topics_of(memory.text, vector),
            "language": language_of(memory.text),
        }
        free = {name: guesses[name] for name in GUESSED if name not in memory.verified}
        if "valid_from" not in memory.verified and (since := began(memory.text, memory.said)):
            free["valid_from"] = since
        sure = 1.0 if "kind" in memory.verified else confidence
        return replace(memory, **free, confidence=sure, enriched=self.version)

    def _kind(self, text: str, vectors: Mapping[str, Matrix], vector: Vector | None) -> tuple[str, float]:
        taught = self._taught(vector) if vector is not None else ""
        if taught:
            return taught, 0.95
        found, worded = guess("kind", text, vectors), kind_of(text)
        if found is None:
            return worded or UNKNOWN, _BY_WORDING if worded else 0.0
        if found.confidence < _SURE and limit_domains(text):  # "never eats pork"
            return "constraint", _SURE
        return (found.label if found.confidence >= _SURE else UNKNOWN), found.confidence

    def _taught(self, vector: Vector) -> str:
        """Return the kind a person set for a nearly identical fact; empty if there is none."""
        if not self._examples:
            self._examples.append(self._embedded())
        kinds, matrix = self._examples[0]
        if not kinds:
            return ""
        near = matrix @ vector
        best = int(np.argmax(near))
        return kinds[best] if near[best] >= _ALIKE else ""

    def _embedded(self) -> tuple[list[str], Matrix]:
        """Return the kinds that persons set, and the stored vectors of these memories. Skips memories without a vector."""
        space = self.static.space if self.static is not None else ""
        known = [(one.memory.kind, one.vectors[space]) for one in self.corrected() if space in one.vectors] if space else []
        return [kind for kind, _ in known], np.vstack([vector for _, vector in known]) if known else np.zeros(
            (0, 0), np.float32
        )
