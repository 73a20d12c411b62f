"""How the weights of chats with a model are chosen: a regression on the sessions of LongMemEval.

`python -m benchmarks.session_weights [--deep]` prints R@5, R@10 and all@5 of sessions by weights that never saw the question
(five folds), and the weights of a fit on all, which are the ones in `querying/fuse.py` (arms) and `querying/weigh.py`. The
messages of a session count together: a session is as likely as the sum over its messages.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.chats import asked_at, longmemeval, place_of, pooled, session_scores
from benchmarks.data import linked_home
from contextd.app.session import Session
from contextd.ports.world import pair_space
from contextd.querying.fuse import normalized, turns
from contextd.querying.messages import said
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.weigh import signals
from contextd.values.answer import Candidate
from contextd.values.query import Query, Reader, Scope

Float = NDArray[np.float64]
FOLDS = 5
PENALTY = 0.002
_STEPS, _RATE, _LAST = 150, 0.15, 0.04  # of the ascent; the last third is slower
_LEFT_OUT = ("mention", "name")  # the authors are two roles


@dataclass(slots=True)
class Case:
    """One question: signals of its messages, the session of each, and the sessions that hold the evidence."""

    signals: Float
    sessions: NDArray[np.intp]
    names: list[str]
    wanted: set[str]

    @property
    def right(self) -> Float:
        """The share of each session in the evidence."""
        found = np.array([float(name in self.wanted) for name in self.names])
        return found / max(1.0, float(found.sum()))

    def scores(self, weights: Float) -> dict[str, float]:
        """R@5, R@10 and all@5."""
        likely, _ = _likely(self, weights)
        order = np.argsort(-likely, kind="stable")[:10]
        return session_scores(self.wanted, [self.names[place] for place in order])


def cases(deep: bool) -> tuple[list[str], list[Case]]:
    """The names of the signals, and all questions."""
    session, columns = pooled(deep), list[dict[str, Float]]()
    found = []
    for one in longmemeval()[1]:
        values, documents = _signals(session, one, deep)
        names = list(dict.fromkeys(documents))
        numbers = {name: number for number, name in enumerate(names)}
        columns.append(values)
        found.append(
            Case(
                np.zeros((0, 0)),
                np.array([numbers[name] for name in documents]),
                names,
                {place_of(name) for name in one["answer_session_ids"]},
            )
        )
    every = list(dict.fromkeys(name for values in columns for name in values))
    for case, values in zip(found, columns, strict=True):
        case.signals = np.stack([values.get(name, np.zeros(len(case.sessions))) for name in every], 1)
    return every, found


def _signals(session: Session, one: dict[str, Any], deep: bool) -> tuple[dict[str, Float], list[str]]:
    """The signals of each candidate by name, and the session of each."""
    assert session.setup.static is not None
    scope = Scope((session.home.personal,), Reader("owner"))
    plan = understand(Query(one["question"], scope, now=asked_at(one)))
    embedders = [session.setup.static, *([session.setup.deep()] if deep else [])]
    vectors = {embedder.space: embedder.query(plan.text) for embedder in embedders if embedder is not None}
    vectors |= {pair_space(space): vector for space, vector in vectors.items() if space.startswith("deep/")}
    with session.home.record.chats(session.home.personal).view(plan.scope) as view:
        retrieved = retrieve(view, plan, {space: vector for space, vector in vectors.items() if view.spaces.get(space)})
        texts = said([Candidate(chunk, {}, 0.0) for chunk in retrieved.chunks], view)
        uris = view.uris()
    found = {name: values for name, values in turns(*normalized(retrieved)).items() if name not in _LEFT_OUT}
    found["subject"] = np.array(signals(plan.text, texts, [0.0] * len(texts))["subject"])
    return found, [uris[chunk.document].removeprefix("chat:").partition("#")[0] for chunk in retrieved.chunks]


def _likely(case: Case, weights: Float) -> tuple[Float, Float]:
    """How likely each session is, and each message."""
    scores = case.signals @ weights
    messages = np.exp(scores - scores.max())
    messages /= messages.sum()
    return np.bincount(case.sessions, messages, len(case.names)), messages


def _gradient(case: Case, weights: Float) -> Float:
    """Of the mean logarithm of how likely the right sessions are."""
    likely, messages = _likely(case, weights)
    inside = messages / np.maximum(likely[case.sessions], 1e-300)
    return np.asarray((case.right[case.sessions] * inside - messages * case.right.sum()) @ case.signals)


def fit(some: Sequence[Case]) -> Float:
    """Gradient ascent with a step for each signal (Adam): the likelihood of a sum has no simple second derivative."""
    weights, mean, square = np.zeros((3, some[0].signals.shape[1]))
    for step in range(1, _STEPS + 1):
        gradient = np.mean([_gradient(case, weights) for case in some], 0) - PENALTY * weights
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        rate = _RATE if 3 * step < 2 * _STEPS else _LAST
        weights = weights + rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def out_of_fold(some: Sequence[Case]) -> Iterator[dict[str, float]]:
    """The scores of every question by weights that did not see it."""
    folds = [place % FOLDS for place in range(len(some))]
    random.Random(7).shuffle(folds)
    for fold in range(FOLDS):
        weights = fit([case for case, other in zip(some, folds, strict=True) if other != fold])
        yield from (case.scores(weights) for case, other in zip(some, folds, strict=True) if other == fold)


def main() -> None:
    linked_home()
    names, some = cases("--deep" in sys.argv)
    judged = list(out_of_fold(some))
    print(
        f"{len(some)} questions, out of fold:",
        {name: round(100 * np.mean([one[name] for one in judged]), 1) for name in judged[0]},
    )
    print({name: round(float(weight), 2) for name, weight in zip(names, fit(some), strict=True)})


if __name__ == "__main__":
    main()
