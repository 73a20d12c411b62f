"""Need: how much a question needs each fact of a person, by the best vectors that the facts have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.ports.world import Embedder, fact_embedder
from contextd.text.needs import FACTS, Compared, Projected, compared, needs_of, tier_of, wanted
from contextd.values.answer import Retrieved
from contextd.values.trace import Trace

_LACKING = "some memories lack vectors for facts; run `contextd memories enrich`"


@dataclass(frozen=True, slots=True)
class Need:
    """A question as it is compared with facts that it may need, and the log-odds of each by its vector."""

    tier: str  # whose weights are used
    question: Projected | Compared
    odds: NDArray[np.float64]


def need(
    text: str, vectors: Mapping[str, NDArray[np.float32]], view: View, found: Retrieved, held: Sequence[Embedder], trace: Trace
) -> Need:
    """Compare a question with all facts. `vectors` has it as a document, by space; `held` the embedders of the view.

    The space for facts serves if all facts with a vector in the best space have one there: older versions did not make them.
    """
    space, own = held[-1].space if held else "", fact_embedder(held[-1]) if held else None
    if own is not None and view.spaces.get(own.space, 0) >= view.spaces.get(space, 0):
        asked = trace.attempt("embed (facts)", lambda: own.query(text), None)
        if asked is not None:
            compares = compared(asked)
            return Need(FACTS, compares, compares.by_vectors(view.vectors(found.chunks, own.space)))
    elif own is not None:
        trace.warn(_LACKING)
    vector = vectors.get(space, np.zeros(0, np.float32))
    tier = tier_of(space, len(vector))
    projected = wanted(needs_of(tier), text, vector)
    return Need(tier, projected, projected.by_vectors(view.vectors(found.chunks, space)))
