"""A relevance between 0 and 1 that means the same for every question.

It is the probability that a document answers the question, at even odds before looking: half the questions being about
this project and half about something else. Made from absolute features only (shares and cosines, never the best of a
list), so that an unrelated question has low relevance everywhere. The coefficients are a logistic regression on the
development half of the code benchmark, with questions about other people's lives as the unrelated half
(benchmarks/README.md shows the curve).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from contextd.types import Candidate

# Where a deep vector is there, where only a static one is, and by words alone.
_DEEP = {"bias": -7.8, "document_coverage": 2.2, "name": 1.2, "stem": 2.3, "folder": 1.3, "cosine": 11.0}
_STATIC = {"bias": -3.3, "document_coverage": 2.3, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 4.9}
_WORDS = {"bias": -2.3, "document_coverage": 3.0, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 0.0}


def relevance(candidate: Candidate) -> float:
    """The calibrated relevance of a candidate."""
    arms = candidate.arms
    cosines = {name.split("/")[0]: value for name, value in arms.items() if "/" in name and value > -2}
    model = _DEEP if "deep" in cosines else _STATIC if "static" in cosines else _WORDS
    cosine = max(0.0, cosines.get("deep", cosines.get("static", 0.0)))
    return _logistic(model["bias"] + model["cosine"] * cosine + _shares(arms, model))


def _shares(arms: Mapping[str, float], model: Mapping[str, float]) -> float:
    return sum(model[name] * arms.get(name, 0.0) for name in ("document_coverage", "name", "stem", "folder"))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))
