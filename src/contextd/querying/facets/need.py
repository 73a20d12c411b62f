"""Need: how much a question needs each fact of a person, by the best vectors that the facts have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.ports.world import Embedder
from contextd.querying.fact_vectors import compare
from contextd.text.needs import FACTS, Compared, Projected, looks_up, needs_of, tier_of, wanted
from contextd.text.wording import asks_one_thing
from contextd.values.answer import Retrieved
from contextd.values.trace import Trace


@dataclass(frozen=True, slots=True)
class Need:
    """A question as it is compared with facts that it may need, and the log-odds of each by its vector."""

    tier: str  # whose weights are used
    question: Projected | Compared
    odds: NDArray[np.float64]
    looks_up: bool  # whether one fact is asked for


def need(
    text: str, vectors: Mapping[str, NDArray[np.float32]], view: View, found: Retrieved, held: Sequence[Embedder], trace: Trace
) -> Need:
    """Compare a question with all facts. `vectors` has it as a document, by space; `held` the embedders of the view.

    The space for facts serves if any fact has a vector there.
    """
    if held and (found_by := compare(text, view, found.chunks, held[-1:], trace)) is not None:
        return Need(FACTS, found_by.question, found_by.odds, looks_up(text, found_by.vector))
    space = held[-1].space if held else ""
    vector = vectors.get(space, np.zeros(0, np.float32))
    tier = tier_of(space, len(vector))
    projected = wanted(needs_of(tier), text, vector)
    return Need(tier, projected, projected.by_vectors(view.vectors(found.chunks, space)), asks_one_thing(text))
