"""Compare a question with memories by their vectors for facts (`text/needs.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.ports.world import Embedder, fact_embedder
from contextd.text.needs import Compared, compared, needs_of, tier_of, wanted
from contextd.values.document import ChunkId
from contextd.values.trace import Trace

_LACKING = "some memories lack vectors for facts; run `contextd memories enrich`"


class Comparison(NamedTuple):
    """A question in the space for facts: its vector, how it is compared, and the log-odds that it needs each memory."""

    vector: NDArray[np.float32]
    question: Compared
    odds: NDArray[np.float64]


def compare(text: str, view: View, chunks: Sequence[ChunkId], models: Sequence[Embedder], trace: Trace) -> Comparison | None:
    """Return the comparison of a question with some memories.

    None without a model for it, and if no memory has such a vector. Older versions did not make them: a memory that lacks one
    is judged by its other vector, as all are without the space for facts.
    """
    for model in models:
        own = fact_embedder(model)
        if own is None:
            continue
        if view.spaces.get(own.space, 0) < view.spaces.get(model.space, 0):
            trace.warn(_LACKING)
        if not view.spaces.get(own.space, 0):
            return None
        vector = trace.attempt("embed (facts)", partial(own.query, text), None)
        if vector is None:
            return None
        question, facts = compared(vector), view.vectors(chunks, own.space)
        lacking = ~facts.any(axis=1)
        odds = question.by_vectors(facts)
        if lacking.any():
            others = [chunks[place] for place in np.flatnonzero(lacking).tolist()]
            odds[lacking] = trace.attempt("embed (deep)", partial(_otherwise, text, model, view, others), odds[lacking])
        return Comparison(vector, question, odds)
    return None


def _otherwise(text: str, model: Embedder, view: View, chunks: Sequence[ChunkId]) -> NDArray[np.float64]:
    """Return the log-odds that a question needs memories without a vector for facts."""
    vector = model.documents([text])[0]
    asked = wanted(needs_of(tier_of(model.space, len(vector))), text, vector)
    return asked.by_vectors(view.vectors(chunks, model.space))
