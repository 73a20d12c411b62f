"""How much each piece of evidence counts that a fact matters (`querying/facets/judge.py`), learned leaving persons out.

`python -m benchmarks.judge` fits a logistic regression on persons with 26 facts (the examples and the items of facets) and 120
facts (the items of people), each person judged by weights that never saw them: recall of what must be shown, precision, and the
relevance against the share that is right. `--learn` writes the weights of a fit on all of them.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.persons import told
from benchmarks.relevance import ITEMS, LEARNED
from benchmarks.relevance import people as examples
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.querying import pipeline
from contextd.querying.compete import distances, shared_words
from contextd.querying.facets.interpret import without_amounts
from contextd.querying.facets.judge import MOST, NAMES, enough, evidence
from contextd.querying.facets.limits import limits_for
from contextd.querying.facets.traits import shared_concepts
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.text.aim import aimed
from contextd.text.natural_language import is_foreign
from contextd.text.people import mentions
from contextd.text.situations import needed_for
from contextd.text.wording import asks_one_thing
from contextd.values.query import Narrow
from contextd.values.trace import Trace

_FOLDS = 5
_PENALTY, _STEPS = 1.0, 25
_TENTH, _ENOUGH_PAIRS = 0.1, 50

Float = NDArray[np.float64]


class Case(NamedTuple):
    """One question of one person: the evidence for every fact, and which facts must and may be shown."""

    person: int
    group: str
    evidence: Float
    must: Float
    may: Float


def persons() -> Iterator[tuple[str, list[str], list[tuple[str, set[str], set[str]]]]]:
    """Groups of persons: their facts, and their questions with what must and may be shown."""
    for one in json.loads((ITEMS / "people.json").read_text("utf-8"))["people"]:
        text = {fact["id"]: fact["text"] for fact in one["facts"]}
        asked = [(q["text"], {text[i] for i in q["must"]}, {text[i] for i in q["may"]}) for q in one["questions"]]
        yield "people", list(text.values()), asked
    for group, some in (("examples", examples()), ("items", examples(ITEMS / "facets.json"))):
        for one in some:
            asked = [(q["text"], {one["facts"][int(i)] for i in q["facts"]}, set[str]()) for q in one["queries"]]
            yield group, one["facts"], asked


def cases(*, deep: bool) -> list[Case]:
    """All requests and questions for which several facts may matter. Look-ups are answered in another way."""
    found = []
    for number, (group, facts, asked) in enumerate(persons()):
        with told(facts, deep=deep) as session:
            for text, must, may in asked:
                if must and not asks_one_thing(text) and not is_foreign(text):
                    texts, columns = _evidence(session, text)
                    labels = (np.array([one in known for one in texts], float) for known in (must, may))
                    found.append(Case(number, group, columns, *labels))
    return found


def _evidence(session: Session, text: str) -> tuple[list[str], Float]:
    """The facts, and the evidence of each for a question."""
    query = query_of(session, text, Narrow(memories_only=True), None)
    means, trace = resources_of(session, query), Trace(None)
    with ExitStack() as stack:
        plan = understand(query)
        view = next(view for view in pipeline.views_of(query, plan, means, stack, trace) if view.size)
        vectors = vectors_of([view], replace(plan, text=without_amounts(text)), means.embedders, trace)
        embedders = [one for one in means.embedders(set(vectors)) if one.space in vectors]
        found = retrieve(view, plan, {space: aimed(one, space) for space, one in vectors.items()})
        read = {chunk.id: chunk.text for chunk in view.get(found.chunks)}
        texts = [read[chunk] for chunk in found.chunks]
        needed = {
            one.space.split("/")[0]: needed_for(one.documents([text])[0], view.vectors(found.chunks, one.space), one.space)
            for one in embedders
        }
        limits = {chunk.id for chunk in limits_for(text, view)}
        there = np.array([chunk in limits for chunk in found.chunks], float)
        people = mentions(text, texts, [one.whose for one in view.about(found.chunks)])
        concepts = shared_concepts(text, texts)
        every = range(len(texts))
        shared = {**shared_words(found, every), "concepts": concepts}
        columns = evidence(distances(found, every), shared, needed, there, people, view.size)
        return texts, np.stack([columns[name] for name in NAMES], axis=1)


def fitted(some: Sequence[Case]) -> Float:
    """A logistic regression by Newton's method, with a penalty on all weights but the constant."""
    data = np.vstack([one.evidence for one in some])
    right = np.concatenate([np.maximum(one.must, one.may) for one in some])
    penalty = np.full(data.shape[1], _PENALTY)
    penalty[-1] = 1e-6
    weights = np.zeros(data.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(data @ weights, -30, 30)))
        slope = (data * (likely * (1 - likely))[:, None]).T @ data + np.diag(penalty)
        weights = weights - np.linalg.solve(slope, data.T @ (likely - right) + penalty * weights)
    return weights


def left_out(some: Sequence[Case]) -> list[Float]:
    """The probability of each fact of each case, by weights that never saw the person."""
    by_fold = [fitted([one for one in some if one.person % _FOLDS != fold]) for fold in range(_FOLDS)]
    return [1 / (1 + np.exp(-(one.evidence @ by_fold[one.person % _FOLDS]))) for one in some]


def report(some: Sequence[Case], likely: Sequence[Float], tier: str) -> None:
    """Recall and precision by group, and calibration by number of facts."""
    for group in dict.fromkeys(one.group for one in some):
        counts = np.zeros(5)
        for one, chances in zip(some, likely, strict=True):
            if one.group == group:
                best = np.argsort(-chances, kind="stable")[:MOST]
                shown = [place for place in best if chances[place] >= enough(len(chances))]
                good = np.maximum(one.must, one.may)
                counts += (one.must[shown].sum(), one.must.sum(), good[shown].sum(), len(shown), 1)
        print(f"judge, {tier}, {group}, persons left out, {counts[4]:.0f} questions: recall {counts[0] / counts[1]:.3f}, "
              f"precision {counts[2] / counts[3]:.3f}, {counts[3] / counts[4]:.1f} shown")  # fmt: skip
    for size in sorted({len(one.must) for one in some}):
        pairs = [(one, chances) for one, chances in zip(some, likely, strict=True) if len(one.must) == size]
        told_of = np.concatenate([chances for _, chances in pairs])
        right = np.concatenate([np.maximum(one.must, one.may) for one, _ in pairs])
        for low in np.arange(0, 1, _TENTH):
            inside = (told_of >= low) & (told_of < low + _TENTH)
            if inside.sum() >= _ENOUGH_PAIRS:
                print(f"  {size} facts, {low:.1f}: {inside.sum():6d} pairs, relevance {told_of[inside].mean():.2f}, "
                      f"right {right[inside].mean():.2f}")  # fmt: skip


def main() -> None:
    """Measure leaving persons out; with `--learn`, write the weights of both tiers."""
    for tier in ("deep", "static"):
        some = cases(deep=tier == "deep")
        report(some, left_out(some), tier)
        weights = fitted(some)
        print({name: round(float(value), 2) for name, value in zip(NAMES, weights, strict=True)})
        assert all(math.isfinite(value) for value in weights)
        if "--learn" in sys.argv:
            out = io.BytesIO()
            np.savez_compressed(out, labels=np.array(NAMES), words=np.array([], str), weights=weights[None].astype(np.float32))
            (LEARNED / f"judge-{tier}.npz").write_bytes(out.getvalue())


if __name__ == "__main__":
    main()
