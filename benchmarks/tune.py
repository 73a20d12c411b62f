"""How the weights of `fuse` and `boost` are chosen: a listwise softmax regression, judged on repositories it has not seen.

`python -m benchmarks.tune [--deep]` prints the out-of-fold NDCG@10 (three folds by repository), the same with each signal left
out, and the weights of a fit on all of the development half, which are the ones in the code.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.data import linked_home, repositories
from contextd.app.evaluate import Question
from contextd.app.session import Session
from contextd.querying.boost import rarity, signals
from contextd.querying.fuse import ROUTES, normalized, standing
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.values.query import Query, Reader, Scope

FOLDS = 3
L2 = 0.003
_DISCOUNT = 1 / np.log2(np.arange(2, 12))
_LEFT_OUT = ("stem arm", "document_coverage")  # of the arms: said better by the words of the file's name, and by `document`

Float = NDArray[np.float64]


@dataclass(slots=True)
class Case:
    """One question: a row of signals for each candidate document, and which of them are right."""

    repository: str
    language: str
    category: str
    route: str
    signals: Float
    right: NDArray[np.bool_]
    ideal: float


def cases(deep: bool) -> tuple[list[str], list[Case]]:
    """All questions of the development half as signals."""
    names: list[str] = []
    found = []
    for repository in repositories():
        session = contextd.open(repository.root, home=linked_home())
        session.index(deep=deep)
        for one in repository.questions:
            case, names = _case(session, one, deep)
            case.repository, case.language = repository.name, repository.language
            found.append(case)
        session.close()
    return names, found


def _case(session: Session, one: Question, deep: bool) -> tuple[Case, list[str]]:
    assert session.project is not None and session.setup.static is not None
    scope = Scope((session.project.workspace,), Reader("owner"))
    plan = understand(Query(one.query, scope))
    embedders = [session.setup.static, *([session.setup.deep()] if deep else [])]
    vectors = {embedder.space: embedder.query(plan.text) for embedder in embedders if embedder is not None}
    with session.project.store.view(plan.scope) as view:
        retrieved = retrieve(view, plan, vectors)
        about = view.about(retrieved.chunks)
    arms, documents = normalized(retrieved)
    columns = {f"{name} arm" if name == "stem" else name: values for name, values in standing(arms, documents).items()}
    first = {document: place for place, document in reversed(list(enumerate(documents.tolist())))}
    order = [about[first[document]] for document in range(len(first))]
    largest = math.log1p(max(where.pieces for where in order))
    words = rarity({where.uri for where in order}, (*plan.terms, *plan.families))
    rows = [signals(where, words, plan.wants_tests) | {"size": math.log1p(where.pieces) / largest} for where in order]
    columns |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
    columns = {name: values for name, values in columns.items() if name not in _LEFT_OUT}
    wanted = {target.path for target in (*one.relevant, *one.secondary)}
    right = np.array([where.uri in wanted for where in order])
    ideal = float(_DISCOUNT[: min(len(wanted), 10)].sum())
    return Case("", "", one.category, ROUTES[plan.route], np.stack(list(columns.values()), 1), right, ideal), list(columns)


def ndcg(case: Case, weights: Float) -> float:
    """NDCG@10 of the documents in the order of their scores."""
    top = np.argsort(-(case.signals @ weights), kind="stable")[:10]
    return float((case.right[top] * _DISCOUNT[: len(top)]).sum() / case.ideal)


def fit(some: Sequence[Case], mask: Float, rounds: int = 400) -> Float:
    """Weights that make the right documents likely among their competitors, by Adam on the log likelihood."""
    weights = np.zeros(len(mask))
    mean, square = np.zeros(len(mask)), np.zeros(len(mask))
    for step in range(rounds):
        gradient = np.zeros(len(mask))
        for case in some:
            if case.right.any():
                score = case.signals @ weights
                likely = np.exp(score - score.max())
                gradient += case.signals.T @ (case.right / case.right.sum() - likely / likely.sum())
        gradient = (gradient / len(some) - L2 * weights) * mask
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights += 0.05 * mean / (np.sqrt(square) + 1e-8) * (1 - step / rounds)
    return weights


def out_of_fold(some: Sequence[Case], mask: Float) -> list[float]:
    """NDCG@10 of each case by weights that never saw its repository."""
    repositories = sorted({case.repository for case in some})
    scores = [0.0] * len(some)
    for fold in range(FOLDS):
        held = set(repositories[fold::FOLDS])
        weights = fit([case for case in some if case.repository not in held], mask)
        for place, case in enumerate(some):
            if case.repository in held:
                scores[place] = ndcg(case, weights)
    return scores


def main() -> None:
    deep = "--deep" in sys.argv
    names, everything = cases(deep)
    whole = np.ones(len(names))
    total: list[tuple[Case, float]] = []
    for route in ("words", "symbol"):
        some = [case for case in everything if case.route == route]
        scores = out_of_fold(some, whole)
        total += list(zip(some, scores, strict=True))
        print(f"{route}: {len(some)} questions, NDCG@10 out of fold {np.mean(scores):.4f}")
        print({name: round(float(weight), 2) for name, weight in zip(names, fit(some, whole), strict=True)})
        if "--ablation" in sys.argv:
            for place, name in enumerate(names):
                mask = whole.copy()
                mask[place] = 0
                print(f"  without {name}: {np.mean(out_of_fold(some, mask)):.4f}")
    print(f"all: {np.mean([score for _, score in total]):.4f}")
    for key in ("category", "language"):
        groups: dict[str, list[float]] = {}
        for case, score in total:
            groups.setdefault(getattr(case, key), []).append(score)
        print(
            {
                name: round(float(np.mean(values)), 3)
                for name, values in sorted(groups.items(), key=lambda item: np.mean(item[1]))
            }
        )


if __name__ == "__main__":
    main()
