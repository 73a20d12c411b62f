"""Does a question about other chats get nothing, and what does the threshold cost a question about these?

`python -m benchmarks.chat_gate [--deep]` asks 40 questions of each chat of LoCoMo and REALTALK of that chat, and 40 of the
others, with the default threshold and without, and prints the recall, the share of questions about other chats that get
anything, and the same by weights that did not see the chat. `--fit` prints the weights of a fit on all, for
`querying/calibrate.py`, without that of a named author; the bias is set so that 5 % of the questions about other chats pass.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.chats import MOST, opened
from benchmarks.talks import locomo, realtalk
from contextd.querying.calibrate import CHATS_DEEP, CHATS_STATIC, chat_evidence
from contextd.querying.understand import entities
from contextd.text.terms import split
from contextd.text.times import without_times
from contextd.values.answer import Candidate

Float = NDArray[np.float64]
ASKED = 40
_SEED = 7
THRESHOLD = 0.3
_PASSING = 0.05
_PENALTY = 0.01
_SET = ("bias", "named")  # set by hand: nearly all of these questions name an author


@dataclass(slots=True)
class Judged:
    """One question asked of one chat: its evidence, recall without and with the threshold, and whether it got anything."""

    chat: str
    own: bool
    signals: dict[str, float]
    whole: float
    kept: float
    answered: bool


def judged(deep: bool) -> Iterator[Judged]:
    """Questions about each chat and about others."""
    talks, chance = [*locomo(), *realtalk()], random.Random(_SEED)
    for talk in talks:
        session = opened(talk, deep)
        places = talk.places(session.home.tokens.count)
        words = {term for message in talk.turns.values() for term in split(f"{message.author} {message.text}")}
        others = [one for other in talks if other is not talk for one in other.questions]
        own = chance.sample(talk.questions, ASKED)
        for one, mine in [*((one, True) for one in own), *((one, False) for one in chance.sample(others, ASKED))]:
            hits = session.search(one.text, k=MOST, min_score=0).hits
            passing = session.search(one.text, k=MOST).hits
            share = [len({places[h.chunk.uri, h.chunk.id.ordinal] for h in some} & one.evidence) for some in (hits, passing)]
            named = entities(without_times(one.text))
            unknown = sum(not words & set(split(name)) for name in named) / max(1, len(named))
            signals = chat_evidence([Candidate(hit.chunk.id, hit.why, 0.0) for hit in hits], unknown)
            whole, kept = (count / len(one.evidence) if mine else 0.0 for count in share)
            yield Judged(talk.name, mine, signals, whole, kept, bool(passing))
        session.close()


def fit(signals: Float, own: Float) -> tuple[Float, float]:
    """A logistic regression by Newton's method, on standardized signals; weights and bias for the signals as they are."""
    mean, spread = signals.mean(0), signals.std(0) + 1e-9
    rows, weights = np.c_[(signals - mean) / spread, np.ones(len(signals))], np.zeros(signals.shape[1] + 1)
    for _ in range(30):
        likely = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (own - likely) / len(own) - _PENALTY * np.r_[weights[:-1], 0]
        curve = (rows * (likely * (1 - likely))[:, None]).T @ rows / len(own) + _PENALTY * np.eye(len(weights))
        weights += np.linalg.solve(curve, gradient)
    return weights[:-1] / spread, float(weights[-1] - (weights[:-1] * mean / spread).sum())


def main() -> None:
    deep = "--deep" in sys.argv
    some = list(judged(deep))
    own, others = [one for one in some if one.own], [one for one in some if not one.own]
    print(f"R@10 without a threshold {100 * np.mean([one.whole for one in own]):.1f}", end=", ")
    print(f"at the default {100 * np.mean([one.kept for one in own]):.1f}", end=", ")
    print(f"others that get anything {100 * np.mean([one.answered for one in others]):.1f} %")
    names = [name for name in (CHATS_DEEP if deep else CHATS_STATIC) if name not in _SET]
    signals = np.array([[one.signals.get(name, 0.0) for name in names] for one in some])
    mine, chats = np.array([float(one.own) for one in some]), np.array([one.chat for one in some])
    odds = np.zeros(len(some))
    for chat in sorted(set(chats)):
        weights, bias = fit(signals[chats != chat], mine[chats != chat])
        odds[chats == chat] = signals[chats == chat] @ weights + bias
    least = float(np.quantile(odds[mine == 0], 1 - _PASSING))
    kept = np.mean([one.whole * (value >= least) for one, value in zip(some, odds, strict=True) if one.own])
    print(f"out of fold, with {100 * _PASSING:g} % of the others passing: {100 * kept:.1f}")
    if "--fit" in sys.argv:
        weights, bias = fit(signals, mine)
        shift = float(np.log(THRESHOLD / (1 - THRESHOLD))) - least
        print({name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}, round(bias + shift, 2))


if __name__ == "__main__":
    main()
