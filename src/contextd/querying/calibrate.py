"""A relevance between 0 and 1 that means the same for every question.

It is the probability that a document answers the question, at even odds before looking: half the questions being about
this project and half about something else. Made from absolute features only (shares and cosines, never the standing in a
list), so that an unrelated question has low relevance everywhere. The coefficients are a logistic regression on the
development half of the code benchmark, with questions about other people's lives as the unrelated half.

No file is more relevant than the question is about the project at all. Questions about other software share many words with
this one, so each file alone says little; that one chunk has many of the words at once, and that the first file is near in
meaning too, says more (benchmarks/gate.py fits and measures it).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import NO_VECTOR, Candidate
from contextd.values.document import ChunkId

Float = NDArray[np.float64]

# Where a deep vector is there, where only a static one is, and by words alone. Parts and concepts only memories have: by 192
# pairs of facts and questions in six languages, half of them asked where the fact is not.
_DEEP = {"bias": -7.8, "document_coverage": 2.2, "name": 1.2, "stem": 2.3, "folder": 1.3, "cosine": 11.0, "parts": 4.2}
_STATIC = {"bias": -3.3, "document_coverage": 2.3, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 4.9, "parts": 4.7}
_WORDS = {"bias": -2.3, "document_coverage": 3.0, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 0.0, "parts": 7.0}
# The same for messages of chats, with questions about other people's chats and about code as the unrelated half.
_CHAT_DEEP = {"bias": -17.4, "chunk_coverage": 2.7, "document_coverage": 0.6, "cosine": 13.6, "pair": 11.2}
_CHAT_STATIC = {"bias": -4.5, "chunk_coverage": 3.2, "document_coverage": 1.7, "cosine": 6.2}
_CHAT_WORDS = {"bias": -2.8, "chunk_coverage": 4.0, "document_coverage": 1.7, "cosine": 0.0}
# Whether a question is about this project: fitted with questions of other repositories as the unrelated half. The bias is set
# so that the usual threshold of 0.3 loses at most half a point of the lines that answer (benchmarks/gate.py).
ABOUT_STATIC = {"bias": -5.4, "best": 0.57, "strength": 5.1, "near": 5.4}
ABOUT_WORDS = {"bias": -3.1, "best": 0.38, "strength": 6.4, "near": 0.0}
_SUGGESTED = 0.5  # the best of a retriever from outside, of whose scores nothing is known: a judgment
# By the share of a report's words that one commit has: reports of 27 fixes had .1 to .6 (median .29), other texts at most .16.
_HISTORY, _MOST_BY_HISTORY = 1.5, 0.9
_ASKED_FOR = 0.9  # the question names the file: a judgment


def calibrate(
    candidates: Sequence[Candidate],
    asked_for: Collection[ChunkId] = (),
    outside: Collection[str] = (),
    strength: float | None = None,
) -> dict[ChunkId, float]:
    """The relevance of each candidate. What the question names is relevant; what an arm from outside suggests may be.

    `strength` tells how well the best chunk of a project fits the words of the question; None where that says nothing, as of
    chats and memories.
    """
    if not candidates:
        return {}
    arms = {name: np.array([one.arms[name] for one in candidates]) for name in candidates[0].arms}
    static, deep, pair = (_tier(arms, tier, len(candidates)) for tier in ("static/", "deep/", "pair/"))
    chat = any(name.startswith("before ") for name in arms)
    by_deep, by_static, by_words = (_CHAT_DEEP, _CHAT_STATIC, _CHAT_WORDS) if chat else (_DEEP, _STATIC, _WORDS)
    arms = arms | {"pair": np.maximum(np.where(pair > -2, pair, deep), 0)}
    likely = _probability(_scores(arms, static, deep, (by_deep, by_static, by_words)))
    if strength is not None:
        likely = np.minimum(likely, _probability(np.array(about(evidence(candidates, strength)))))
    if "history" in arms:
        likely = np.maximum(likely, np.minimum(_HISTORY * arms["history"], _MOST_BY_HISTORY))
    for name in outside:
        likely = np.maximum(likely, _SUGGESTED * arms[name] / (arms[name].max() or 1.0)) if name in arms else likely
    found = dict(zip((one.chunk for one in candidates), likely.tolist(), strict=True))
    return found | {chunk: max(found[chunk], _ASKED_FOR) for chunk in asked_for if chunk in found}


def evidence(candidates: Sequence[Candidate], strength: float) -> dict[str, float]:
    """What tells whether a question is about the project: the best file, words in one chunk, the cosine of the first file."""
    arms = {name: np.array([one.arms[name] for one in candidates]) for name in candidates[0].arms}
    static, deep = _tier(arms, "static/", len(candidates)), _tier(arms, "deep/", len(candidates))
    first = np.array([one.chunk.document == candidates[0].chunk.document for one in candidates])
    scores = _scores(arms, static, deep, (_DEEP, _STATIC, _WORDS))
    return {"best": float(scores.max()), "strength": strength, "near": float(static[first].max())}


def about(told: Mapping[str, float]) -> float:
    """The log-odds that a question is about the project."""
    model = ABOUT_STATIC if told["near"] > NO_VECTOR else ABOUT_WORDS
    return model["bias"] + sum(
        model[name] * max(value, 0.0) if name == "near" else model[name] * value for name, value in told.items()
    )


def falling(scores: Sequence[float]) -> list[float]:
    """The same relevances so that they agree with the order: where a later one is higher, both become their mean."""
    blocks: list[tuple[float, int]] = []
    for score in scores:
        total, count = score, 1
        while blocks and blocks[-1][0] / blocks[-1][1] < total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _scores(arms: Mapping[str, Float], static: Float, deep: Float, models: tuple[Mapping[str, float], ...]) -> Float:
    """The log-odds of each candidate, by the best vector there is of it."""
    by_deep, by_static, by_words = models
    scores = np.where(static > NO_VECTOR, _score(arms, by_static, static), _score(arms, by_words, static))
    return np.where(deep > NO_VECTOR, _score(arms, by_deep, deep), scores)


def _probability(odds: Float) -> Float:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def _tier(arms: Mapping[str, Float], tier: str, size: int) -> Float:
    """The cosines in a tier's space; -2 where there are none."""
    return next((values for name, values in arms.items() if name.startswith(tier)), np.full(size, -2.0))


def _score(arms: Mapping[str, Float], model: Mapping[str, float], cosines: Float) -> Float:
    total = model["bias"] + model["cosine"] * np.maximum(cosines, 0)
    for name, weight in model.items():
        total = total + weight * arms[name] if name in arms else total
    return total
