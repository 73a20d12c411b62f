"""A relevance between 0 and 1 that means the same for every question: how likely this chunk's file answers it.

Made from absolute features only (shares and cosines, never the best of a list), so that an irrelevant question has low
relevance everywhere. The coefficients are a logistic regression on the development half of the code benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from contextd.types import Candidate

# Intercept, then one coefficient for each feature; with static vectors alone, and where a deep one is there.
STATIC = {
    "bias": -3.2,
    "chunk_coverage": 2.2,
    "document_coverage": 1.6,
    "name": 1.8,
    "stem": 2.4,
    "folder": 0.4,
    "cosine": 2.6,
}
DEEP = STATIC | {"bias": -5.2, "cosine": 6.0}
WORDS_ONLY = STATIC | {"bias": -2.4, "cosine": 0.0}


def relevance(candidate: Candidate) -> float:
    """The calibrated relevance of a candidate."""
    features, model = _features(candidate.arms)
    total = model["bias"] + sum(model[name] * value for name, value in features.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def _features(arms: Mapping[str, float]) -> tuple[dict[str, float], Mapping[str, float]]:
    features = {name: arms.get(name, 0.0) for name in ("chunk_coverage", "document_coverage", "name", "stem", "folder")}
    cosines = {name.split("/")[0]: value for name, value in arms.items() if "/" in name and value > -2}
    features["cosine"] = max(0.0, cosines.get("deep", cosines.get("static", 0.0)))
    return features, DEEP if "deep" in cosines else STATIC if "static" in cosines else WORDS_ONLY
