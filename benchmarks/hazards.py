"""Which hazards facts warn of and questions touch (`text/hazards.py`), learned from sentences in six languages.

`python -m benchmarks.hazards` learns from three quarters of the sentences (`benchmarks/examples/hazards`) and says how well the
others are told; `--learn` learns from all of them and writes the weights. Then it says how well limits of further persons are
told from others for each question, beside the rules of `text/hard_limits.py`, and prints the weights of both kinds of evidence
together.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.fact_net import save
from benchmarks.logistic import logistic
from benchmarks.needs import LEARNED, embedders
from contextd.ports.world import fact_embedder
from contextd.text.hard_limits import is_limit, limit_domains, question_domains
from contextd.text.hazards import HAZARDS, HazardWeights, concept_marks, hazard_log_odds, known_marks, words_of
from contextd.text.wording import is_about_world

ROOT = Path(__file__).parent
ITEMS = ROOT.parent / "tests/querying/items"
_FEWEST = 3  # sentences with a mark that is known
_STEPS, _RATE, _PENALTY = 150, 0.05, 5e-4
_PENALTY_OF_VECTORS = 0.1
_SIDES = {"F": "fact", "Q": "question"}

NAMES = ("hazards", "rules", "limit", "domain", "world", "constant")

Matrix = NDArray[np.float32]


class Sentence(NamedTuple):
    """A fact or a question with its hazards."""

    language: str
    side: str
    hazards: frozenset[str]
    text: str


class Pair(NamedTuple):
    """A question and a limit of a person: the evidence that they touch, and whether they do."""

    person: str
    language: str
    evidence: tuple[float, ...]  # as in `NAMES`
    right: bool


class Rows:
    """Known marks of texts with their values, and a constant: a sparse matrix that is multiplied from both sides."""

    def __init__(self, marks: dict[str, int], texts: Sequence[str]) -> None:
        found = [known_marks(marks, text) for text in texts]
        self.size = len(marks) + 1
        counts = [len(places) + 1 for places, _ in found]
        self.columns = np.concatenate([[*places, len(marks)] for places, _ in found]).astype(np.int64)
        self.values = np.concatenate([[*values, 1.0] for _, values in found]).astype(np.float32)[:, None]
        self.starts = np.cumsum([0, *counts[:-1]])
        self.order = np.argsort(self.columns, kind="stable")
        self.row = np.repeat(np.arange(len(texts)), counts)[self.order]
        self.used, self.begins = np.unique(self.columns[self.order], return_index=True)

    def times(self, weights: Matrix) -> Matrix:
        """The product with weights of the marks."""
        return np.asarray(np.add.reduceat(weights[self.columns] * self.values, self.starts, axis=0))

    def times_from_left(self, errors: Matrix) -> Matrix:
        """The product of the transposed matrix with errors of the texts."""
        found = np.zeros((self.size, errors.shape[1]), np.float32)
        found[self.used] = np.add.reduceat(errors[self.row] * self.values[self.order], self.begins, axis=0)
        return found


def sentences() -> list[Sentence]:
    """All sentences of the examples."""
    found = []
    for path in sorted((ROOT / "examples/hazards").glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            labels, _, text = line.partition(" | ")
            hazards = frozenset(one.strip() for one in labels[2:].split(",")) - {"-"}
            assert hazards <= set(HAZARDS), line
            found.append(Sentence(path.stem[:2], _SIDES[line[0]], hazards, text.strip()))
    return found


def fitted(some: Sequence[Sentence]) -> dict[str, HazardWeights]:
    """Both sides by logistic loss: Adam with a penalty on all weights but the bias."""
    return {side: _fitted([one for one in some if one.side == side]) for side in _SIDES.values()}


def _fitted(some: Sequence[Sentence]) -> HazardWeights:
    counts = Counter(mark for one in some for mark in (*words_of(one.text), *concept_marks(one.text)))
    marks = {mark: place for place, mark in enumerate(sorted(mark for mark, count in counts.items() if count >= _FEWEST))}
    rows, right = Rows(marks, [one.text for one in some]), labels(some)
    share = right.mean(axis=0)
    weights = np.zeros((rows.size, len(HAZARDS)), np.float32)
    weights[-1] = np.log((share + 1e-3) / (1 - share + 1e-3))
    slopes, squares = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        slope = rows.times_from_left(1 / (1 + np.exp(-rows.times(weights))) - right) / len(some)
        slope[:-1] += _PENALTY * weights[:-1]
        slopes, squares = 0.9 * slopes + 0.1 * slope, 0.99 * squares + 0.01 * slope**2
        weights -= _RATE * (slopes / (1 - 0.9**step)) / (np.sqrt(squares / (1 - 0.99**step)) + 1e-6)
    return HazardWeights(marks, weights[:-1], weights[-1])


def labels(some: Sequence[Sentence]) -> Matrix:
    return np.array([[name in one.hazards for name in HAZARDS] for one in some], np.float32)


def likely(side: HazardWeights, texts: Sequence[str]) -> Matrix:
    """The probability of each hazard, one row for each text."""
    weights = np.vstack([side.weights, side.bias])
    return np.asarray(1 / (1 + np.exp(-Rows(dict(side.marks), texts).times(weights))))


def pairs(name: str) -> Iterator[Pair]:
    """Questions and facts of persons by the weights that come with the package: limits that questions touch; limits that have
    nothing to do with them, and facts that are none."""
    for number, person in enumerate(json.loads((ITEMS / f"{name}.json").read_text("utf-8"))["people"]):
        text = {limit["id"]: limit["text"] for limit in person["limits"]} | {fact: fact for fact in person["other"]}
        places, domains = (
            {one: place for place, one in enumerate(text)},
            {one: limit_domains(said) for one, said in text.items()},
        )
        no_limits = [fact for fact in person["other"] if is_limit(fact)]
        for kind, wanted in (("questions", "needs"), ("elsewhere", "not")):
            for question in person[kind]:
                odds, world = hazard_log_odds(question["text"], list(text.values())), is_about_world(question["text"])
                about = frozenset[str]() if world else question_domains(question["text"])
                right = question[wanted] if kind == "questions" else []
                for one in (*question[wanted], *no_limits):
                    rules = (bool(about & domains[one]), bool(domains[one]), bool(about), world, True)
                    yield Pair(
                        f"{name} {number}", person["language"], (float(odds[places[one]]), *map(float, rules)), one in right
                    )


def told(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> str:
    """What share of the others comes with a share of those that are right."""
    order = np.argsort(-scores)
    held, found = np.cumsum(right[order]), []
    for share in (0.8, 0.9, 0.95):
        last = int(np.searchsorted(held, np.ceil(share * right.sum())))
        found.append(
            f"{share} at {scores[order][last]:.2f} with {(~right[order][: last + 1]).sum() / max(1, (~right).sum()):.3f}"
        )
    return "; ".join(found)


def together(some: Sequence[Pair]) -> NDArray[np.float64]:
    """The weights of both kinds of evidence: a logistic regression."""
    data, right = np.array([one.evidence for one in some]), np.array([one.right for one in some], float)
    weights = np.zeros(data.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-data @ weights))
        slope = (data * (chance * (1 - chance))[:, None]).T @ data + 0.01 * np.eye(len(weights))
        weights -= np.linalg.solve(slope, data.T @ (chance - right) + 0.01 * weights)
    return weights


def report() -> None:
    """How well questions are told that touch limits of persons: by the rules, by hazards, by both, persons left out."""
    some = list(pairs("must_not_miss_3"))
    data, right = np.array([one.evidence for one in some]), np.array([one.right for one in some])
    scores, person = np.zeros(len(some)), np.array([one.person for one in some])
    for own in sorted(set(person)):
        scores[person == own] = data[person == own] @ together([one for one in some if one.person != own])
    language = np.array([one.language for one in some])
    for name in ("all", *sorted(set(language))):
        of = (language == name) | (name == "all")
        print(f"limits, {name}: by rules {data[of & right, 1].mean():.3f} with {data[of & ~right, 1].mean():.3f}; by hazards "
              f"{told(data[of, 0], right[of])}; by both {told(scores[of], right[of])}")  # fmt: skip
    print("weights:", dict(zip(NAMES, np.round(together(some), 2).tolist(), strict=True)))


def write_severity() -> None:
    """A logistic regression on the vectors for facts: is a fact in English a hard limit? Written with the package."""
    embedder = fact_embedder(embedders().get("deep"))
    if embedder is None:
        print("skipped the vectors of hard limits: the deep model is missing")
        return
    some = [one for one in sentences() if one.side == "fact" and one.language == "en"]
    rows = np.hstack([embedder.documents([one.text for one in some]), np.ones((len(some), 1))]).astype(np.float64)
    right = np.array([bool(one.hazards) for one in some], float)
    weights = logistic(rows, right, _PENALTY_OF_VECTORS)
    save(
        LEARNED / "limit-facts.npz",
        labels=np.array(["limit"]),
        words=np.array([], str),
        weights=weights[:, None].astype(np.float32),
    )


def write(sides: dict[str, HazardWeights]) -> None:
    """Write the weights as 8-bit numbers."""
    out, stored = io.BytesIO(), dict[str, NDArray[np.generic]]()
    for name, side in sides.items():
        scale = (np.abs(side.weights).max(axis=0) / 127).astype(np.float32)
        stored |= {f"{name}_marks": np.array("\n".join(side.marks)), f"{name}_scale": scale, f"{name}_bias": side.bias}
        stored[f"{name}_weights"] = np.round(side.weights / scale).astype(np.int8)
    np.savez_compressed(out, **stored)  # type: ignore[arg-type]
    (LEARNED / "hazards.npz").write_bytes(out.getvalue())


def main() -> None:
    """Measure; with `--learn`, write the weights."""
    some = sentences()
    if "--learn" not in sys.argv:
        left = np.random.default_rng(0).integers(0, 4, len(some)) == 0
        part = fitted([one for one, out in zip(some, left, strict=True) if not out])
        for side in _SIDES.values():
            rest = [one for one, out in zip(some, left, strict=True) if out and one.side == side]
            chances, right = likely(part[side], [one.text for one in rest]), labels(rest) > 0
            none = -np.log(np.clip(np.prod(1 - chances, axis=1), 1e-9, 1)).astype(np.float64)
            each = told(chances.ravel().astype(np.float64), right.ravel())
            print(f"{side}: hazards {each}; any {told(none, right.any(axis=1))}")
    else:
        write(fitted(some))
        write_severity()
    report()


if __name__ == "__main__":
    main()
