"""One order out of many: a weighted sum of scores that are normalized arm by arm, with weights for the kind of question.

The weights were chosen on the development half of the code benchmark (benchmarks/README.md tells how and shows what each
arm is worth). With static vectors reciprocal rank fusion loses several points to BM25 alone; a weighted sum does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextd.types import Candidate, Retrieved

Float = NDArray[np.float64]

# Weights of the arms by route; `vector` is the static arm, `deep` the deep one where there is one.
WEIGHTS: dict[str, dict[str, float]] = {
    "words": {"chunk": 0.35, "document": 0.55, "chunk_coverage": 0.2, "document_coverage": 0.35, "name": 0.25, "stem": 0.9,
              "folder": 0.2, "vector": 0.3, "deep": 0.9},
    "symbol": {"chunk": 0.3, "document": 0.3, "chunk_coverage": 0.1, "document_coverage": 0.1, "name": 1.6, "stem": 0.6,
               "folder": 0.1, "vector": 0.1, "deep": 0.1},
    "issue": {"chunk": 0.4, "document": 0.6, "chunk_coverage": 0.2, "document_coverage": 0.2, "name": 0.6, "stem": 0.7,
              "folder": 0.2, "vector": 0.2, "deep": 0.6},
}  # fmt: skip
WEIGHTS["path"] = WEIGHTS["symbol"] | {"stem": 2.0, "folder": 0.8, "name": 0.2}
WEIGHTS["trace"] = WEIGHTS["issue"]


def fuse(retrieved: Retrieved, route: str) -> list[Candidate]:
    """The candidates with one score each, best first."""
    if not retrieved.chunks:
        return []
    names = list(retrieved.arms)
    table = np.array([retrieved.arms[name] for name in names], np.float64)
    weights = WEIGHTS[route]
    deep = any(name.startswith("deep/") for name in names)
    total = np.zeros(len(retrieved.chunks))
    for name, row in zip(names, table, strict=True):
        total += _weight(weights, name, deep) * _normalized(name, row)
    order = sorted(range(len(total)), key=lambda place: (-total[place], retrieved.chunks[place]))
    columns = table.T.tolist()
    return [
        Candidate(retrieved.chunks[place], dict(zip(names, columns[place], strict=True)), float(total[place]))
        for place in order
    ]


def _weight(weights: Mapping[str, float], arm: str, deep: bool) -> float:
    """The deep arm replaces the static one: both together gain nothing."""
    if arm.startswith("deep/"):
        return weights["deep"]
    if arm.startswith("static/"):
        return weights["vector"] * (0.3 if deep else 1.0)
    return weights.get(arm, 0.0)


def _normalized(arm: str, values: Float) -> Float:
    """Between 0 and 1. Shares are so already; scores by the best of them, cosines by their spread."""
    if "/" not in arm:
        top = float(values.max(initial=0.0))
        return values / top if top > 0 and not arm.endswith("coverage") else np.clip(values, 0, 1)
    there = values > -2
    if not there.any():
        return np.zeros(len(values))
    low, high = float(values[there].min()), float(values[there].max())
    return np.where(there, (values - low) / (high - low), 0) if high > low else there.astype(np.float64)
