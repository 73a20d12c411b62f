"""Judge whether a fact matters for a question: its log-odds among all facts of the person.

The evidence: how near the fact is among the person's facts, shared words and concepts, whether facts like it are needed for
such a question, the people meant, how likely the question touches it if it is a limit, and how many facts there are. Facts
compete: the more of them are likely, the less each of them is. The weights are logistic regressions on questions of persons
with 26 to 120 facts (`python -m benchmarks.judge --learn`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import learned
from contextd.text.needs import FACTS, WORDS
from contextd.text.people import Mentions

Float = NDArray[np.float64]
Key = TypeVar("Key", bound=tuple[int, ...])

NAMES = ("near", "near static", "parts", "coverage", "concepts", "needed", "limit", "named", "meant", "others", "outside",
         "company", "size", "constant")  # fmt: skip
CROWD = ("odds", "crowd", "constant among others")
MOST = 12  # facts that are shown by their relevance
_ENOUGH, _AMONG_FEW = 0.27, 0.36  # probability from which a fact is shown; the second among few facts
_FEW, _RISE = 40, 0.4  # facts among which it begins to rise, and the exponent: the nearest of few may still be far
_CROWD, _IN_A_CROWD = 6, 0.9  # likely facts that are no crowd yet, and the weight of nearness in one; chosen on PrefEval
_NEAREST = {FACTS: "near", "deep": "near", "static": "near static", WORDS: "parts"}  # by tier, how near a fact is
_SURE_SHARE = 0.15  # share of `enough` from which a hard limit of a person meant is shown
_LIMIT_SHARE = 0.45  # the same for what is less surely a limit, and for limits of others
_ANSWERS = -1.5  # log-odds of the answer to a look-up: lower ones are 1 % among 40, 3 % among 120 facts
_AS_LIKELY = (
    1.0  # distance of further answers: of .7 to 2, most found at a precision of .8 and more, at 40, 50 and 120 facts alike
)
_FEW_ANSWERS = 3  # if more are as likely, one thing was not asked for
_EXPECTED = 7.0  # facts of an answer that are right; of 5 to 8, the least that costs persons with 120 facts next to nothing
_JUDGED = 120  # facts of the largest persons with several facts per answer


def enough(size: int) -> float:
    """Return the probability from which a fact is shown: among very many facts no single one is likely."""
    if size > _JUDGED:
        return _ENOUGH * _JUDGED / size
    return float(min(_AMONG_FEW, _ENOUGH * max(1.0, (_FEW / max(1, size)) ** _RISE)))


def evidence(
    near: Mapping[str, Float], shared: Mapping[str, Float], needed: Float, limits: Float, people: Mentions, size: int
) -> dict[str, Float]:  # fmt: skip
    """Return the features of some facts, by name.

    `near` (standard deviations above the mean fact) is by tier of vectors; `needed` has log-odds (`text/needs.py`); `shared`
    has word parts, words and concepts.
    """
    zero = np.zeros(len(limits))
    columns = (
        near.get("deep", zero), near.get("static", zero), shared["parts"], shared["coverage"], shared["concepts"], needed,
        limits, people.named, people.meant, people.others, people.outside, people.elsewhere(),
        zero + math.log(max(1, size)), zero + 1.0,
    )  # fmt: skip
    return dict(zip(NAMES, columns, strict=True))


def odds_of(columns: Mapping[str, Float], tier: str) -> Float:
    """Return the log-odds that each fact matters, by the weights of the best tier of vectors."""
    model = learned(f"judge-{tier}")
    weights = dict(zip(model.labels, model.weights[0].tolist(), strict=True))
    odds = np.asarray(sum(weights[name] * columns[name] for name in NAMES if name in weights))
    competing = sum(weights[name] * column for name, column in among(odds).items())
    return np.asarray(competing + by_nearness(odds, columns[_NEAREST[tier]]))


def among(odds: Float) -> dict[str, Float]:
    """Return the features of facts that compete: their log-odds, and how many facts are likely."""
    one = np.ones(len(odds))
    return dict(zip(CROWD, (odds, one * math.log1p(float(_likely(odds).sum())), one), strict=True))


def by_nearness(odds: Float, near: Float) -> Float:
    """Return what the likely facts gain or lose among each other: in a crowd, the nearest of them matter most."""
    likely = _likely(odds)
    crowd = max(0.0, math.log(float(likely.sum()) / _CROWD)) if likely.any() else 0.0
    return np.asarray(_IN_A_CROWD * crowd * (near - np.average(near, weights=likely))) if crowd else np.zeros(len(odds))


def _likely(odds: Float) -> Float:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def relevant(odds: Float, size: int, share: float = 1.0) -> list[int]:
    """Return the places of the relevant facts, best first: those with a share of the probability that is enough."""
    order = np.argsort(-odds, kind="stable").tolist()
    least = math.log(share * enough(size) / (1 - share * enough(size)))
    return [place for place in order if odds[place] >= least][:MOST]


def answers(odds: Float) -> list[int]:
    """Return the answer to a look-up: the most likely fact and those that are nearly as likely; none if these are too many."""
    order = np.argsort(-odds, kind="stable").tolist()
    if not order or odds[order[0]] < _ANSWERS:
        return []
    first = [place for place in order if odds[place] >= odds[order[0]] - _AS_LIKELY]
    return first if len(first) <= _FEW_ANSWERS else []


def until_enough(chosen: Iterable[Key], likely: Mapping[Key, float]) -> set[Key]:
    """Return the likeliest of some facts, limits among them, until as many can be expected to be right as an answer needs."""
    order = sorted(chosen, key=lambda one: (-likely.get(one, 0.0), one))
    before = np.cumsum([0.0, *(likely.get(one, 0.0) for one in order)])
    return {one for one, expected in zip(order, before, strict=False) if expected < _EXPECTED}


def is_possible_limit(odds: float, size: int, *, sure: bool) -> bool:
    """Return whether a hard limit may matter. A `sure` one is left out only if it is next to impossible that it matters."""
    least = _SURE_SHARE * enough(size) if sure else _LIMIT_SHARE * enough(min(size, _JUDGED))
    return odds >= math.log(least / (1 - least))
