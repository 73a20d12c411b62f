"""How likely a fact matters for a question, and on which side of it: a relevance that means the same for every question.

It is the probability that a careful assistant would use the fact, as if one in three mattered before looking (of what a person
has told one in six does; then 0.7 means that it does rather than not). It is made from absolute features only: how near fact
and question are, in words, vectors and topics, and what kind of fact it is for the subject of the question. A logistic
regression on the labelled examples in `benchmarks/examples/facets.json` (`python -m benchmarks.facets --learn`);
the benchmarks page shows
the curve on questions by another hand.
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

_CERTAIN = 0.93  # in the examples, what is told with more is the very thing that is asked for in 85 of 100 cases
# By the kind of fact a subject asks for most, for the order: what one may not do comes before what one likes.
BOOSTS: dict[str, dict[str, float]] = {
    "shopping": {"constraint": 0.15, "preference": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.01},
    "recommendation": {"preference": 0.12, "constraint": 0.10, "characteristic": 0.05, "activity": 0.03, "goal": 0.02},
    "planning": {"goal": 0.10, "activity": 0.08, "preference": 0.05, "constraint": 0.05, "characteristic": 0.02},
    "information": {"characteristic": 0.08, "preference": 0.05, "activity": 0.03, "constraint": 0.02, "goal": 0.02},
}


class Signals(NamedTuple):
    """What is known of some facts beside a question, a row or an entry each."""

    cosines: Float  # to the question, in the best space
    static: Float  # and in the static one
    coverage: Float  # the share of the question's words that a fact has
    topics: Float  # 1 where they share a topic
    aspects: Float  # how likely each aspect is: a column for each of ASPECTS
    kinds: Sequence[str]


def aspects() -> tuple[str, ...]:
    """The aspects of life a fact may tell of."""
    return learned("aspect-static").labels


def relevance(signals: Signals, subject: str, tier: str) -> Float:
    """How likely each fact matters for a question of this subject."""
    return np.asarray(1 / (1 + np.exp(-np.clip(features(signals, subject) @ _weights(tier), -30, 30))))


def features(signals: Signals, subject: str) -> Float:
    """What relevance is judged by: how near, and for each subject what kind and aspect."""
    near = np.stack([signals.cosines, signals.static, signals.coverage, signals.topics, np.ones(len(signals.kinds))], 1)
    block = tells(signals)
    blocks = [block if name == subject else np.zeros_like(block) for name in SIDES]
    return np.hstack([near, *blocks])


def sides(signals: Signals, subject: str, claims: Mapping[str, frozenset[str]], likely: Float, tier: str) -> list[str]:
    """The side each fact belongs to. The usual five are learned; a further one takes the facts that tell of what it claims.

    Where there is a side for the very thing that is asked, what is nearly certain to matter is that.
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
    """What a side is judged by: aspects and kinds, and a constant."""
    kinds = np.array([[kind == known for known in KINDS] for kind in signals.kinds], float).reshape(-1, len(KINDS))
    return np.hstack([3 * signals.aspects, kinds, np.ones((len(kinds), 1))])


@lru_cache
def _weights(tier: str) -> NDArray[np.float32]:
    return learned(f"relevance-{tier}").weights[:, 0]
