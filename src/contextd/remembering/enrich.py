"""What can be known of a fact without being told: kind, attribute with value and unit, topics, language.

By examples and patterns, with a confidence. What the person set is never overwritten; what they corrected is an example
for facts that are nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from contextd.guesses import guess
from contextd.memory import GUESSED, UNKNOWN, Memory
from contextd.ports import Embedder, Matrix
from contextd.remembering.attributes import stated
from contextd.remembering.language import language_of
from contextd.remembering.topics import Routing

VERSION = 1
_SURE = 0.6  # below, a guess is told as unknown; of examples by another hand 95 % above it were right
_ALIKE = 0.85  # cosine of static vectors: the same sentence with another day or number in it


@dataclass(frozen=True, slots=True)
class Enricher:
    """Fills in what a memory does not say of itself."""

    static: Embedder | None
    routing: Routing
    corrected: Callable[[], Sequence[Memory]] = tuple  # memories whose kind a person set
    _examples: dict[str, Any] = field(default_factory=dict)

    def enrich(self, memory: Memory, vectors: Mapping[str, Matrix]) -> Memory:
        """The memory with everything that can be guessed of it."""
        kind, confidence = self._kind(memory.text, vectors)
        about, attribute, value, unit = stated(memory.text)
        guesses: dict[str, Any] = {
            "kind": kind,
            "about": about,
            "attribute": attribute,
            "value": value,
            "unit": unit,
            "topics": self.routing.topics_of(memory.text),
            "language": language_of(memory.text),
        }
        free = {name: guesses[name] for name in GUESSED if name not in memory.verified}
        sure = 1.0 if "kind" in memory.verified else confidence
        return replace(memory, **free, confidence=sure, enriched=VERSION)

    def _kind(self, text: str, vectors: Mapping[str, Matrix]) -> tuple[str, float]:
        taught = self._taught(text)
        if taught:
            return taught, 0.95
        found = guess("kind", text, vectors)
        if found is None:
            return UNKNOWN, 0.0
        return (found.label if found.confidence >= _SURE else UNKNOWN), found.confidence

    def _taught(self, text: str) -> str:
        """The kind a person gave to a fact that is nearly the same."""
        if self.static is None:
            return ""
        if "matrix" not in self._examples:
            memories = list(self.corrected())
            self._examples["kinds"] = [memory.kind for memory in memories]
            self._examples["matrix"] = self.static.documents([memory.text for memory in memories]) if memories else None
        matrix = self._examples["matrix"]
        if matrix is None:
            return ""
        near = matrix @ self.static.documents([text])[0]
        best = int(np.argmax(near))
        return str(self._examples["kinds"][best]) if near[best] >= _ALIKE else ""
