"""Embed chunks in batches across documents. Vectors are checked before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from contextd.errors import Unavailable
from contextd.ports.store import Waiting
from contextd.ports.world import Embedder, Matrix

_TEXTS = 8  # texts per call of a slow model, which can be interrupted between calls
_CONTENTS = 16  # contents per batch of missing vectors; a killed process loses one batch


def embed(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Return the vectors of texts. Raises Unavailable if memory is short or the result has the wrong shape."""
    try:
        vectors = _in_parts(embedder, texts)
    except MemoryError:
        raise Unavailable(
            "not enough memory for vectors; texts are searchable by keywords only. Free memory, then run `contextd index`"
        ) from None
    if vectors.shape != (len(texts), embedder.dimension):
        raise Unavailable(
            f"{embedder.space} returned shape {vectors.shape} for {len(texts)} texts; they are searchable by keywords only"
        )
    return np.asarray(vectors, np.float32)


def _in_parts(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Return the vectors of texts, in halves if memory is short."""
    try:
        return embedder.documents(texts)
    except MemoryError:
        if len(texts) < 2:
            raise
    middle = len(texts) // 2
    return np.concatenate([_in_parts(embedder, texts[:middle]), _in_parts(embedder, texts[middle:])])


def embed_missing(
    store: Waiting,
    embedder: Embedder,
    report: Callable[[int], None] = lambda _: None,
    go_on: Callable[[], bool] = lambda: True,
    besides: Collection[str] = (),
) -> int:
    """Embed the contents without a vector in this space, newest first, and store each batch. Returns the number of chunks.

    `go_on` is called every few texts; if it returns False, the batch is dropped. Documents in `besides` (uris) are left out.
    """
    done = 0
    while batch := store.missing_vectors(embedder.space, _CONTENTS, besides):
        parts: list[Matrix] = []
        texts = [text for _, several in batch for text in several]
        if not texts:  # all were deleted since, or their texts cannot be read
            return done
        for start in range(0, len(texts), _TEXTS):
            if not go_on():
                return done
            parts.append(embed(embedder, texts[start : start + _TEXTS]))
        matrix = np.concatenate(parts)
        start, found = 0, {}
        for content, several in batch:
            found[content] = matrix[start : start + len(several)]
            start += len(several)
        store.add_vectors(embedder.space, found)
        done += start
        report(done)
    return done
