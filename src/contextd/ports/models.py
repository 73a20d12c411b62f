"""The protocol of the models of a data directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from contextd.ports.world import Embedder, Reranker


class Models(Protocol):
    """Models by name. Each model is loaded once. A missing model is looked for again at the next call."""

    def static(self, name: str) -> tuple[Embedder | None, tuple[str, ...]]:
        """Return a static model, or None and a warning if it is missing."""

    def deep(self, name: str) -> Callable[[], Embedder | None]:
        """Return a function that loads a deep model when called; the function returns None if the model is missing."""

    def reranker(self) -> Reranker | None:
        """Return the model that reranks the best hits; None if it is missing."""
