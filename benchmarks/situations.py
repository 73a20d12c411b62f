"""Situations of life: learn which facts are needed for what a person asks (`text/situations.py`).

`python -m benchmarks.situations` measures, with situations classified from examples left out, how often a question gets its own
situation; `--learn` writes the weights of both tiers. The examples (`examples/situations.json`) were written by hand, after
reading the three people of tests/querying/items/people.json; no text of the items is among them.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import linked_home
from contextd.app.assemble import open_session
from contextd.ports.world import Embedder

ROOT = Path(__file__).parent
LEARNED = ROOT.parent / "src/contextd/text/learned"
_SHARPNESS = 6.0  # factor on unit vectors; with it the penalty is of the size of the data
_PENALTY, _STEPS = 2.0, 300
_FOLDS = 4

Float = NDArray[np.float64]


class Examples(NamedTuple):
    """Questions with their situation, and facts with the situations in which they are needed, as vectors."""

    names: list[str]
    questions: Float
    asked: Float  # one column per situation
    facts: Float
    needed: Float


def examples(embedder: Embedder) -> Examples:
    """The examples in a space."""
    known = json.loads((ROOT / "examples/situations.json").read_text("utf-8"))
    names = list(known["situations"])
    asked = [(text, {name}) for name, one in known["situations"].items() for text in one["questions"]]
    told = [(text, {name}) for name, one in known["situations"].items() for text in one["facts"]]
    told += [(text, set(one["for"].split())) for one in known["shared"] for text in one["facts"]]
    vectors, labels = [], []
    for some in (asked, told):
        vectors.append(np.vstack([embedder.documents([text]) for text, _ in some]).astype(np.float64))
        labels.append(np.array([[name in its for name in names] for _, its in some], float))
    return Examples(names, vectors[0], labels[0], vectors[1], labels[1])


def columns(vectors: Float, mean: Float) -> Float:
    """Vectors without their mean, in unit length, sharpened, and a constant."""
    own = vectors - mean
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    return np.hstack([_SHARPNESS * own, np.ones((len(own), 1))])


def fitted(data: Float, target: Float, *, exclusive: bool) -> Float:
    """A softmax regression if labels exclude each other, else one logistic regression per label."""
    weights = ahead = np.zeros((data.shape[1], target.shape[1]))
    bound = np.linalg.norm(data, 2) ** 2 / (2 if exclusive else 4) + _PENALTY
    for step in range(_STEPS):
        scores = data @ ahead
        likely = np.exp(scores - scores.max(axis=1, keepdims=True)) if exclusive else 1 / (1 + np.exp(-scores))
        likely = likely / likely.sum(axis=1, keepdims=True) if exclusive else likely
        shrink = _PENALTY * ahead
        shrink[-1] = 0
        new = ahead - (data.T @ (likely - target) + shrink) / bound
        ahead, weights = new + step / (step + 3) * (new - weights), new
    return weights


def measure(some: Examples, tier: str) -> None:
    """How often a question left out gets its situation, and a fact left out one of its own."""
    for what, vectors, labels, exclusive in (
        ("questions", some.questions, some.asked, True),
        ("facts", some.facts, some.needed, False),
    ):
        data, right = columns(vectors, vectors.mean(axis=0)), []
        for fold in range(_FOLDS):
            held = np.arange(len(data)) % _FOLDS == fold
            best = (data[held] @ fitted(data[~held], labels[~held], exclusive=exclusive)).argmax(axis=1)
            right += labels[held][np.arange(held.sum()), best].tolist()
        print(f"situations, {tier}, {len(data)} {what} left out: first situation right {np.mean(right):.3f}")


def learn(some: Examples, tier: str) -> None:
    """Write the weights of a tier. The sharpness becomes part of them."""
    means = some.questions.mean(axis=0), some.facts.mean(axis=0)
    parts = (
        fitted(columns(some.questions, means[0]), some.asked, exclusive=True),
        fitted(columns(some.facts, means[1]), some.needed, exclusive=False),
    )
    for part in parts:
        part[:-1] *= _SHARPNESS
    out = io.BytesIO()
    stored = dict(zip(("mean_question", "mean_fact", "questions", "facts"), (*means, *parts), strict=True))
    np.savez_compressed(out, names=np.array(some.names), **{name: value.astype(np.float16) for name, value in stored.items()})
    (LEARNED / f"situations-{tier}.npz").write_bytes(out.getvalue())


def main() -> None:
    """Measure out of fold; with `--learn`, write the weights."""
    session = open_session(None, home=linked_home("facets").absolute())
    for tier, embedder in (("deep", session.setup.deep()), ("static", session.setup.static)):
        if embedder is None:
            print(f"skipped {tier}: no model")
            continue
        some = examples(embedder)
        measure(some, tier)
        if "--learn" in sys.argv:
            learn(some, tier)


if __name__ == "__main__":
    main()
