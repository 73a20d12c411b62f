"""Recollect: how memories are ranked and how likely each matters, among all memories of the person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.ports.world import Embedder
from contextd.querying.compete import likely_of, standings
from contextd.querying.matter import matters
from contextd.text.aim import aimed
from contextd.text.natural_language import is_foreign
from contextd.values.answer import Retrieved
from contextd.values.document import ChunkId
from contextd.values.query import Plan, Query

Vectors = Mapping[str, NDArray[np.float32]]


def vectors_for(held: Vectors, plan: Plan, query: Query) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of a question, aimed at facts; the caller's own vector as it is.

    None for another language: English models embed all facts of it alike; word parts and concepts work better.
    """
    if query.vector is not None:
        return dict(held)
    return {} if is_foreign(plan.text) else {space: aimed(vector, space) for space, vector in held.items()}


def chances(
    likely: Mapping[ChunkId, float],
    retrieved: Retrieved,
    view: View,
    plan: Plan,
    held: Vectors,
    embedders: Callable[[Collection[str]], Sequence[Embedder]],
) -> dict[ChunkId, float]:
    """Return the probability that each memory matters: by its standing if there are vectors, at most that anything matters."""
    standing = standings(retrieved)
    static = [one for one in embedders(set(held)) if one.space in held and one.space.startswith("static/")]
    gate = matters(plan.text, retrieved, standing, {one.space: one.documents([plan.text])[0] for one in static})
    if not held:
        return {chunk: min(score, gate) for chunk, score in likely.items()}
    known = dict(zip(retrieved.chunks, likely_of(standing, view.size, gate).tolist(), strict=True))
    return {chunk: known[chunk] for chunk in likely}
