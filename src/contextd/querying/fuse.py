"""Combine the arms into one order: a document's score is a weighted sum over arms, and its chunks follow it.

A document's score in an arm is that of its best chunk; `company` features count further good chunks. Scores are normalized per
arm. The weights are a listwise softmax regression on the development half of the code benchmark (benchmarks/README.md
describes it, and what each arm is worth out of fold). Reciprocal rank fusion loses several points with static vectors; a
weighted sum does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import Candidate, Retrieved

Float = NDArray[np.float64]

# By route, without and with deep vectors. `words_company` and `vector_company` count further chunks of a document.
_STATIC = {
    "words": {"chunk": 1.29, "document": 0.09, "name": 0.48, "folder": 1.36, "defined": 1.08, "static": 0.54,
              "words_company": 1.21, "vector_company": 1.09},
    "symbol": {"chunk": 1.35, "chunk_coverage": 0.3, "document": 1.7, "name": 2.89, "folder": 0.9, "defined": 0.7,
               "words_company": 0.09, "vector_company": 0.45},
    "report": {"chunk": 2.9, "chunk_coverage": 0.6, "document": 1.6, "name": 0.6, "folder": 1.5, "defined": 1.3, "static": 0.2,
               "words_company": 1.5, "history": 2.8},
}  # fmt: skip
_DEEP = {
    "words": {"chunk": 1.54, "chunk_coverage": 0.46, "document": 0.54, "name": 0.45, "folder": 1.3, "defined": 1.28,
              "static": 0.89, "deep": 1.73, "words_company": 1.24, "vector_company": 2.1},
    "symbol": {"chunk": 1.61, "chunk_coverage": 1.2, "document": 1.84, "name": 3.0, "folder": 0.49, "static": 0.05,
               "deep": 1.64, "words_company": 0.84, "vector_company": 1.49},
    "report": _STATIC["report"] | {"deep": 1.0},  # set by hand: the reports used for fitting had no deep vectors
}  # fmt: skip
# Messages between people, from two sets of long chats (benchmarks/chat_weights.py). `during`, for a time in the question,
# is set by hand.
CHAT_STATIC = {"chunk": 0.7, "chunk_coverage": 0.63, "around": 2.72, "name": 2.32, "static": 2.23, "document": 0.87,
               "document_coverage": 0.96, "before chunk": -0.1, "after chunk": -0.38, "before static": 0.3,
               "after static": 0.53, "words_company": -0.13, "vector_company": 1.09, "during": 1.5}  # fmt: skip
CHAT_DEEP = {"chunk": 0.27, "chunk_coverage": 0.72, "around": 2.3, "name": 1.98, "static": 0.69, "deep": 1.93, "pair": 2.64,
             "document": 0.94, "document_coverage": 0.84, "before chunk": -0.25, "after chunk": -0.31, "before static": 0.23,
             "after static": 0.28, "before deep": -0.59, "after deep": -0.1, "before pair": 0.32, "after pair": 0.72,
             "words_company": -0.43, "vector_company": 1.32, "during": 1.5}  # fmt: skip
# Messages of a person and a model (benchmarks/session_weights.py). `own` is 1 for the messages of the person. The weights with
# deep vectors are from a trial in which the messages of a model had the vector of the message that they answer.
MODEL_STATIC = {"chunk": 2.31, "chunk_coverage": 1.31, "around": 1.8, "static": 3.52, "document": 2.19,
                "document_coverage": -0.86, "after chunk": -0.41, "before static": -0.83, "after static": -1.24,
                "words_company": 0.22, "vector_company": 1.32, "own": 0.94, "during": 2.25}  # fmt: skip
MODEL_DEEP = {"chunk": 2.0, "chunk_coverage": 1.34, "around": 1.47, "static": 2.57, "deep": 4.27, "document": 1.97,
              "document_coverage": -0.76, "before chunk": -0.22, "after chunk": -0.92, "before static": -0.95,
              "after static": -1.68, "words_company": 0.07, "vector_company": 1.01, "own": 0.67, "during": 2.2}  # fmt: skip
# Long texts and traces are words with more names in them. A path is a symbol made of folders. A report is a long text in a
# project with commits to compare it with; its weights are from 97 fixes in ten projects (benchmarks/bugs.py --develop).
ROUTES = {"words": "words", "issue": "words", "trace": "words", "symbol": "symbol", "path": "symbol", "report": "report"}
CHAT = "chat"  # the route of messages
_RANKS = 60  # the usual constant of reciprocal rank fusion
_OF_RANKS = 1.5  # keeps the share of the boosts, which are in the unit of the weights
KEPT = 240  # candidates of files; their names may still raise them far
_STEM = 2.5
_LEAST_SPREAD = 0.1  # of cosines
_PARTS = 3.0  # word parts and concepts that a memory shares with the question, in any language: from 192 pairs of our own
_COMPANY = 4  # chunks of a document that count
_LOCAL = ("chunk", "chunk_coverage", "name", "parts", "static", "deep")  # arms in which the chunks of one document differ


def fuse(
    retrieved: Retrieved,
    route: str,
    method: str = "weighted",
    more: Mapping[str, float] | None = None,
    most: int = KEPT,
    shares: Mapping[str, float] | None = None,
) -> list[Candidate]:
    """Return the `most` best candidates with one score each, best first.

    `more` holds the weights of plug-in arms. `shares` are factors on the weights of arms, from the settings.
    """
    if not retrieved.chunks:
        return []
    arms, documents = normalized(retrieved)
    sets = [{**weights, **(more or {})} for weights in _weights(route, "deep" in arms)]
    if method == "rrf":
        arms, sets = _by_rank(arms), [dict.fromkeys(arms, _OF_RANKS) for _ in sets]
    sets = [{arm: weight * (shares or {}).get(arm.split(" ")[-1], 1.0) for arm, weight in weights.items()} for weights in sets]
    score = (_by_turn if route == CHAT else _by_document)(arms, documents, *sets)
    best = _promising(score, arms)[:most]
    ids, ordinals = np.array([retrieved.chunks[place] for place in best.tolist()]).T
    order = best[np.lexsort((ordinals, ids, -score[best]))].tolist()
    columns = zip(*(values[order].tolist() for values in retrieved.arms.values()), strict=True)
    return [
        Candidate(retrieved.chunks[place], dict(zip(retrieved.arms, column, strict=True)), total)
        for place, total, column in zip(order, score[order].tolist(), columns, strict=True)
    ]


def _by_document(arms: Mapping[str, Float], documents: NDArray[np.intp], weights: Mapping[str, float]) -> Float:
    """Score each document by its best chunk in every arm. Its other chunks score a little less."""
    local = _sum(weights, {name: arms[name] for name in _LOCAL if name in arms}, len(documents))
    of_documents = _sum(weights, standing(arms, documents), int(documents.max()) + 1)
    return of_documents[documents] + local - _best_of(local, documents)[documents]


def _weights(route: str, deep: bool) -> list[Mapping[str, float]]:
    """Return the weights of a route; for chats those between people, and those of a person and a model."""
    if route == CHAT:
        return [CHAT_DEEP, MODEL_DEEP] if deep else [CHAT_STATIC, MODEL_STATIC]
    return [{**(_DEEP if deep else _STATIC)[ROUTES[route]], "parts": _PARTS}]


def _by_turn(
    arms: Mapping[str, Float], documents: NDArray[np.intp], people: Mapping[str, float], model: Mapping[str, float]
) -> Float:
    """Score each message by itself, its neighbors and its chat session."""
    found = turns(arms, documents)
    score = _sum(people, found, len(documents))
    if "own" not in arms or not arms["own"].any():
        return score
    return np.where(_best_of(arms["own"], documents)[documents] > 0, _sum(model, found, len(documents)), score)


def turns(arms: Mapping[str, Float], documents: NDArray[np.intp]) -> dict[str, Float]:
    """Return the score of each message in every arm, and the company features of its chat session."""
    sittings = standing(arms, documents)
    return {**arms, **{name: sittings[name][documents] for name in ("words_company", "vector_company")}}


def _by_rank(arms: Mapping[str, Float]) -> dict[str, Float]:
    """Return every arm as reciprocal ranks, which need no weights."""
    found = {}
    for name, values in arms.items():
        ranks = np.empty(len(values))
        ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
        found[name] = np.where(values > 0, _RANKS / (_RANKS + ranks), 0.0)
    return found


def normalized(retrieved: Retrieved) -> tuple[dict[str, Float], NDArray[np.intp]]:
    """Return every arm scaled to 0..1, by candidate, and a small document number for each candidate."""
    arms = {_short(name): _normalized(_short(name), values) for name, values in retrieved.arms.items()}
    numbers: dict[int, int] = {}
    return arms, np.array([numbers.setdefault(chunk.document, len(numbers)) for chunk in retrieved.chunks], np.intp)


def standing(arms: Mapping[str, Float], documents: NDArray[np.intp]) -> dict[str, Float]:
    """Return the score of each document in every arm, and its company features."""
    found = {name: _best_of(values, documents) for name, values in arms.items()}
    nothing = np.zeros(int(documents.max()) + 1)
    found["words_company"] = _company(arms["chunk"], documents) if "chunk" in arms else nothing
    vector = arms.get("deep", arms.get("static"))
    found["vector_company"] = _company(vector, documents) if vector is not None else nothing
    return found


def _promising(score: Float, arms: Mapping[str, Float]) -> NDArray[np.intp]:
    """Return the candidates by the best score later steps may give them."""
    promise = score + _STEM * arms["stem"] if "stem" in arms else score
    return np.argsort(-promise, kind="stable")


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
    """Return for each document the mean over its best chunks: four, or all it has. A short document loses nothing."""
    order = np.lexsort((-values, documents))
    inside = documents[order]
    best = np.arange(len(order)) - np.searchsorted(inside, inside) < _COMPANY
    sums = np.bincount(inside[best], weights=values[order][best])
    return sums / np.bincount(inside[best])


def _short(arm: str) -> str:
    """Return the tier of a space name, or the name of any other arm."""
    return arm.split("/")[0]


def _normalized(arm: str, values: Float) -> Float:
    """Scale to 0..1: shares as they are, cosines by their spread, other scores by the maximum."""
    if arm.endswith("coverage") or arm in ("place", "during"):
        return np.clip(values, 0, 1)
    if arm.split(" ")[-1] not in ("static", "deep", "pair"):
        return values / (values.max(initial=0.0) or 1.0)
    there = values > -2
    low, high = (values[there].min(), values[there].max()) if there.any() else (0.0, 0.0)
    spread = max(high - low, _LEAST_SPREAD)  # a few equally near candidates stay equal
    return np.where(there, 1 - (high - values) / spread, 0)
