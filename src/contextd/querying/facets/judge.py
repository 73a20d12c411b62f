"""Judge whether a fact matters for a question: its log-odds among all facts of the person.

The evidence: how near the fact is among the person's facts, shared words and concepts, whether facts like it are needed in the
situation of the question, the people meant, whether it is a limit in the domain, and how many facts there are. The weights are
a logistic regression on questions of persons with 26 and 120 facts (`python -m benchmarks.judge --learn`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import learned
from contextd.text.people import Mentions

Float = NDArray[np.float64]

NAMES = ("near", "near static", "parts", "coverage", "concepts", "needed", "needed static", "limit", "named", "meant", "others",
         "size", "constant")  # fmt: skip
MOST = 12  # facts that are shown by their relevance
_ENOUGH = 0.3  # probability from which a fact is shown; more facts than judged: less, see `enough`
_TOUCHES = 0.2  # share of that from which a limit in the domain of the question is shown
_JUDGED = 120  # facts of the largest persons with several facts per answer


def enough(size: int) -> float:
    """Return the probability from which a fact is shown: among very many facts no single one is likely."""
    return _ENOUGH * min(1.0, _JUDGED / max(1, size))


def evidence(
    near: Mapping[str, Float],
    shared: Mapping[str, Float],
    needed: Mapping[str, Float],
    limits: Float,
    people: Mentions,
    size: int,
) -> dict[str, Float]:
    """Return the features of some facts, by name.

    `near` (standard deviations above the mean fact) and `needed` (in the situation of the question) are by tier of vectors;
    `shared` has word parts, words and concepts.
    """
    zero = np.zeros(len(limits))
    crowd = min(1.0, _JUDGED / max(1, size))  # among very many facts, too many are of the same situation
    faded = {tier: values.mean() + crowd * (values - values.mean()) for tier, values in needed.items() if len(values)}
    columns = (
        near.get("deep", zero), near.get("static", zero), shared["parts"], shared["coverage"], shared["concepts"],
        faded.get("deep", zero), faded.get("static", zero), limits, people.named, people.meant, people.others,
        zero + math.log(max(1, size)), zero + 1.0,
    )  # fmt: skip
    return dict(zip(NAMES, columns, strict=True))


def odds_of(columns: Mapping[str, Float], tier: str) -> Float:
    """Return the log-odds that each fact matters, by the weights of the best tier of vectors."""
    model = learned(f"judge-{tier}")
    return np.asarray(sum(weight * columns[name] for name, weight in zip(model.labels, model.weights[0], strict=True)))


def relevant(odds: Float, size: int) -> list[int]:
    """Return the places of the relevant facts, best first."""
    order = np.argsort(-odds, kind="stable").tolist()
    least = math.log(enough(size) / (1 - enough(size)))
    return [place for place in order if odds[place] >= least][:MOST]


def could_touch(odds: float, size: int) -> bool:
    """Return whether a question could touch a limit of its domain: only limits that are next to impossible are left out."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))) >= _TOUCHES * enough(size)
