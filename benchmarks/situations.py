"""Situations of life: learn what a question is about (`text/situations.py`).

`python -m benchmarks.situations` measures how often a question that was left out gets its own situation; `--learn` writes the
weights of both tiers. The examples (`examples/situations.json`) were written by hand, after reading the three people of
tests/querying/items/people.json; no text of the items is among them.
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
    """Questions as vectors, and the situation of each: one column per situation."""

    names: list[str]
    questions: Float
    asked: Float


def examples(embedder: Embedder) -> Examples:
    """The examples in a space."""
    known: dict[str, list[str]] = json.loads((ROOT / "examples/situations.json").read_text("utf-8"))
    asked = [(text, name) for name, texts in known.items() for text in texts]
    vectors = np.vstack([embedder.documents([text]) for text, _ in asked]).astype(np.float64)
    return Examples(list(known), vectors, np.array([[name == its for name in known] for _, its in asked], float))


def columns(vectors: Float, mean: Float) -> Float:
    """Vectors without their mean, in unit length, sharpened, and a constant."""
    own = vectors - mean
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    return np.hstack([_SHARPNESS * own, np.ones((len(own), 1))])


def fitted(data: Float, target: Float) -> Float:
    """A softmax regression by accelerated gradient steps."""
    weights = ahead = np.zeros((data.shape[1], target.shape[1]))
    bound = np.linalg.norm(data, 2) ** 2 / 2 + _PENALTY
    for step in range(_STEPS):
        scores = data @ ahead
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        shrink = _PENALTY * ahead
        shrink[-1] = 0
        new = ahead - (data.T @ (likely / likely.sum(axis=1, keepdims=True) - target) + shrink) / bound
        ahead, weights = new + step / (step + 3) * (new - weights), new
    return weights


def measure(some: Examples, tier: str) -> None:
    """How often a question left out gets its situation."""
    data, right = columns(some.questions, some.questions.mean(axis=0)), []
    for fold in range(_FOLDS):
        held = np.arange(len(data)) % _FOLDS == fold
        best = (data[held] @ fitted(data[~held], some.asked[~held])).argmax(axis=1)
        right += some.asked[held][np.arange(held.sum()), best].tolist()
    print(f"situations, {tier}, {len(data)} questions left out: first situation right {np.mean(right):.3f}")


def learn(some: Examples, tier: str) -> None:
    """Write the weights of a tier. The sharpness becomes part of them."""
    mean = some.questions.mean(axis=0)
    weights = fitted(columns(some.questions, mean), some.asked)
    weights[:-1] *= _SHARPNESS
    out = io.BytesIO()
    np.savez_compressed(out, names=np.array(some.names), mean=mean.astype(np.float16), weights=weights.astype(np.float16))
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
