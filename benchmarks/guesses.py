"""Guesses about facts and questions: how often kind, act and subject are right on items nothing was learned from.

`python -m benchmarks.guesses` judges the shipped weights on tests/remembering/items; `--learn [NAME …]`
makes the weights again from the examples in benchmarks/examples. The items were written, and committed, before there were rules
or weights.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import linked_home
from contextd.app.assemble import open_session
from contextd.ports.world import Embedder, fact_tagger
from contextd.remembering.values import tagged_by
from contextd.text.classifiers import RULE, RULED, grams, guess, rules

LEARNED = Path(__file__).parent.parent / "src/contextd/text/learned"
EXAMPLES = Path(__file__).parent / "examples"
ITEMS = Path(__file__).parent.parent / "tests/remembering/items"
GUESSES = {"kind": "facts", "act": "questions", "subject": "questions"}
LEARNED_ONLY = {"aspect": "aspects"}  # judged by what it is used for (benchmarks/facets.py)
SURE = {
    "kind": 0.65,
    "act": 0.7,
    "subject": 0.75,
}  # by examples of one hand, learned from those of two others: 95 % right above
_SCALE = {"deep": 6.0, "static": 4.0}  # of a vector beside words that are there or not
_WORD = 1.0
_RULE = 0.5  # of a mark of a rule
_LEAST = 3  # examples a word or a pair of words must be in
_PENALTY = 1e-3

Float = NDArray[np.float64]


def examples(name: str) -> list[dict[str, Any]]:
    """The labelled examples the weights are made from."""
    return json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))


def items(name: str) -> list[dict[str, Any]]:
    """The labelled items nothing is made from."""
    return json.loads((ITEMS / f"{name}.json").read_text("utf-8"))


def learn(embedders: dict[str, Embedder], wanted: Collection[str]) -> None:
    """Write the weights of some guesses in every tier; of all, if none is named."""
    for what, name in ((what, name) for what, name in (GUESSES | LEARNED_ONLY).items() if not wanted or what in wanted):
        known = examples(name)
        texts, labels = [one["text"] for one in known], sorted({str(one[what]) for one in known})
        target = np.array([labels.index(str(one[what])) for one in known])
        marks = [grams(text) | (rules(text) if what in RULED else set()) for text in texts]
        found = Counter(mark for one in marks for mark in one)
        words = sorted(mark for mark, count in found.items() if count >= _LEAST)
        scale = np.array([_RULE if mark.startswith(RULE) else _WORD for mark in words])
        for tier, embedder in embedders.items():
            features = np.hstack([_SCALE[tier] * _vectors(embedder, texts), scale * _there(marks, words)])
            weights = fitted(features, target, len(labels))
            size = features.shape[1] - len(words)
            weights[:size] *= _SCALE[tier]
            weights[size:-1] *= scale[:, None]
            data = io.BytesIO()
            np.savez_compressed(data, labels=np.array(labels), words=np.array(words), weights=weights.astype(np.float16))
            (LEARNED / f"{what}-{tier}.npz").write_bytes(data.getvalue())
            print(f"learned {what}, {tier}: {len(texts)} examples, {len(words)} words, {len(data.getvalue()) // 1024} kB")


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Float:
    return np.vstack([embedder.documents([text]) for text in texts]).astype(np.float64)


def _there(marks: Sequence[set[str]], words: Sequence[str]) -> Float:
    place = {word: number for number, word in enumerate(words)}
    found = np.zeros((len(marks), len(words)))
    for row, here in enumerate(marks):
        found[row, [place[mark] for mark in here if mark in place]] = 1
    return found


def fitted(features: Float, target: NDArray[np.intp], labels: int, steps: int = 600) -> Float:
    """A softmax regression with an L2 penalty, by accelerated gradient steps; the last row is the bias."""
    data = np.hstack([features, np.ones((len(features), 1))])
    truth, shrink = np.eye(labels)[target], np.full((data.shape[1], 1), 2 * _PENALTY)
    shrink[-1] = 0
    step = 1 / (_largest(data) ** 2 / len(data) / 2 + 2 * _PENALTY)
    weights = ahead = np.zeros((data.shape[1], labels))
    for number in range(steps):
        scores = data @ ahead
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        new = ahead - step * (data.T @ (likely - truth) / len(data) + shrink * ahead)
        ahead, weights = new + number / (number + 3) * (new - weights), new
    return weights


def _largest(data: Float, rounds: int = 60) -> float:
    """The largest singular value, by power iteration, and a little more."""
    vector = np.ones(data.shape[1])
    for _ in range(rounds):
        vector = data.T @ (data @ (vector / np.linalg.norm(vector)))
    return float(1.02 * np.sqrt(np.linalg.norm(vector)))


def judge(embedders: dict[str, Embedder]) -> None:
    """How often the shipped guesses are right on the items."""
    for what, name in GUESSES.items():
        known = items(name)
        tiers = {tier: [embedder] for tier, embedder in embedders.items()} | {"both": list(embedders.values())}
        spaces = {
            tier: [{one.space: one.documents([item["text"]])[0] for one in used} for item in known]
            for tier, used in tiers.items()
        }
        tagger = fact_tagger(embedders.get("deep"))
        if tagger is not None and what == "kind":
            tagged = [tagged_by(tagger, item["text"]) for item in known]
            spaces["tagger"] = [{} if one is None else dict(one.vectors) for one in tagged]
        for tier, vectors in spaces.items():
            guesses = [guess(what, one["text"], by_space) for one, by_space in zip(known, vectors, strict=True)]
            right = np.array(
                [found is not None and found.label == str(one[what]) for found, one in zip(guesses, known, strict=True)]
            )
            sure = np.array([found is not None and found.confidence >= SURE[what] for found in guesses])
            print(
                f"{what}, {tier}: forced {right.mean():.3f}, sure of {sure.mean():.2f}, of those right {right[sure].mean():.3f}"
            )


def main() -> None:
    session = open_session(None, home=linked_home("guesses").absolute())
    tiers = {"deep": session.setup.deep(), "static": session.setup.static}
    embedders = {tier: embedder for tier, embedder in tiers.items() if embedder is not None}
    if "--learn" in sys.argv:
        learn(embedders, [one for one in sys.argv if one in GUESSES | LEARNED_ONLY])
    judge(embedders)


if __name__ == "__main__":
    main()
