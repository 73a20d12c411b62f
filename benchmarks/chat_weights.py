"""How the weights of chats are chosen: one listwise regression for LoCoMo and REALTALK together.

`python -m benchmarks.chat_weights [--deep] [--ablation]` prints the recall of each set by weights that never saw the
conversation (five folds: a conversation of each set), and the weights of a fit on all, which are the ones in
`querying/fuse.py` (arms) and `querying/weigh.py` (texts). `--engine [--rerank]` asks the whole engine with the weights of each
fold instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.chats import MOST, opened
from benchmarks.listwise import Lists, fit, padded
from benchmarks.talks import locomo, realtalk
from contextd.app.session import Session
from contextd.ports.world import pair_space
from contextd.querying.fuse import CHAT_DEEP, CHAT_STATIC, normalized, turns
from contextd.querying.messages import said
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.weigh import DEEP, STATIC, signals
from contextd.values.answer import Candidate
from contextd.values.document import ChunkId
from contextd.values.query import Query, Reader, Scope

Float = NDArray[np.float64]
FOLDS = 5
PENALTY = 0.003
_READ = 200  # candidates of a question that are kept, by the sum of their signals
_JUDGED = ("mention", "during", "own")  # too rare in these questions to be learned from


@dataclass(slots=True)
class Case:
    """One question: signals of its candidates, which of them are evidence, and how much evidence there is."""

    benchmark: str
    fold: int
    category: str
    columns: dict[str, Float]
    right: NDArray[np.bool_]
    wanted: int
    signals: Float = field(default_factory=lambda: np.zeros((0, 0)))

    def score(self, weights: Float) -> float:
        """The share of the evidence among the first ten messages."""
        order = np.argsort(-(self.signals @ weights), kind="stable")
        return float(self.right[order[:MOST]].sum() / self.wanted)


def cases(deep: bool) -> list[Case]:
    """All questions of both sets as signals."""
    found = []
    for benchmark, talks in (("locomo", locomo()), ("realtalk", realtalk())):
        for fold, talk in enumerate(talks):
            session = opened(talk, deep)
            places = talk.places(session.home.tokens.count)
            for one in talk.questions:
                columns, chunks = _signals(session, one.text, deep)
                right = np.array([places[chunk] in one.evidence for chunk in chunks])
                found.append(Case(benchmark, fold % FOLDS, str(one.category), columns, right, len(one.evidence)))
            session.close()
    return found


def _signals(session: Session, question: str, deep: bool) -> tuple[dict[str, Float], list[tuple[str, int]]]:
    """The signals of each candidate by name, and the uri and ordinal of each."""
    assert session.setup.static is not None
    plan = understand(Query(question, Scope((session.home.personal,), Reader("owner"))))
    embedders = [session.setup.static, *([session.setup.deep()] if deep else [])]
    vectors = {embedder.space: embedder.query(plan.text) for embedder in embedders if embedder is not None}
    vectors |= {pair_space(space): vector for space, vector in vectors.items() if space.startswith("deep/")}
    with session.home.record.chats(session.home.personal).view(plan.scope) as view:
        retrieved = retrieve(view, plan, vectors)
        arms, documents = normalized(retrieved)
        columns = {name: values for name, values in turns(arms, documents).items() if name not in _JUDGED}
        order = np.argsort(-np.sum(list(columns.values()), axis=0), kind="stable")[:_READ]
        best = [retrieved.chunks[place] for place in order.tolist()]
        before = retrieved.arms["before chunk"][order].tolist() if "before chunk" in retrieved.arms else [0.0] * len(best)
        texts = said([Candidate(chunk, {}, 0.0) for chunk in best], view)
        uris = view.uris()
    read = {name: np.array(values) for name, values in signals(plan.text, texts, before).items()}
    return {name: values[order] for name, values in columns.items()} | read, [_place(uris, chunk) for chunk in best]


def _place(uris: Mapping[int, str], chunk: ChunkId) -> tuple[str, int]:
    return uris[chunk.document], chunk.ordinal


def out_of_fold(some: Sequence[Case], lists: Lists, mask: Float) -> Iterator[tuple[Case, Float]]:
    """Every case with weights that did not see its conversation."""
    folds = np.array([case.fold for case in some])
    for fold in range(FOLDS):
        weights = fit(lists.some(folds != fold), PENALTY, mask)
        yield from ((case, weights) for case in some if case.fold == fold)


def report(judged: Sequence[tuple[Case, Float]]) -> str:
    """The recall of each set, in percent."""
    groups: dict[str, list[float]] = {}
    for case, weights in judged:
        groups.setdefault(case.benchmark, []).append(case.score(weights))
    return ", ".join(f"{name} {100 * np.mean(scores):.1f}" for name, scores in groups.items())


def ask_engine(names: Sequence[str], fits: Sequence[Float], deep: bool, rerank: bool) -> Iterator[tuple[str, float]]:
    """The benchmark and the recall of every question, asked of the engine with weights that did not see its conversation."""
    arms, texts = (CHAT_DEEP, DEEP) if deep else (CHAT_STATIC, STATIC)
    for benchmark, talks in (("locomo", locomo()), ("realtalk", realtalk())):
        for fold, talk in enumerate(talks):
            for name, weight in zip(names, fits[fold % FOLDS].tolist(), strict=True):
                (texts if name in texts else arms)[name] = weight
            session = opened(talk, deep)
            places = talk.places(session.home.tokens.count)
            for one in talk.questions:
                hits = session.search(one.text, k=MOST, min_score=0, rerank=rerank).hits
                found = {places[hit.chunk.uri, hit.chunk.id.ordinal] for hit in hits}
                yield benchmark, len(one.evidence & found) / len(one.evidence)
            session.close()


def main() -> None:
    deep = "--deep" in sys.argv
    some = cases(deep)
    names = list(dict.fromkeys(name for case in some for name in case.columns))
    for case in some:  # a question without a name has no such arm
        case.signals = np.stack([case.columns.get(name, np.zeros(len(case.right))) for name in names], 1)
    lists, whole = padded([case.signals for case in some], [case.right for case in some]), np.ones(len(names))
    if "--engine" in sys.argv:
        folds = np.array([case.fold for case in some])
        fits = [fit(lists.some(folds != fold), PENALTY) for fold in range(FOLDS)]
        asked = list(ask_engine(names, fits, deep, "--rerank" in sys.argv))
        for benchmark in ("locomo", "realtalk"):
            print(f"{benchmark}, the engine: {100 * np.mean([value for name, value in asked if name == benchmark]):.1f}")
        return
    judged = list(out_of_fold(some, lists, whole))
    print(f"{len(some)} questions, R@10 out of fold:", report(judged))
    for benchmark, category in sorted({(case.benchmark, case.category) for case in some}):
        scores = [case.score(w) for case, w in judged if (case.benchmark, case.category) == (benchmark, category)]
        print(f"  {benchmark} {category}, {len(scores)}: {100 * np.mean(scores):.1f}")
    print({name: round(float(weight), 2) for name, weight in zip(names, fit(lists, PENALTY), strict=True)})
    for place, name in enumerate(names if "--ablation" in sys.argv else ()):
        mask = whole.copy()
        mask[place] = 0
        print(f"  without {name}:", report(list(out_of_fold(some, lists, mask))))


if __name__ == "__main__":
    main()
