"""Which facts a question needs (`text/needs.py`), learned from persons with labelled questions.

`python -m benchmarks.needs` measures on persons by hands left out: the log-loss, and the share of needed facts among as many
best ones; `--learn` writes the weights of all tiers, or of those that are named. The persons (`examples/persons.jsonl`, with 40
to 120 facts) were written by several hands without sight of the code.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from benchmarks.data import HOME, linked_home
from contextd.app.assemble import open_session
from contextd.ports.world import Embedder
from contextd.text.needs import WORDS, Float, Matrix, Needs, Projection, unit, wanted
from contextd.text.thesaurus import concepts_of

ROOT = Path(__file__).parent
LEARNED = ROOT.parent / "src/contextd/text/learned"
FOLDS = 4
_RANK = 64
_EPOCHS, _TOGETHER = 20, 2  # persons in one step
_RATE, _WARM_UP = 2e-3, 0.3  # largest step, and the share of steps until it is reached
_DROPPED, _DECAY = 0.6, 0.6  # share of inputs left out of a step, and the pull of weights to zero; chosen out of fold
_SHARPNESS = 6.0  # factor on the product, so that weights of the usual size give log-odds of the usual size


class Question(TypedDict):
    """A question with the places of the facts that must and may be shown."""

    text: str
    kind: str
    must: list[int]
    may: list[int]


class Person(TypedDict):
    """A person of the examples."""

    hand: str
    facts: list[str]
    questions: list[Question]
    unrelated: list[str]


class Asked(NamedTuple):
    """A person in a tier: vectors and texts of questions and facts, and which facts each question needs."""

    fold: int
    questions: Matrix
    facts: Matrix
    asked: list[str]
    said: list[str]
    needed: Matrix


def persons() -> list[Person]:
    """The persons of the examples."""
    return [json.loads(line) for line in (ROOT / "examples/persons.jsonl").read_text("utf-8").splitlines()]


def folds(some: Sequence[Person]) -> list[int]:
    """The fold of each person: persons by one hand are in the same one."""
    hands = sorted({person["hand"] for person in some})
    return [hands.index(person["hand"]) % FOLDS for person in some]


def asked_of(some: Sequence[Person], embedder: Embedder | None) -> list[Asked]:
    """All requests and questions. A look-up needs one fact that is worded like it."""
    found = []
    for person, fold in zip(some, folds(some), strict=True):
        several = [question for question in person["questions"] if question["kind"] != "lookup"]
        needed = np.zeros((len(several), len(person["facts"])), np.float32)
        for row, question in zip(needed, several, strict=True):
            row[[*question["must"], *question["may"]]] = 1
        texts = [question["text"] for question in several]
        found.append(Asked(fold, vectors(texts, embedder), vectors(person["facts"], embedder), texts, person["facts"], needed))
    return found


def vectors(texts: Sequence[str], embedder: Embedder | None) -> Matrix:
    """The vectors of texts as documents; of no length without a model."""
    if embedder is None:
        return np.zeros((len(texts), 0), np.float32)
    known = _embedded(embedder)
    return np.vstack([known[text] for text in texts])


@lru_cache
def _embedded(embedder: Embedder) -> dict[str, Matrix]:
    """The vectors of all texts of the examples, kept in the data directory of the benchmarks."""
    texts = sorted({text for person in persons() for text in (*person["facts"], *(one["text"] for one in person["questions"]))})
    path = HOME / f"needs-{embedder.space.replace('/', '-')}.npz"
    known = dict[str, Matrix]()
    if path.exists():
        with np.load(path, allow_pickle=False) as stored:
            known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    known |= {text: embedder.documents([text])[0] for text in texts if text not in known}
    np.savez(path, texts=np.array(list(known)), vectors=np.stack(list(known.values())))
    return known


def fitted(some: Sequence[Asked]) -> Needs:
    """Two projections by logistic loss: Adam with decoupled decay, one cycle of step sizes, inputs dropped at random."""
    random = np.random.default_rng(0)
    means = [np.vstack(every).mean(axis=0) for every in ([one.questions for one in some], [one.facts for one in some])]
    concepts = tuple(sorted({name for one in some for text in (*one.asked, *one.said) for name in concepts_of(text)}))
    unknown = Needs(*(Projection(mean, np.zeros((0, _RANK), np.float32)) for mean in means), concepts)
    cases = [(_inputs(unknown, one), one.needed) for one in some]
    size = cases[0][0][0].shape[1]
    weights = [(random.uniform(-1, 1, (size, _RANK)) / np.sqrt(size)).astype(np.float32) for _ in range(2)]
    slopes, squares = ([np.zeros_like(one) for one in weights] for _ in range(2))
    parts = [part for _ in range(_EPOCHS) for part in np.array_split(random.permutation(len(cases)), len(cases) // _TOGETHER)]
    for step, part in enumerate(parts, 1):
        rate = _rate(step / len(parts))
        for side, slope in enumerate(_slopes([cases[place] for place in part], weights, random)):
            slopes[side] = 0.9 * slopes[side] + 0.1 * slope
            squares[side] = 0.999 * squares[side] + 0.001 * slope**2
            move = slopes[side] / (1 - 0.9**step) / (np.sqrt(squares[side] / (1 - 0.999**step)) + 1e-8)
            weights[side] = (weights[side] * (1 - rate * _DECAY) - rate * move).astype(np.float32)
    return Needs(Projection(means[0], (_SHARPNESS * weights[0]).astype(np.float32)), Projection(means[1], weights[1]), concepts)


def _inputs(needs: Needs, one: Asked) -> list[Matrix]:
    """The rows of questions and of facts: vector, concepts and constant."""
    return [
        np.hstack([unit(given - side.mean), needs.rows(texts), np.ones((len(texts), 1), np.float32)])
        for given, side, texts in ((one.questions, needs.question, one.asked), (one.facts, needs.fact, one.said))
    ]


def _slopes(
    cases: Sequence[tuple[list[Matrix], Matrix]], weights: Sequence[Matrix], random: np.random.Generator
) -> list[Matrix]:  # fmt: skip
    """The slope of the loss for both sides, over some persons."""
    slopes, pairs = [np.zeros_like(one) for one in weights], sum(needed.size for _, needed in cases)
    for inputs, needed in cases:
        questions, facts = (_dropped(rows, random) for rows in inputs)
        asked, said = questions @ weights[0], facts @ weights[1]
        error = _SHARPNESS * (1 / (1 + np.exp(-_SHARPNESS * asked @ said.T)) - needed) / pairs
        slopes[0] += questions.T @ (error @ said)
        slopes[1] += facts.T @ (error.T @ asked)
    return slopes


def _dropped(rows: Matrix, random: np.random.Generator) -> Matrix:
    kept = (random.random(rows.shape, dtype=np.float32) >= _DROPPED) / np.float32(1 - _DROPPED)
    kept[:, -1] = 1
    return np.asarray(rows * kept)


def _rate(done: float) -> float:
    rising = done / _WARM_UP
    falling = 0.5 * (1 + np.cos(np.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
    return float(_RATE * (rising if done < _WARM_UP else falling))


def left_out(some: Sequence[Asked]) -> list[Needs]:
    """For each fold of persons, weights that never saw them."""
    return [fitted([one for one in some if one.fold != fold]) for fold in range(FOLDS)]


def judged(some: Sequence[Asked], by_fold: Sequence[Needs]) -> Iterator[tuple[Float, Matrix]]:
    """For each question of persons left out, the log-odds of the facts, and which of them are needed."""
    for one in some:
        for text, vector, needed in zip(one.asked, one.questions, one.needed, strict=True):
            question = wanted(by_fold[one.fold], text, vector)
            yield question.by_vectors(one.facts) + question.by_concepts(one.said), needed


def measure(some: Sequence[Asked], tier: str) -> None:
    """How well persons left out are judged by this alone."""
    losses, found = [], []
    for odds, needed in judged(some, left_out(some)):
        losses.append(np.logaddexp(0, np.where(needed > 0, -odds, odds)).mean())
        if needed.any():
            found.append(needed[np.argsort(-odds, kind="stable")[: int(needed.sum())]].mean())
    print(f"needs, {tier}, {len(losses)} questions of persons left out: log-loss {np.mean(losses):.4f}, "
          f"R-precision {np.mean(found):.3f}")  # fmt: skip


def write(needs: Needs, tier: str) -> None:
    """Write the weights of a tier."""
    out = io.BytesIO()
    sides = {"question": needs.question, "fact": needs.fact}
    values = {
        f"{name}_{part}": value.astype(np.float16) for name, side in sides.items() for part, value in side._asdict().items()
    }
    np.savez_compressed(out, concepts=np.array(needs.concepts), **values)
    (LEARNED / f"needs-{tier}.npz").write_bytes(out.getvalue())


def embedders() -> dict[str, Embedder | None]:
    """The models by tier; those that are missing are left out."""
    session = open_session(None, home=linked_home("facets").absolute())
    known = {"deep": session.setup.deep(), "static": session.setup.static}
    return {**{tier: one for tier, one in known.items() if one is not None}, WORDS: None}


def main() -> None:
    """Measure out of fold; with `--learn`, write the weights. Of all tiers, or those that are named."""
    known = embedders()
    for tier in [one for one in sys.argv if one in known] or known:
        embedder = known[tier]
        some = asked_of(persons(), embedder)
        measure(some, tier)
        if "--learn" in sys.argv:
            write(fitted(some), tier)


if __name__ == "__main__":
    main()
