"""Judge how likely a fact is relevant for a question, and to which facet it belongs.

Relevance means the same for every question: the probability that a careful assistant would use the fact, with a prior of one
in three. (Of a person's facts one in six is relevant; with this prior, 0.7 means more likely than not.) Only absolute features
are used: similarity of fact and question in words, vectors and topics, and the kind of fact for the subject of the question.
The weights are a logistic regression on the labelled examples in `benchmarks/examples/facets.json` (`python -m
benchmarks.facets --learn`). The benchmarks page shows the curve on questions by another author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.querying.facets.facet_table import SIDES
from contextd.text.classifiers import learned
from contextd.values.memory import KINDS

Float = NDArray[np.float64]

_CERTAIN = 0.93  # in the examples, 85 of 100 facts above this are the very thing asked for
# Used for the order only: kinds of fact that matter most for a subject, constraints before preferences.
BOOSTS: dict[str, dict[str, float]] = {
    "shopping": {"constraint": 0.15, "preference": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.01},
    "recommendation": {"preference": 0.12, "constraint": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.02},
    "planning": {"goal": 0.10, "activity": 0.08, "preference": 0.05, "constraint": 0.05, "characteristic": 0.02},
    "information": {"characteristic": 0.08, "preference": 0.05, "activity": 0.03, "constraint": 0.02, "goal": 0.02},
}


class Signals(NamedTuple):
    """Features of some facts for a question, one row or entry per fact."""

    cosines: Float  # to the question, in the best space
    static: Float  # to the question, in the static space
    coverage: Float  # share of the question's words that a fact has
    topics: Float  # 1 if they share a topic
    aspects: Float  # probability of each aspect, one column per aspect
    kinds: Sequence[str]


def aspects() -> tuple[str, ...]:
    """Return the aspects of life a fact may be about."""
    return learned("aspect-static").labels


def relevance(signals: Signals, subject: str, tier: str) -> Float:
    """Return how likely each fact is relevant for a question of this subject."""
    return np.asarray(1 / (1 + np.exp(-np.clip(features(signals, subject) @ _weights(tier), -30, 30))))


def features(signals: Signals, subject: str) -> Float:
    """Return the features of relevance: similarity, and for each subject the kind and aspects."""
    near = np.stack([signals.cosines, signals.static, signals.coverage, signals.topics, np.ones(len(signals.kinds))], 1)
    block = tells(signals)
    blocks = [block if name == subject else np.zeros_like(block) for name in SIDES]
    return np.hstack([near, *blocks])


def sides(signals: Signals, subject: str, claims: Mapping[str, frozenset[str]], likely: Float, tier: str) -> list[str]:
    """Return the facet of each fact. The usual five are learned; a further one takes facts whose aspects it claims.

    If there is a `direct` facet, facts that are nearly certain to be relevant go there.
    """
    model = learned(f"side-{tier}")
    usual = [name for name in claims if f"{subject}.{name}" in model.labels]
    scores = tells(signals) @ model.weights[:, [model.labels.index(f"{subject}.{name}") for name in usual]]
    found = [usual[best] for best in scores.argmax(axis=1)]
    place = {aspect: number for number, aspect in enumerate(aspects())}
    for name in [name for name in claims if name not in usual]:
        claimed = signals.aspects[:, [place[aspect] for aspect in claims[name]]].sum(axis=1) > 0.5
        found = [name if there else other for other, there in zip(found, claimed, strict=True)]
    if "direct" in claims:
        found = ["direct" if score >= _CERTAIN else name for name, score in zip(found, likely, strict=True)]
    return found


def tells(signals: Signals) -> Float:
    """Return the features of a fact's facet: aspects, kinds and a constant."""
    kinds = np.array([[kind == known for known in KINDS] for kind in signals.kinds], float).reshape(-1, len(KINDS))
    return np.hstack([3 * signals.aspects, kinds, np.ones((len(kinds), 1))])


@lru_cache
def _weights(tier: str) -> NDArray[np.float32]:
    return learned(f"relevance-{tier}").weights[:, 0]
