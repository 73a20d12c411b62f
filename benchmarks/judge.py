"""How much each piece of evidence counts that a fact matters (`querying/facets/judge.py`), learned leaving persons out.

`python -m benchmarks.judge` fits logistic regressions on persons with 26 facts (the examples and the items of facets), 40
to 120 facts (those persons of `benchmarks/needs.py` that `benchmarks/fact_layers.py` left out, the items of people), each
judged by weights that never saw the person: recall of what must be shown, precision, relevance against the share that is right.
The same for whether any fact matters (`querying/matter.py`). `--learn` writes a fit on all of them,
or on the tiers that are named (deep, static, words, facts).
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import fact_layers, needs
from benchmarks.logistic import logistic
from benchmarks.persons import told
from benchmarks.relevance import ITEMS, LEARNED, audiences
from benchmarks.relevance import logistic as weighted
from benchmarks.relevance import people as examples
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.ports.world import fact_embedder
from contextd.querying import pipeline
from contextd.querying.compete import distances, shared_words, standings
from contextd.querying.facets.interpret import without_amounts
from contextd.querying.facets.judge import CROWD, MOST, NAMES, among, by_nearness, enough, evidence
from contextd.querying.facets.limits import limits_for
from contextd.querying.facets.traits import shared_concepts
from contextd.querying.matter import evidence as any_evidence
from contextd.querying.matter import of_needs
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.text.aim import aimed
from contextd.text.natural_language import is_foreign
from contextd.text.needs import FACTS, WORDS, Needs, compared, needs_of, wanted
from contextd.text.people import mentions
from contextd.text.situations import situation_of
from contextd.text.wording import asks_one_thing
from contextd.values.document import OWNER
from contextd.values.query import Narrow
from contextd.values.trace import Trace

_TENTH, _ENOUGH_PAIRS = 0.1, 50
_NOTHING = np.zeros(0, np.float32)
_FACTS_BY_DEEP = f"{FACTS}-deep"  # the question is classified by its deep vector: for those without static ones
_UNKNOWN = "a fact matters, unknown which"
_REDACTED = -8.0  # log-odds of a fact whose text is changed when it is saved

Float = NDArray[np.float64]


class Case(NamedTuple):
    """One question of one person: the evidence for every fact, and which facts must and may be shown; whether any fact matters.

    `several` tells whether facts are judged: a look-up is answered in another way.
    """

    fold: int
    group: str
    evidence: Float
    must: Float
    may: Float
    any: Float
    several: bool


class Person(NamedTuple):
    """A person: their facts, their questions with what must and may be shown, and weights by tier that never saw them."""

    group: str
    fold: int
    facts: list[str]
    asked: list[tuple[str, set[str], set[str]]]  # questions without facts have empty sets
    needs: Mapping[str, Needs]
    by_facts: Mapping[str, Float]  # by question, log-odds of the tier `facts` by a net that never saw them; none for others


def persons() -> Iterator[Person]:
    """All persons that the weights of needs never saw."""
    known = needs.persons()
    by_fold = needs.folds(known)
    for fold in fact_layers.folds_left_out():
        held, odds = _needs_without(known, fold), fact_layers.left_out(fold)
        for number, person in enumerate(one for one, own in zip(known, by_fold, strict=True) if own == fold):
            said = person["facts"]
            asked = [
                *((q["text"], {said[i] for i in q["must"]}, {said[i] for i in q["may"]}) for q in person["questions"]),
                *((text, set[str](), set[str]()) for text in person["unrelated"]),
            ]
            by_facts = {text: odds[said[0], text] for text, _, _ in asked}
            yield Person(f"persons, {len(said)} facts", number % needs.FOLDS, said, asked, held, by_facts)
    shipped = {tier: needs_of(tier) for tier in (*needs.embedders(), WORDS)}
    for number, one in enumerate(json.loads((ITEMS / "people.json").read_text("utf-8"))["people"]):
        text = {fact["id"]: fact["text"] for fact in one["facts"]}
        asked = [(q["text"], {text[i] for i in q["must"]}, {text[i] for i in q["may"]}) for q in one["questions"]]
        unrelated = [(asks, set[str](), set[str]()) for asks in one["unrelated"]]
        yield Person("people", number % needs.FOLDS, list(text.values()), [*asked, *unrelated], shipped, {})
    for group, some in (("examples", examples()), ("items", examples(ITEMS / "facets.json"))):
        for number, one in enumerate(some):
            asked = [(q["text"], {one["facts"][int(i)] for i in q["facts"]}, set[str]()) for q in one["queries"]]
            yield Person(group, number % needs.FOLDS, one["facts"], asked, shipped, {})
    for number, (facts, own, others) in enumerate((*audiences(), *near_the_world())):
        unlabelled = [(text, {_UNKNOWN}, set[str]()) for text in own] + [(text, set[str](), set[str]()) for text in others]
        yield Person("audiences", number % needs.FOLDS, facts, unlabelled, shipped, {})


def near_the_world() -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Facts of a person, terse messages for which some of them matter, and others in the same words for which none does."""
    for line in (Path(__file__).parent / "examples/near.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        yield one["facts"], one["own"], one["near"]


def _needs_without(known: Sequence[needs.Person], fold: int) -> dict[str, Needs]:
    """Weights by tier that never saw a fold of the persons of `benchmarks/needs.py`."""
    asked = {tier: needs.asked_of(known, one) for tier, one in needs.embedders().items() if tier in _tiers()}
    return {tier: needs.fitted([one for one in some if one.fold != fold]) for tier, some in asked.items()}


def cases(some: Iterable[Person]) -> dict[str, list[Case]]:
    """By tier, all questions in English."""
    found = dict[str, list[Case]]()
    for person in some:
        with told(person.facts) as session:
            for text, must, may in person.asked:
                if is_foreign(text):
                    continue
                several = bool(must) and _UNKNOWN not in must and not asks_one_thing(text)
                known = person.by_facts.get(text)
                left_out = None if known is None else dict(zip(person.facts, known.tolist(), strict=True))
                texts, by_tier = _evidence(session, text, person.needs, left_out)
                labels = [np.array([one in right for one in texts], float) for right in (must, may)]
                for tier, (columns, whole) in by_tier.items():
                    any_right = np.array([*whole, bool(must)])
                    found.setdefault(tier, []).append(Case(person.fold, person.group, columns, *labels, any_right, several))
        print(person.group, sum(map(len, found.values())), "cases", flush=True)
    return found


def _evidence(
    session: Session, text: str, known: Mapping[str, Needs], left_out: Mapping[str, float] | None
) -> tuple[list[str], dict[str, tuple[Float, Float]]]:  # fmt: skip
    """The facts, and the evidence of each and of any for a question, by tier. `left_out` has log-odds of the tier `facts`."""
    query = query_of(session, text, Narrow(memories_only=True), None)
    means, trace = resources_of(session, query), Trace(None)
    with ExitStack() as stack:
        plan, named = understand(query), without_amounts(text)
        view = next(view for view in pipeline.views_of(query, plan, means, stack, trace) if view.size)
        vectors = vectors_of([view], replace(plan, text=named), means.embedders, trace)
        spaces = {one.space.split("/")[0]: one for one in means.embedders(set(vectors)) if one.space in vectors}
        found = retrieve(view, plan, {space: aimed(one, space) for space, one in vectors.items()})
        read = {chunk.id: chunk.text for chunk in view.get(found.chunks)}
        texts = [read[chunk] for chunk in found.chunks]
        best = spaces.get("deep") or spaces.get("static")
        situation = situation_of(best.documents([text])[0], best.space) if best else ""
        space = own.space if (own := fact_embedder(spaces.get("deep"))) is not None else ""
        limits = {
            one.chunk.id: 1 / (1 + math.exp(-one.odds))
            for one in limits_for(text, view, OWNER, situation, space)
            if one.concerns
        }
        there = np.array([limits.get(chunk, 0.0) for chunk in found.chunks])
        people = mentions(text, texts, [one.whose for one in view.about(found.chunks)])
        every = range(len(texts))
        near, shared = distances(found, every), {**shared_words(found, every), "concepts": shared_concepts(text, texts)}
        by_tier = dict[str, tuple[Float, Float]]()

        def judged_by(tier: str, lower: Sequence[str], by_vectors: Float, by_concepts: Float, of_text: str) -> None:
            columns = evidence({name: near[name] for name in lower}, shared, by_vectors + by_concepts, there, people, view.size)
            whole = _NOTHING.astype(np.float64)
            if (one := spaces.get(of_text)) is not None:
                seen = replace(found, spread={space: s for space, s in found.spread.items() if space.split("/")[0] in lower})
                whole = any_evidence(text, seen, standings(seen), one.documents([text])[0], one.space)
                whole = np.concatenate([of_needs(by_vectors), whole])
            by_tier[tier] = np.stack([columns[name] for name in NAMES], axis=1), whole

        for tier, lower in (("deep", ("deep", "static")), ("static", ("static",)), (WORDS, ())):
            if tier not in _tiers():
                continue
            one = spaces.get(tier)
            question = wanted(known[tier], named, one.documents([named])[0] if one else _NOTHING)
            by_vectors = question.by_vectors(view.vectors(found.chunks, one.space if one else ""))
            judged_by(tier, lower, by_vectors, question.by_concepts(texts), tier)
        if FACTS in _tiers() and (own := fact_embedder(spaces.get("deep"))) is not None:
            by_net = compared(own.query(named)).by_vectors(view.vectors(found.chunks, own.space)) if left_out is None else (
                np.array([left_out.get(one, _REDACTED) for one in texts]))  # fmt: skip
            for name, of_text in ((FACTS, "static"), (_FACTS_BY_DEEP, "deep")):
                judged_by(name, ("deep", "static"), by_net, np.zeros(len(texts)), of_text)
        return texts, by_tier


def _tiers() -> Sequence[str]:
    """The tiers that are named on the command line, or all of them."""
    known = ("deep", "static", WORDS, FACTS)
    return [one for one in sys.argv if one in known] or known


class Weights(NamedTuple):
    """The weights of the evidence, and those of competition among facts."""

    evidence: Float
    crowd: Float

    def odds(self, columns: Float) -> Float:
        """The log-odds of the facts of one question."""
        alone, near = columns @ self.evidence, columns[:, NAMES.index("near")]
        near = near if near.any() else columns[:, NAMES.index("near static")]
        return np.asarray(_among(alone) @ self.crowd + by_nearness(alone, near))


def fitted(some: Sequence[Case]) -> Weights:
    """Weights of the evidence first, then of competition."""
    right = [np.maximum(one.must, one.may) for one in some]
    needed = np.concatenate(right)
    weights = logistic(np.vstack([one.evidence for one in some]), needed)
    return Weights(weights, logistic(np.vstack([_among(one.evidence @ weights) for one in some]), needed))


def _among(odds: Float) -> Float:
    return np.stack([among(odds)[name] for name in CROWD], axis=1)


def learn_any(some: Sequence[Case], tier: str) -> None:
    """Say how well persons left out are told from the world, and with `--learn` write the weights."""
    data, right = np.stack([one.any[:-1] for one in some]), np.array([one.any[-1] > 0 for one in some])
    fold, weight = np.array([one.fold for one in some]), np.where(right, (~right).sum() / right.sum(), 1.0)
    likely = np.zeros(len(right))
    for number in range(needs.FOLDS):
        held = fold == number
        likely[held] = 1 / (1 + np.exp(-data[held] @ weighted(data[~held], right[~held], weight[~held])))
    for least in (0.3, 0.4, 0.5, 0.6, 0.7):
        through, silent = (likely[right] >= least).mean(), (likely[~right] < least).mean()
        print(f"any, {tier}, persons left out, from {least}: {through:.3f} of {right.sum()} questions pass, {silent:.3f} of "
              f"{(~right).sum()} about the world are silent")  # fmt: skip
    if "--learn" in sys.argv:
        _write(f"any-{tier}", ["any"], weighted(data, right, weight)[:, None])


def left_out(some: Sequence[Case]) -> list[Float]:
    """The probability of each fact of each case, by weights that never saw the person."""
    by_fold = [fitted([one for one in some if one.fold != fold]) for fold in range(needs.FOLDS)]
    return [1 / (1 + np.exp(-by_fold[one.fold].odds(one.evidence))) for one in some]


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
    """Measure leaving persons out; with `--learn`, write the weights of all tiers."""
    for tier, every in cases(persons()).items():
        if tier != WORDS:
            learn_any(every, tier)
        if tier == _FACTS_BY_DEEP:
            continue
        some = [one for one in every if one.several]
        report(some, left_out(some), tier)
        weights = np.concatenate(fitted(some))
        named = dict(zip((*NAMES, *CROWD), weights.tolist(), strict=True))
        print({name: round(value, 2) for name, value in named.items()})
        assert all(math.isfinite(value) for value in named.values())
        if "--learn" in sys.argv:
            _write(f"judge-{tier}", list(named), weights[None])


def _write(name: str, labels: Sequence[str], weights: Float) -> None:
    out = io.BytesIO()
    np.savez_compressed(out, labels=np.array(labels), words=np.array([], str), weights=weights.astype(np.float32))
    (LEARNED / f"{name}.npz").write_bytes(out.getvalue())


if __name__ == "__main__":
    main()
