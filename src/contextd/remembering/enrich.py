"""What can be known of a fact without being told: kind, attribute with value and unit, topics, language.

By examples and patterns, with a confidence. What the person set is never overwritten; what they corrected is an example
for facts that are nearly the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from contextd.ports.world import Embedder, Matrix
from contextd.remembering.topics import Routing, Vector
from contextd.remembering.values import valued
from contextd.text.classifiers import guess
from contextd.text.natural_language import language_of
from contextd.text.times import windows
from contextd.values.memory import GUESSED, UNKNOWN, Memory, fault_of

VERSION = 2
_SURE = 0.65  # below, a guess is told as unknown; of examples by another hand 95 % above .6 were right
_ALIKE = 0.85  # cosine of static vectors: the same sentence with another day or number in it


_BEGINS = re.compile(
    r"\b(?:since|as of|starting|from|moved|started|joined|switched|changed|became|turned|quit|left|stopped|began|married"
    r"|adopted|seit|ab|zog|wechselte|begann|depuis|desde)\b",
    re.IGNORECASE,
)


def began(text: str, said: int) -> int:
    """Since when a fact holds, if it says so and that is past: "I moved to Lyon in March"; 0 otherwise."""
    times = windows(text, said) if _BEGINS.search(text) else ()
    return max((start for start, _ in times if 0 < start < said), default=0)  # of several the last: what began then holds


def _stated(text: str) -> dict[str, str]:
    """What a text states of whom; nothing when a part of it is beyond the limits of its field."""
    fact = valued(text)
    found = {"about": fact.about, "attribute": fact.attribute, "value": fact.value, "unit": fact.unit}
    return dict.fromkeys(found, "") if any(fault_of(name, value) for name, value in found.items()) else found


class Taught(NamedTuple):
    """A memory whose kind a person set, and its vectors by space."""

    memory: Memory
    vectors: Mapping[str, Matrix]


@dataclass(frozen=True, slots=True)
class Enricher:
    """Fills in what a memory does not say of itself."""

    static: Embedder | None
    routing: Routing
    corrected: Callable[[], Sequence[Taught]] = tuple  # memories whose kind a person set
    version: int = VERSION  # negative for guesses that better ones are to follow
    _examples: list[tuple[list[str], Matrix]] = field(default_factory=list)  # once they are asked for

    def enrich(self, memory: Memory, vectors: Mapping[str, Matrix]) -> Memory:
        """The memory with everything that can be guessed of it."""
        static = vectors.get(self.static.space) if self.static is not None else None
        vector = static[0] if static is not None else None
        kind, confidence = self._kind(memory.text, vectors, vector)
        guesses: dict[str, Any] = {
            "kind": UNKNOWN if fault_of("kind", kind) else kind,
            **_stated(memory.text),
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
        found = guess("kind", text, vectors)
        if found is None:
            return UNKNOWN, 0.0
        return (found.label if found.confidence >= _SURE else UNKNOWN), found.confidence

    def _taught(self, vector: Vector) -> str:
        """The kind a person gave to a fact that is nearly the same."""
        if not self._examples:
            self._examples.append(self._embedded())
        kinds, matrix = self._examples[0]
        if not kinds:
            return ""
        near = matrix @ vector
        best = int(np.argmax(near))
        return kinds[best] if near[best] >= _ALIKE else ""

    def _embedded(self) -> tuple[list[str], Matrix]:
        """The kinds that were set, and the stored vectors of what they were set for; a memory without one teaches nothing."""
        space = self.static.space if self.static is not None else ""
        known = [(one.memory.kind, one.vectors[space]) for one in self.corrected() if space in one.vectors] if space else []
        return [kind for kind, _ in known], np.vstack([vector for _, vector in known]) if known else np.zeros(
            (0, 0), np.float32
        )
