"""Decide whether any of a person's facts can matter for a question at all.

A question about the world ("why is the sky blue") gets nothing, however near some fact is. The evidence: how near the best fact
is, the words and concepts it shares, whether the question speaks of oneself, what the classifiers say of its act and
subject, and how much any fact is needed, if that is known. The weights are logistic regressions on questions of persons, and on
questions about the world asked of the same persons (`python -m benchmarks.relevance --learn`, `python -m
benchmarks.judge --learn`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import fitted, learned, likelihoods
from contextd.text.natural_language import is_foreign, may_be_english
from contextd.text.needs import FACTS, WORDS
from contextd.text.wording import is_about_world, speaks_of_oneself
from contextd.values.answer import Retrieved

Float = NDArray[np.float64]


class Enough(NamedTuple):
    """The probability that any fact matters from which facts are shown, answers to look-ups, and hard limits."""

    facts: float
    look_up: float
    limits: float


ENOUGH = {  # by tier; with vectors for facts, 94 questions in English that need limits have .53 or more, among 20 facts .2
    FACTS: Enough(0.6, 0.2, 0.15),
    "deep": Enough(0.5, 0.1, 0.05),
    "static": Enough(0.4, 0.1, 0.05),
    WORDS: Enough(0.5, 0.1, 0.05),
}
_SHARED = 0.4  # share of words, or of word parts and concepts, that needs no further evidence
_BY_WORDING = 0.9  # where only the wording is known


def matters(text: str, found: Retrieved, standing: Float, vectors: Mapping[str, NDArray[np.float32]]) -> float:
    """Return the probability that some fact matters for a question. `vectors` has the question as a document, by space."""
    space = next(iter(fitted(vectors)), "")
    if not space or is_foreign(text):
        return _by_wording(text, found)
    weights = learned(f"matter-{space.split('/')[0]}").weights[:, 0]
    return float(1 / (1 + np.exp(-(evidence(text, found, standing, vectors[space], space) @ weights))))


def any_needed(
    text: str,
    found: Retrieved,
    standing: Float,
    vectors: Mapping[str, NDArray[np.float32]],
    needed: Float,
    tier: str,
) -> float:
    """Return the probability that some fact matters, from the log-odds that each one is needed (`text/needs.py`).

    The weights are those of their tier. In the tier of facts, static vectors tell as much of the question as deep ones.
    """
    spaces = {space.split("/")[0]: space for space in fitted(vectors)}
    weights_of = {"any-facts": "static", "any-facts-deep": "deep"} if tier == FACTS else {f"any-{tier}": tier}
    name = next((name for name, of_text in weights_of.items() if of_text in spaces), "")
    if not name or not may_be_english(text):
        return _by_wording(text, found)
    space, weights = spaces[weights_of[name]], learned(name).weights[:, 0]
    features = evidence(text, found, standing, vectors[space], space)
    return float(1 / (1 + np.exp(-(np.concatenate([of_needs(needed), features]) @ weights))))


def of_needs(needed: Float) -> Float:
    """Return the log-odds of the best and the third fact, and how many are needed."""
    best = np.sort(needed)[::-1]
    return np.array([best[0], best[min(2, len(best) - 1)], np.log1p((1 / (1 + np.exp(-np.clip(best, -30, 30)))).sum())])


def evidence(text: str, found: Retrieved, standing: Float, vector: NDArray[np.float32], space: str) -> Float:
    """Return the features of `matters`; the last one is constant."""
    best = [float(found.arms[arm].max(initial=0)) if arm in found.arms else 0.0 for arm in ("document_coverage", "parts")]
    cosine = max((float(found.arms[one].max(initial=-1)) for one in found.spread if one in found.arms), default=0.0)
    size = max((spread.size for spread in found.spread.values()), default=0)
    classes = [likelihoods(what, [text], space, vector.reshape(1, -1))[0] for what in ("subject", "act")]
    near = [float(standing.max(initial=0)), 10 * cosine, float(np.log1p(size)), *best, float(speaks_of_oneself(text))]
    return np.concatenate([near, *classes, [1.0]])


def _by_wording(text: str, found: Retrieved) -> float:
    """Without vectors of the language: a question about the world matters only if a fact shares most of its words."""
    shared = max(
        (float(found.arms[arm].max(initial=0)) for arm in ("document_coverage", "parts") if arm in found.arms), default=0.0
    )
    return _BY_WORDING if not is_about_world(text) or shared > _SHARED else 1 - _BY_WORDING
