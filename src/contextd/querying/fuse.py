"""One order out of many: each document is a weighted sum of its standing in every arm, each chunk follows its document.

A document stands in an arm as its best chunk does, and has company when further chunks of it stand there too. Scores are
normalized arm by arm. The weights are a listwise softmax regression on the development half of the code benchmark
(benchmarks/README.md tells how, and what each arm is worth out of fold). Reciprocal rank fusion loses several points with
static vectors; a weighted sum does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextd.types import Candidate, Retrieved

Float = NDArray[np.float64]

# By route, without and with deep vectors; `words_company` and `vector_company` are for further chunks of a document.
_STATIC = {
    "words": {"chunk": 1.76, "chunk_coverage": 0.7, "document": 0.77, "name": 0.77, "folder": 1.04, "static": 0.89,
              "words_company": 1.54, "vector_company": 0.88},
    "symbol": {"chunk": 1.35, "chunk_coverage": 0.78, "document": 1.41, "name": 2.89, "folder": 0.46, "static": 0.42,
               "words_company": 1.07, "vector_company": 0.59},
}  # fmt: skip
_DEEP = {
    "words": _STATIC["words"] | {"static": 0.3, "deep": 1.8, "vector_company": 1.0},
    "symbol": _STATIC["symbol"] | {"static": 0.2, "deep": 0.6},
}
# Long texts and traces are words with more names in them; a path is a symbol made of folders.
ROUTES = {"words": "words", "issue": "words", "trace": "words", "symbol": "symbol", "path": "symbol"}
_KEPT = 320
_STEM = 2.5
_COMPANY = 6  # chunks of a document that count
_LOCAL = ("chunk", "chunk_coverage", "name", "static", "deep")  # arms in which the chunks of a document differ


def fuse(retrieved: Retrieved, route: str) -> list[Candidate]:
    """The candidates with one score each, best first."""
    if not retrieved.chunks:
        return []
    arms = {_short(name): _normalized(_short(name), np.array(values)) for name, values in retrieved.arms.items()}
    weights = (_DEEP if "deep" in arms else _STATIC)[ROUTES[route]]
    documents = np.unique([chunk.document for chunk in retrieved.chunks], return_inverse=True)[1]
    local = _sum(weights, {name: arms[name] for name in _LOCAL if name in arms}, len(documents))
    score = _document_scores(arms, weights, documents)[documents] + local - _best_of(local, documents)[documents]
    order = sorted(_promising(score, arms), key=lambda place: (-score[place], retrieved.chunks[place]))
    table = {name: np.array(values) for name, values in retrieved.arms.items()}
    columns = zip(*(values[order].tolist() for values in table.values()), strict=True)
    return [
        Candidate(retrieved.chunks[place], dict(zip(table, column, strict=True)), float(score[place]))
        for place, column in zip(order, columns, strict=True)
    ]


def _promising(score: Float, arms: Mapping[str, Float]) -> list[int]:
    """The candidates that the steps after this one look at; a file's name may still raise one a good deal."""
    promise = score + _STEM * arms["stem"] if "stem" in arms else score
    return [int(place) for place in np.argsort(-promise, kind="stable")[:_KEPT]]


def _document_scores(arms: Mapping[str, Float], weights: Mapping[str, float], documents: NDArray[np.intp]) -> Float:
    standing = {name: _best_of(values, documents) for name, values in arms.items()}
    standing["words_company"] = _company(arms["chunk"], documents) if "chunk" in arms else np.zeros(documents.max() + 1)
    vector = arms.get("deep", arms.get("static"))
    standing["vector_company"] = _company(vector, documents) if vector is not None else np.zeros(documents.max() + 1)
    return _sum(weights, standing, int(documents.max()) + 1)


def _sum(weights: Mapping[str, float], values: Mapping[str, Float], size: int) -> Float:
    total = np.zeros(size)
    for name, column in values.items():
        total += weights.get(name, 0.0) * column
    return total


def _best_of(values: Float, documents: NDArray[np.intp]) -> Float:
    best = np.full(int(documents.max()) + 1, -np.inf)
    np.maximum.at(best, documents, values)
    return best


def _company(values: Float, documents: NDArray[np.intp]) -> Float:
    """For each document the sum over its second to sixth best chunk, by the largest such sum."""
    order = np.lexsort((-values, documents))
    inside = documents[order]
    rank = np.arange(len(order)) - np.searchsorted(inside, inside)
    further = (rank > 0) & (rank < _COMPANY)
    sums = np.zeros(int(documents.max()) + 1)
    np.add.at(sums, inside[further], values[order][further])
    return sums / (sums.max() or 1.0)


def _short(arm: str) -> str:
    """A space is named by its tier."""
    return arm.split("/")[0]


def _normalized(arm: str, values: Float) -> Float:
    """Between 0 and 1: shares are so already, cosines by their spread, other scores by the best of them."""
    if arm.endswith("coverage"):
        return np.clip(values, 0, 1)
    if arm not in ("static", "deep"):
        return values / (values.max(initial=0.0) or 1.0)
    there = values > -2
    low, high = (values[there].min(), values[there].max()) if there.any() else (0.0, 0.0)
    return np.where(there, (values - low) / (high - low), 0) if high > low else there.astype(np.float64)
