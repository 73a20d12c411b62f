"""Recollect: how memories are ranked and how likely each matters, among all memories of the person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.ports.world import Embedder
from contextd.querying.compete import likely_of, standings
from contextd.querying.fact_vectors import compare
from contextd.querying.matter import any_needed, matters
from contextd.text.aim import aimed
from contextd.text.natural_language import is_foreign, may_be_english, small_words
from contextd.text.needs import FACTS
from contextd.text.terms import split
from contextd.text.wording import says_nothing
from contextd.values.answer import Retrieved
from contextd.values.document import ChunkId
from contextd.values.query import Plan, Query
from contextd.values.trace import Trace

Vectors = Mapping[str, NDArray[np.float32]]
_ALL_WORDS = 0.999  # share of the content words of a question


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
    trace: Trace,
) -> dict[ChunkId, float]:
    """Return the probability that each memory matters: by its standing if there are vectors, at most that anything matters."""
    if not retrieved.chunks:
        return {}
    standing, models = standings(retrieved), [one for one in embedders(set(held)) if one.space in held]
    gate = _gate(retrieved, standing, view, plan, models, trace)
    if not held:
        return {chunk: min(score, gate) for chunk, score in likely.items()}
    known = dict(zip(retrieved.chunks, likely_of(standing, view.size, gate).tolist(), strict=True))
    return {chunk: known[chunk] for chunk in likely}


def _gate(
    retrieved: Retrieved, standing: NDArray[np.float64], view: View, plan: Plan, models: Sequence[Embedder], trace: Trace
) -> float:  # fmt: skip
    """Return the probability that any memory matters: by how much each is needed, if that is known."""
    if says_nothing(plan.text):
        return 0.0
    if _says_all(retrieved, plan.text):
        return 1.0
    of_text = {one.space: one.documents([plan.text])[0] for one in models if one.space.startswith("static/")}
    found = compare(plan.text, view, retrieved.chunks, models, trace) if may_be_english(plan.text) else None
    if found is None:
        return matters(plan.text, retrieved, standing, of_text)
    return any_needed(plan.text, retrieved, standing, of_text, found.odds, FACTS)


def _says_all(retrieved: Retrieved, text: str) -> bool:
    """Return whether a memory has all content words of a question, of which there are several: "where do herons nest"."""
    coverage = retrieved.arms.get("document_coverage")
    several = len({*split(text.casefold())} - small_words(text)) > 1
    return several and coverage is not None and bool(coverage.max(initial=0) >= _ALL_WORDS)
