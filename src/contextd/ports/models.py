"""What is asked of the models of a data directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from contextd.ports.world import Embedder, Reranker


class Models(Protocol):
    """Models by name, each loaded once; one that is missing is looked for again by whoever asks next."""

    def static(self, name: str) -> tuple[Embedder | None, tuple[str, ...]]:
        """A static model, and a warning where it is missing."""

    def deep(self, name: str) -> Callable[[], Embedder | None]:
        """A deep model, loaded when it is needed; None where it is missing."""

    def reranker(self) -> Reranker | None:
        """The model that reads the best hits once more; None where it is missing."""
