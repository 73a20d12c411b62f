"""Facets: does a fact matter for a question, and on which side of it? Judged on people and questions by another hand.

`python -m benchmarks.facets` judges the shipped weights on tests/querying/items/facets.json and draws the calibration curve;
`--learn` makes the weights again from the examples in benchmarks/examples.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import linked_home
from benchmarks.guesses import fitted as softmax
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.ports.world import Embedder
from contextd.querying.facets.divide import USUAL
from contextd.querying.facets.facet_table import SIDES, aspects_of
from contextd.querying.facets.interpret import without_amounts
from contextd.querying.facets.judge import Signals, features, relevance, sides, tells
from contextd.querying.understand import understand
from contextd.remembering.topics import STARTING, Routing
from contextd.text.classifiers import guess, likelihoods
from contextd.text.terms import split
from contextd.values.memory import Topic
from contextd.values.query import Facet, Query, Reader, Scope

LEARNED = Path(__file__).parent.parent / "src/contextd/text/learned"
EXAMPLES = Path(__file__).parent / "examples"
ITEMS = Path(__file__).parent.parent / "tests/querying/items/facets.json"
THRESHOLD = 0.7
BEFORE = 0.35  # the share of facts that matter, as it is assumed before looking: about one in three
_FOLDS = 7
_PENALTY, _OF_NEARNESS = 2.0, 0.01

Float = NDArray[np.float64]


class Asked(NamedTuple):
    """One question of one person: signals of all their facts, and the side each belongs to, or none."""

    person: int
    subject: str  # for a question to which no fact matters: one of the four in turn
    unrelated: bool
    signals: Signals
    side: list[str]


def asked(people: Sequence[dict[str, Any]], session: Session, tier: str) -> list[Asked]:
    """All questions of some people, with the signals of a tier."""
    assert session.setup.static is not None
    best = session.setup.deep() if tier == "deep" else session.setup.static
    assert best is not None
    routing = Routing([Topic(name) for name in STARTING], session.setup.static)
    found = []
    for number, person in enumerate(people):
        facts = person["facts"]
        near, static = (np.vstack([one.documents([fact]) for fact in facts]) for one in (best, session.setup.static))
        kinds = [_kind(fact, best, row) for fact, row in zip(facts, near, strict=True)]
        tells = likelihoods("aspect", facts, best.space, near)
        topics = [set(routing.topics_of(fact)) for fact in facts]
        for question in person["queries"]:
            text = question["text"]
            terms = set(understand(Query(text, Scope((1,), Reader("owner")))).terms)
            signals = Signals(
                near @ best.query(without_amounts(text)),
                static @ session.setup.static.query(without_amounts(text)),
                np.array([len(terms & set(split(fact))) / max(1, len(terms)) for fact in facts]),
                np.array([float(bool(one & set(routing.topics_of(text)))) for one in topics]),
                tells,
                kinds,
            )
            unrelated = question["subject"] == "none"
            subject = list(SIDES)[len(text) % 4] if unrelated else question["subject"]
            side = [question["facts"].get(str(place), "") for place in range(len(facts))]
            found.append(Asked(number, subject, unrelated, signals, side))
    return found


def _kind(fact: str, embedder: Embedder, vector: NDArray[np.float32]) -> str:
    found = guess("kind", fact, {embedder.space: vector})
    return found.label if found is not None else ""


def learn(session: Session, tier: str) -> None:
    """Write the weights of relevance in a tier; how they do on people they have not seen."""
    some = asked(json.loads((EXAMPLES / "facets.json").read_text("utf-8")), session, tier)
    data = np.vstack([features(one.signals, one.subject) for one in some])
    right = np.array([bool(side) for one in some for side in one.side])
    person = np.array([one.person for one in some for _ in one.side])
    share = right.mean()
    even = np.log(BEFORE / (1 - BEFORE)) - np.log(share / (1 - share))
    scores = np.zeros(len(right))
    for fold in range(_FOLDS):
        held = person % _FOLDS == fold
        scores[held] = data[held] @ fitted(data[~held], right[~held])
    told(f"relevance, {tier}, out of fold", 1 / (1 + np.exp(-(scores + even))), right)
    weights = fitted(data, right)
    weights[4] += even
    out = io.BytesIO()
    np.savez_compressed(
        out, labels=np.array(["relevance"]), words=np.array([], str), weights=weights[:, None].astype(np.float16)
    )
    (LEARNED / f"relevance-{tier}.npz").write_bytes(out.getvalue())
    _learn_sides(some, tier)
    print(f"learned relevance, {tier}: cosine, static, coverage, topics, bias {np.round(weights[:5], 2)}")


def _learn_sides(some: Sequence[Asked], tier: str) -> None:
    """For each subject a softmax regression over its usual sides, from the facts that matter."""
    labels, columns = [], []
    for subject in SIDES:
        names = [side.name for side in SIDES[subject][:USUAL]]
        rows = [
            (row, names.index(side))
            for one in some
            if one.subject == subject
            for row, side in zip(tells(one.signals), one.side, strict=True)
            if side
        ]
        data, target = np.stack([row for row, _ in rows]), np.array([side for _, side in rows])
        columns.append(softmax(data[:, :-1], target, len(names)))
        labels += [f"{subject}.{name}" for name in names]
    out = io.BytesIO()
    np.savez_compressed(out, labels=np.array(labels), words=np.array([], str), weights=np.hstack(columns).astype(np.float16))
    (LEARNED / f"side-{tier}.npz").write_bytes(out.getvalue())


def fitted(data: Float, right: NDArray[np.bool_], steps: int = 4000) -> Float:
    """A logistic regression with an L2 penalty, hardly any on how near a fact is, by accelerated gradient steps."""
    shrink = np.full(data.shape[1], _PENALTY)
    shrink[:5] = _OF_NEARNESS
    scale = np.sqrt((data**2).sum(axis=0) / 4 + shrink)  # one unit of step for every column
    bound = np.linalg.norm(data / scale, 2) ** 2 / 4 + 1
    weights = ahead = np.zeros(data.shape[1])
    for number in range(steps):
        likely = 1 / (1 + np.exp(-data @ ahead))
        new = ahead - (data.T @ (likely - right) + shrink * ahead) / scale**2 / bound
        ahead, weights = new + number / (number + 3) * (new - weights), new
    return weights


def told(name: str, likely: Float, right: NDArray[np.bool_]) -> None:
    """Precision and recall at the threshold, average precision, and the curve at the odds assumed before looking."""
    order = np.argsort(-likely, kind="stable")
    hits = np.cumsum(right[order])
    precision = (hits / np.arange(1, len(order) + 1))[right[order]].mean()
    above = likely >= THRESHOLD
    print(
        f"{name}: {right.sum()} of {len(right)} facts matter; average precision {precision:.3f}; at {THRESHOLD} precision "
        f"{right[above].mean():.3f}, recall {right[above].sum() / right.sum():.3f}"
    )
    share = right.mean()
    weights = np.where(right, BEFORE / share, (1 - BEFORE) / (1 - share))
    for low in np.arange(0, 1, 0.1):
        inside = (likely >= low) & (likely < low + 0.1)
        if inside.any():
            observed = (weights[inside] * right[inside]).sum() / weights[inside].sum()
            print(
                f"  {low:.1f}-{low + 0.1:.1f}: {inside.sum():5d} facts, told {likely[inside].mean():.2f}, found {observed:.2f}"
            )


def judge(session: Session, tier: str) -> None:
    """The shipped weights on the items."""
    some = asked(json.loads(ITEMS.read_text("utf-8")), session, tier)
    likely = [relevance(one.signals, one.subject, tier) for one in some]
    right = np.array([bool(side) for one in some for side in one.side])
    told(f"relevance, {tier}, items", np.concatenate(likely), right)
    belongs: dict[str, list[bool]] = {}
    for one, scores in zip(some, likely, strict=True):
        facets = [Facet(side.name, side.title, side.question) for side in SIDES[one.subject][:USUAL]]
        found = sides(one.signals, one.subject, aspects_of(facets, one.subject), scores, tier)
        belongs.setdefault(one.subject, []).extend(a == b for a, b in zip(found, one.side, strict=True) if b)
    every = [right for several in belongs.values() for right in several]
    by_subject = {subject: round(float(np.mean(several)), 3) for subject, several in belongs.items()}
    print(f"the right side of those that matter: {np.mean(every):.3f} {by_subject}")
    empty = [not (scores >= THRESHOLD).any() for one, scores in zip(some, likely, strict=True) if one.unrelated]
    print(f"unrelated questions: {len(empty)}, nothing reaches {THRESHOLD} in {np.mean(empty):.3f}")


def main() -> None:
    session = open_session(None, home=linked_home("facets").absolute())
    for tier in ("deep", "static"):
        if "--learn" in sys.argv:
            learn(session, tier)
        judge(session, tier)


if __name__ == "__main__":
    main()
