"""Which facts matter for a question: the weights that `facets` and `recall` share, learned out of fold.

`python -m benchmarks.relevance` measures the aim of questions on persons and topics it was not learned from: average precision
over the facts that matter (26 facts of a person), and recall@10 of the right one of 505 preferences. `--learn` writes:

- aim: the vector of a question moved to its facts (`text/aim.py`), by a softmax over the facts of a person.
- matter: whether any fact matters for `recall` (`querying/matter.py`), by a logistic regression.
"""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import BENCH, linked_home
from benchmarks.persons import told
from contextd.app.assemble import open_session
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.ports.world import Embedder
from contextd.querying import pipeline
from contextd.querying.compete import standings
from contextd.querying.facets.interpret import without_amounts
from contextd.querying.matter import evidence
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.text.aim import aimed
from contextd.text.natural_language import is_foreign
from contextd.values.query import Narrow
from contextd.values.trace import Trace

ROOT = Path(__file__).parent
LEARNED = ROOT.parent / "src/contextd/text/learned"
ITEMS = ROOT.parent / "tests/querying/items"
_RANK = 32
_STEPS = 80
# Per tier: the sharpness of the softmax, and the penalty that pulls the map to the identity; chosen out of fold.
_SHARPNESS, _PENALTY = {"deep": 20.0, "static": 12.0}, {"deep": 0.2, "static": 0.1}
_FOLDS = 4
_FIRST = 10

Float = NDArray[np.float64]


class Group(NamedTuple):
    """The facts of one person, their questions as vectors (centred), and which facts matter for which question."""

    facts: Float
    questions: Float
    matters: Float


def people(path: Path = ROOT / "examples/facets.json") -> list[dict[str, Any]]:
    """The persons with 26 facts: the examples, or items by another hand."""
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def preferences() -> list[dict[str, str]]:
    """PrefEval, as far as it is here."""
    path = BENCH / "prefeval" / "prefeval_dev.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def requests() -> list[str]:
    """Requests and questions that concern a person, of the examples."""
    known = json.loads((ROOT / "examples/questions.json").read_text("utf-8"))
    return [one["text"] for one in known if one["subject"] is not None and one["act"] in ("task", "question")]


def mean_question(embedder: Embedder) -> Float:
    """The mean of the examples' and of PrefEval's questions, half of each."""
    sets = [requests(), *([[one["question"] for one in preferences()]] if preferences() else [])]
    return np.mean([np.mean([embedder.query(text) for text in texts], axis=0) for texts in sets], axis=0).astype(np.float64)


def groups(embedder: Embedder, mean: Float, some: Sequence[dict[str, Any]]) -> list[Group]:
    """The persons, as vectors."""
    found = []
    for person in some:
        asked = [one for one in person["queries"] if one["facts"]]
        matters = np.array([[str(place) in one["facts"] for place in range(len(person["facts"]))] for one in asked], float)
        found.append(Group(_facts(embedder, person["facts"]), _asked(embedder, [one["text"] for one in asked], mean), matters))
    return found


def preferred(embedder: Embedder, mean: Float, rows: Sequence[dict[str, str]]) -> Group:
    """Some of PrefEval as one person."""
    texts = [row["preference"] for row in rows], [row["question"] for row in rows]
    return Group(_facts(embedder, texts[0]), _asked(embedder, texts[1], mean), np.eye(len(rows)))


def _facts(embedder: Embedder, texts: Sequence[str]) -> Float:
    return np.vstack([embedder.documents([text]) for text in texts]).astype(np.float64)


def _asked(embedder: Embedder, texts: Sequence[str], mean: Float) -> Float:
    centred = np.stack([embedder.query(without_amounts(text)) for text in texts]) - mean
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


def fitted(some: Sequence[Group], tier: str) -> tuple[Float, Float]:
    """A map as two factors: softmax over the facts of each person, pulled to the identity, cut to its largest directions."""
    size, sharp, penalty = some[0].facts.shape[1], _SHARPNESS[tier], _PENALTY[tier]
    own = np.eye(size)
    weights, ahead = own, own
    for step in range(_STEPS):
        new = ahead - 0.5 / (0.15 * sharp + penalty) * (_gradient(ahead, some, sharp) + penalty * (ahead - own))
        ahead, weights = new + step / (step + 3) * (new - weights), new
    left, strength, right = np.linalg.svd(weights - own)
    return left[:, :_RANK] * strength[:_RANK], right[:_RANK]


def _gradient(weights: Float, some: Sequence[Group], sharp: float) -> Float:
    total, count = np.zeros_like(weights), 0
    for facts, questions, matters in some:
        scores = sharp * (questions @ weights @ facts.T)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        total += sharp * questions.T @ ((likely - matters / matters.sum(axis=1, keepdims=True)) @ facts)
        count += len(questions)
    return total / count


def scores_of(group: Group, factors: tuple[Float, Float] | None) -> Float:
    """How near each fact is to each question."""
    moved = group.questions if factors is None else group.questions + group.questions @ factors[0] @ factors[1]
    return np.asarray(moved @ group.facts.T)


def average_precision(group: Group, factors: tuple[Float, Float] | None) -> list[float]:
    """For each question."""
    found = []
    for scores, matters in zip(scores_of(group, factors), group.matters, strict=True):
        right = matters[np.argsort(-scores, kind="stable")]
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        found.append(float((precision * right).sum() / right.sum()))
    return found


def measure(embedder: Embedder, tier: str) -> None:
    """The aim on persons and topics it was not learned from."""
    mean, rows = mean_question(embedder), preferences()
    some, everything = groups(embedder, mean, people()), preferred(embedder, mean, rows) if rows else None
    precision = [
        value
        for fold in range(_FOLDS)
        for held in [fitted([*_without(some, fold), *([everything] if everything else [])], tier)]
        for group in some[fold::_FOLDS]
        for value in average_precision(group, held)
    ]
    bare = [value for group in some for value in average_precision(group, None)]
    print(f"aim, {tier}, out of fold: average precision {np.mean(precision):.3f} (centred only {np.mean(bare):.3f})")
    others = groups(embedder, mean, people(ITEMS / "facets.json"))
    factors = fitted([*some, *([everything] if everything else [])], tier)
    precision, bare = ([value for group in others for value in average_precision(group, one)] for one in (factors, None))
    print(f"aim, {tier}, items by another hand: average precision {np.mean(precision):.3f} (centred only {np.mean(bare):.3f})")
    if everything is None:
        print("skipped prefeval: not below CONTEXTD_BENCH")
        return
    topics = sorted({row["topic"] for row in rows})
    found = []
    for fold in range(len(topics) // 2):
        inside = [row["topic"] in topics[2 * fold : 2 * fold + 2] for row in rows]
        others = [row for row, there in zip(rows, inside, strict=True) if not there]
        scores = scores_of(everything, fitted([*some, preferred(embedder, mean, others)], tier))
        found += [place in np.argsort(-scores[place])[:_FIRST] for place, there in enumerate(inside) if there]
    print(f"aim, {tier}, out of fold by topic: recall@{_FIRST} of 505 {100 * np.mean(found):.1f} %")


def _without(some: Sequence[Group], fold: int) -> list[Group]:
    return [group for place, group in enumerate(some) if place % _FOLDS != fold]


def learn(embedder: Embedder, tier: str) -> None:
    """Write the aim of a tier."""
    mean, rows = mean_question(embedder), preferences()
    if not rows:
        raise SystemExit("the aim is learned from PrefEval, too: set CONTEXTD_BENCH")
    left, right = fitted([*groups(embedder, mean, people()), preferred(embedder, mean, rows)], tier)
    data = io.BytesIO()
    np.savez_compressed(
        data,
        **{name: part.astype(np.float16) for name, part in zip(("mean", "left", "right"), (mean, left, right), strict=True)},
    )
    (LEARNED / f"aim-{tier}.npz").write_bytes(data.getvalue())
    print(f"learned aim, {tier}: {len(data.getvalue()) // 1024} kB")


class Judged(NamedTuple):
    """The evidence of one question for `matters`, and whether some fact matters."""

    fold: int
    evidence: Float
    right: bool


def judged(tier: str, spaces: Sequence[str]) -> list[Judged]:
    """Questions asked of persons: their own, and questions about the world. `tier` is that of the classifiers."""
    found = []
    for number, (facts, own, others) in enumerate(audiences()):
        with told(facts, deep="deep" in spaces) as session:
            for right, texts in ((True, own), (False, others)):
                found += [Judged(number, seen, right) for text in texts if (seen := _seen(session, text, tier)) is not None]
    return found


def audiences() -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Facts of a person, questions for which some of them matter, and questions for which none does."""
    chance, some, rows = random.Random(5), people(), preferences()
    known = json.loads((ROOT / "examples/questions.json").read_text("utf-8"))
    world = [one["text"] for one in known if one["subject"] in (None, "information") and one["act"] in ("task", "question")]
    together = [
        {name: [part for one in some[start : start + 5] for part in one[name]] for name in ("facts", "queries")}
        for start in (0, 5)
    ]
    unknown = [one["text"] for one in known if one["act"] == "recall"]  # nobody told the answer
    pairs = json.loads((ROOT / "pairs.json").read_text("utf-8"))["en"]
    for half in (0, 1):
        told_of, others = pairs[half::2], pairs[1 - half :: 2]
        facts = [*(one["fact"] for one in told_of), *some[half]["facts"]]
        yield facts, [one["question"] for one in told_of], [one["question"] for one in others]
    for person in [*some, *together]:
        own = [one["text"] for one in person["queries"] if one["facts"]]
        others = [one["text"] for one in person["queries"] if not one["facts"]]
        words = [" ".join(fact.split()[:3]) for fact in chance.sample(person["facts"], 3)]
        yield person["facts"], [*own, *words], [*others, *chance.sample(world, 40), *chance.sample(unknown, 6)]
    for size in (20, 120, 505):
        part = chance.sample(rows, min(size, len(rows)))
        yield [row["preference"] for row in part], [row["question"] for row in part[:40]], chance.sample(world, 60)


def _seen(session: Session, text: str, tier: str) -> Float | None:
    """The evidence of a question for `matters`; None in a language that the models do not know."""
    query = query_of(session, text, Narrow(memories_only=True), None)
    means, trace = resources_of(session, query), Trace(None)
    with ExitStack() as stack:
        plan = understand(query)
        view = next(view for view in pipeline.views_of(query, plan, means, stack, trace) if view.size)
        vectors = vectors_of([view], replace(plan, text=without_amounts(text)), means.embedders, trace)
        embedder = next((one for one in means.embedders(set(vectors)) if one.space.startswith(f"{tier}/")), None)
        if embedder is None or is_foreign(text):
            return None
        found = retrieve(view, plan, {space: aimed(one, space) for space, one in vectors.items()})
        return evidence(text, found, standings(found), embedder.documents([text])[0], embedder.space)


def learn_matter(tier: str) -> None:
    """Write the weights of `matters`, and say how well they do on persons they were not made from."""
    some = [
        one
        for spaces in ([("static", "deep")] if tier == "deep" else [("static", "deep"), ("static",)])
        for one in judged(tier, spaces)
    ]
    data, right = np.stack([one.evidence for one in some]), np.array([one.right for one in some])
    fold, weight = np.array([one.fold % _FOLDS for one in some]), np.where(right, (~right).sum() / right.sum(), 1.0)
    scores = np.zeros(len(right))
    for number in range(_FOLDS):
        held = fold == number
        scores[held] = data[held] @ logistic(data[~held], right[~held], weight[~held])
    print(f"matter, {tier}, out of fold: {(scores[right] > 0).mean():.3f} of {right.sum()} questions let through, "
          f"{(scores[~right] < 0).mean():.3f} of {(~right).sum()} about the world silent")  # fmt: skip
    out = io.BytesIO()
    weights = logistic(data, right, weight)
    np.savez_compressed(out, labels=np.array(["matter"]), words=np.array([], str), weights=weights[:, None].astype(np.float32))
    (LEARNED / f"matter-{tier}.npz").write_bytes(out.getvalue())


def logistic(data: Float, right: NDArray[np.bool_], weight: Float, penalty: float = 2.0, steps: int = 3000) -> Float:
    """A logistic regression with an L2 penalty on all but the last column, by accelerated gradient steps."""
    shrink = np.full(data.shape[1], penalty)
    shrink[-1] = 0
    scale = np.sqrt((weight[:, None] * data**2).sum(axis=0) / 4 + shrink + 1e-9)
    bound = np.linalg.norm(np.sqrt(weight)[:, None] * data / scale, 2) ** 2 / 4 + 1
    weights = ahead = np.zeros(data.shape[1])
    for number in range(steps):
        off = weight * (1 / (1 + np.exp(-data @ ahead)) - right)
        new = ahead - (data.T @ off + shrink * ahead) / scale**2 / bound
        ahead, weights = new + number / (number + 3) * (new - weights), new
    return weights


def main() -> None:
    """Measure out of fold; with `--learn`, write the weights, or those of one part (`--learn aim`, `--learn matter`)."""
    session = open_session(None, home=linked_home("facets").absolute())
    parts = [name for name in sys.argv if name in ("aim", "matter")] or ["aim", "matter"]
    for tier, embedder in (("deep", session.setup.deep()), ("static", session.setup.static)):
        if embedder is None:
            print(f"skipped {tier}: no model")
            continue
        if "aim" in parts:
            measure(embedder, tier)
        if "aim" in parts and "--learn" in sys.argv:
            learn(embedder, tier)
        if tier == "static" and "matter" in parts and "--learn" in sys.argv:
            learn_matter(tier)


if __name__ == "__main__":
    main()
