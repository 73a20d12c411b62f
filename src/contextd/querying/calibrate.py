"""Calibrate: a relevance between 0 and 1 that means the same for every question.

It is the probability that a document answers the question, with a prior of one half: half the questions are about this project
and half about something else. Only absolute features are used (shares and cosines, never ranks), so that an unrelated question
has low relevance everywhere. The coefficients are a logistic regression on the development half of the code benchmark, with
questions about other people's lives as the unrelated half.

The relevance of a file is capped by the probability that the question is about the project at all. Questions about other
software share many words with this project, so a single file says little. Better evidence: one chunk has many of the words at
once, and the vector of the first file is near (benchmarks/gate.py fits and measures it).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.values.answer import NO_VECTOR, Candidate
from contextd.values.document import ChunkId

Float = NDArray[np.float64]

# With a deep vector, with a static one only, and with words alone. Only memories have `parts`: fitted on 192 pairs of facts
# and questions in six languages, half of them asked where the fact is absent.
_DEEP = {"bias": -7.8, "document_coverage": 2.2, "name": 1.2, "stem": 2.3, "folder": 1.3, "cosine": 11.0, "parts": 4.2}
_STATIC = {"bias": -3.3, "document_coverage": 2.3, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 4.9, "parts": 4.7}
_WORDS = {"bias": -2.3, "document_coverage": 3.0, "name": 1.3, "stem": 2.7, "folder": 1.3, "cosine": 0.0, "parts": 7.0}
# The same for chat messages, with questions about other people's chats and about code as the unrelated half. The biases are
# set so that the usual threshold of 0.3 keeps nearly all of the ten best messages of a question that is about the chats.
_CHAT_DEEP = {"bias": -15.9, "chunk_coverage": 2.7, "document_coverage": 0.6, "cosine": 13.6, "pair": 11.2}
_CHAT_STATIC = {"bias": -3.2, "chunk_coverage": 3.2, "document_coverage": 1.7, "cosine": 6.2}
_CHAT_WORDS = {"bias": -1.8, "chunk_coverage": 4.0, "document_coverage": 1.7, "cosine": 0.0}
# Whether a question is about these chats, by the best of the first messages in each arm and by the share of names in it that
# occur nowhere (benchmarks/chat_gate.py). The biases are set so that 5 % of the questions about other chats get an answer.
# `named`, for an author that the question names, is set by hand: all of these questions name one, others need not.
CHATS_DEEP = {"bias": -10.5, "chunk_coverage": 2.14, "document_coverage": 1.88, "static": 4.09, "deep": 3.17, "pair": 7.17,
              "unknown": -3.45, "named": 0.8}  # fmt: skip
CHATS_STATIC = {"bias": -5.0, "chunk_coverage": 2.41, "document_coverage": 2.16, "static": 6.17, "unknown": -3.76, "named": 0.8}
_CHATS_WORDS = {"bias": -2.2, "chunk_coverage": 3.5, "document_coverage": 3.0, "unknown": -3.5, "named": 0.8}  # set by hand
FIRST = 10  # messages that tell whether a question is about the chats
# Whether a question is about this project, fitted with questions of other repositories as the unrelated half. The bias is set
# so that the usual threshold of 0.3 loses at most half a point of the answer lines (benchmarks/gate.py). `small` was chosen on
# plain questions about two projects of 25 files, and judged on two others.
ABOUT_STATIC = {"bias": -5.4, "best": 0.57, "strength": 5.1, "near": 5.4, "small": 4.0}
ABOUT_WORDS = {"bias": -3.1, "best": 0.38, "strength": 6.4, "near": 0.0, "small": 4.0}
_SMALL = 2.3  # logarithm of a number of chunks; of projects with fewer, people ask in words that the code does not have
_SUGGESTED = 0.5  # for the best suggestion of a plug-in, whose scores have no known scale; set by hand
# Factor on the share of a report's words that one commit has: .1 to .6 (median .29) in reports of 27 fixes, at most .16 in
# other texts.
_HISTORY, _MOST_BY_HISTORY = 1.5, 0.9
_ASKED_FOR = 0.9  # the question names the file; set by hand


class WordEvidence(NamedTuple):
    """How well the best chunk of a project matches the words of a question, and the number of chunks of the project."""

    strength: float
    chunks: int


def calibrate(
    candidates: Sequence[Candidate],
    asked_for: Collection[ChunkId] = (),
    outside: Collection[str] = (),
    words: WordEvidence | None = None,
    unknown: float | None = None,
) -> dict[ChunkId, float]:
    """Return the relevance of each candidate. Files named in the question get at least 0.9, plug-in suggestions up to 0.5.

    `words` is None where it has no meaning, as for chats and memories. `unknown` is given for chats only: the share of the
    names in the question that occur nowhere in them.
    """
    if not candidates:
        return {}
    arms = _arms(candidates)
    static, deep, pair = (_tier(arms, tier, len(candidates)) for tier in ("static/", "deep/", "pair/"))
    chat = any(name.startswith("before ") for name in arms)
    by_deep, by_static, by_words = (_CHAT_DEEP, _CHAT_STATIC, _CHAT_WORDS) if chat else (_DEEP, _STATIC, _WORDS)
    arms = arms | {"pair": np.maximum(np.where(pair > -2, pair, deep), 0)}
    likely = _probability(_scores(arms, static, deep, (by_deep, by_static, by_words)))
    if words is not None:
        likely = np.minimum(likely, _probability(np.array(about(_evidence(candidates, arms, words)))))
    if unknown is not None:
        likely = np.minimum(likely, _probability(np.array(about_chats(chat_evidence(candidates, unknown)))))
    if "history" in arms:
        likely = np.maximum(likely, np.minimum(_HISTORY * arms["history"], _MOST_BY_HISTORY))
    for name in outside:
        likely = np.maximum(likely, _SUGGESTED * arms[name] / (arms[name].max() or 1.0)) if name in arms else likely
    found = dict(zip((one.chunk for one in candidates), likely.tolist(), strict=True))
    return found | {chunk: max(found[chunk], _ASKED_FOR) for chunk in asked_for if chunk in found}


def evidence(candidates: Sequence[Candidate], words: WordEvidence) -> dict[str, float]:
    """Return features for `about`: score of the best file, words in one chunk, cosine of the first file, a small project.

    In a large project some chunk has a few words of any question; in a small one that is no coincidence.
    """
    return _evidence(candidates, _arms(candidates), words)


def _arms(candidates: Sequence[Candidate]) -> dict[str, Float]:
    """Return the scores of all candidates, by arm."""
    return {name: np.array([one.arms[name] for one in candidates]) for name in candidates[0].arms}


def _evidence(candidates: Sequence[Candidate], arms: Mapping[str, Float], words: WordEvidence) -> dict[str, float]:
    static, deep = _tier(arms, "static/", len(candidates)), _tier(arms, "deep/", len(candidates))
    first = np.array([one.chunk.document == candidates[0].chunk.document for one in candidates])
    scores = _scores(arms, static, deep, (_DEEP, _STATIC, _WORDS))
    small = max(0.0, _SMALL - math.log10(max(words.chunks, 1)))
    return {"best": float(scores.max()), "strength": words.strength, "near": float(static[first].max()), "small": small}


def about(signals: Mapping[str, float]) -> float:
    """Return the log-odds that a question is about the project."""
    model = ABOUT_STATIC if signals["near"] > NO_VECTOR else ABOUT_WORDS
    return model["bias"] + sum(
        model[name] * max(value, 0.0) if name == "near" else model[name] * value for name, value in signals.items()
    )


def chat_evidence(candidates: Sequence[Candidate], unknown: float) -> dict[str, float]:
    """Return features for `about_chats`: the best value of the first messages in each arm there is, and names."""
    named = any(one.arms.get("name", 0.0) > 0 for one in candidates[:FIRST])
    best: dict[str, float] = {"unknown": unknown, "named": float(named)}
    for one in candidates[:FIRST]:
        for arm, value in one.arms.items():
            name = arm.split("/")[0]
            if name in CHATS_DEEP and value > NO_VECTOR:
                best[name] = max(best.get(name, 0.0), value)
    return best


def about_chats(signals: Mapping[str, float]) -> float:
    """Return the log-odds that a question is about these chats."""
    model = CHATS_DEEP if "pair" in signals else CHATS_STATIC if "static" in signals else _CHATS_WORDS
    return model["bias"] + sum(weight * signals.get(name, 0.0) for name, weight in model.items() if name != "bias")


def falling(scores: Sequence[float]) -> list[float]:
    """Make scores non-increasing: a score above its predecessor is averaged with it (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for score in scores:
        total, count = score, 1
        while blocks and blocks[-1][0] / blocks[-1][1] < total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _scores(arms: Mapping[str, Float], static: Float, deep: Float, models: tuple[Mapping[str, float], ...]) -> Float:
    """Return the log-odds of each candidate, by the best vector it has."""
    by_deep, by_static, by_words = models
    scores = np.where(static > NO_VECTOR, _score(arms, by_static, static), _score(arms, by_words, static))
    return np.where(deep > NO_VECTOR, _score(arms, by_deep, deep), scores)


def _probability(odds: Float) -> Float:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def _tier(arms: Mapping[str, Float], tier: str, size: int) -> Float:
    """Return the cosines in a tier's space; -2 where there are none."""
    return next((values for name, values in arms.items() if name.startswith(tier)), np.full(size, -2.0))


def _score(arms: Mapping[str, Float], model: Mapping[str, float], cosines: Float) -> Float:
    total = model["bias"] + model["cosine"] * np.maximum(cosines, 0)
    for name, weight in model.items():
        total = total + weight * arms[name] if name in arms else total
    return total
