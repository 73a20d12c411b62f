"""An embedding model of a server as an embedder of the deep tier, in a space of its own."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.ports.engines import Embed
from contextd.ports.world import Matrix
from contextd.text.private_matters import is_private

_BATCH = 32  # texts of one request
_SECONDS, _QUERY_SECONDS = 60.0, 5.0  # for one request: of documents, of a question
_PAUSE = 30.0  # seconds without a request after a failed one
_PREFIXES = {"nomic-embed-text": ("search_document: ", "search_query: ")}  # of documents and questions, as it was trained


@dataclass(slots=True)
class EngineEmbedder:
    """Vectors of length one. After a failure the server is left alone for a while. Any thread may call its methods."""

    engine: Embed
    _dimension: int = 0
    _again: float = 0.0  # time of the next attempt after a failure
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dimension(self) -> int:
        """The length of each vector. The first call asks the server. Raises `Unavailable`."""
        with self._lock:
            if not self._dimension:
                self._dimension = self._rows(["dimension"], _QUERY_SECONDS).shape[1]
            return self._dimension

    @property
    def space(self) -> str:
        """The id of the space: never that of a local model, nor of the same model at another engine."""
        return f"deep/{re.sub(r'[^A-Za-z0-9.-]+', '-', self.engine.name)}/{self.dimension}"

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, one row each. Raises `Unavailable`."""
        prefix = self._prefixes[0]
        parts = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        rows = [self._rows([prefix + text for text in part], _SECONDS) for part in parts]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension), np.float32)

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question. Raises `Unavailable`, also for a private one if the server is remote."""
        if self.engine.remote and is_private(text):
            raise Unavailable(f"the question is private, and {self.engine.name} is on another machine")
        vector: NDArray[np.float32] = self._rows([self._prefixes[1] + text], _QUERY_SECONDS)[0]
        return vector

    @property
    def _prefixes(self) -> tuple[str, str]:
        return _PREFIXES.get(self.engine.name.rpartition("/")[2].partition(":")[0], ("", ""))

    def _rows(self, texts: Sequence[str], seconds: float) -> Matrix:
        if time.monotonic() < self._again:
            raise Unavailable(f"{self.engine.name} failed a moment ago")
        try:
            rows = self.engine.embed(texts, time.monotonic() + seconds)
        except Unavailable:
            self._again = time.monotonic() + _PAUSE
            raise
        if self._dimension and rows.shape[1] != self._dimension:
            raise Unavailable(f"{self.engine.name} changed the length of its vectors")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), np.float32)
