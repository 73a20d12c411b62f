"""Answers by lines: are the lines that answer a question in a context of so many tokens?

`python -m benchmarks.answers [--deep]` measures the product beside its own search hits in order, plain BM25 over the same
chunks and, where it is installed, semble. The weights of `querying/order.py` come from these questions, so each repository
is answered with weights fitted on the others; `--weights` prints a fit on all of them, which is what the code has.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import REPOS, SEMBLE_MODEL, linked_home
from benchmarks.lines import Asked, asked, shown_in
from contextd.app.line_answers import BUDGETS, Shown, share, shown
from contextd.app.questions import query_of, resources_of
from contextd.app.session import Session
from contextd.models.tokens import O200k
from contextd.querying import order, pipeline
from contextd.querying.boost import boost
from contextd.querying.fuse import KEPT, fuse
from contextd.querying.gather import gather
from contextd.querying.retrieve import retrieve
from contextd.querying.understand import understand
from contextd.querying.vectors import vectors_of
from contextd.settings import config
from contextd.values.trace import Trace

Float = NDArray[np.float64]
L2 = 0.02
_HEAD = 20  # tokens of a heading above a chunk of a peer, which has none of its own
_ROUNDS = 2000


@dataclass(slots=True)
class Case:
    """The chunks of one question that are read: their signals, and which of them hold required lines."""

    one: Asked
    signals: Float
    right: NDArray[np.bool_]


def case(session: Session, one: Asked, names: Sequence[str]) -> Case:
    """A question as the step `order` sees it."""
    query = query_of(session, one.query, None, None)
    means = resources_of(session, query)
    with ExitStack() as stack:
        plan = understand(query)
        views = [view for view in pipeline.views_of(query, plan, means, stack, Trace(None)) if view.size]
        view = next(view for view in views if "stem" in view.fields)
        vectors = vectors_of(views, plan, means.embedders, Trace(None))
        retrieved = retrieve(view, plan, {space: vector for space, vector in vectors.items() if view.spaces.get(space)}, {})
        fused = fuse(retrieved, plan.route, most=KEPT)
        about = view.about([candidate.chunk for candidate in fused])
        where = {candidate.chunk: one for candidate, one in zip(fused, about, strict=True)}
        gathered = gather(boost(fused, about, plan), where, retrieved, plan, view)
        known = order.known_of(gathered, plan)
        places = order.shortlist(known, order.asked_for(gathered, plan))
        chunks = view.get([gathered.chunks[place] for place in places])
        signals = order.signals(known, places, chunks, plan)
    needed = {(path, number) for need in one.alternatives for path, number, _ in need}
    right = [any((chunk.uri, n) in needed for n in range(chunk.start_line, chunk.end_line + 1)) for chunk in chunks]
    return Case(one, np.stack([signals[name] for name in names], 1), np.array(right))


def fit(cases: Sequence[Case]) -> Float:
    """Weights that make the right chunks likely among those that were read, by Adam on the log likelihood."""
    size = cases[0].signals.shape[1]
    scale = np.concatenate([one.signals for one in cases]).std(0) + 1e-9
    weights, mean, square = np.zeros((3, size))
    some = [(one.signals / scale, one.right / one.right.sum()) for one in cases if one.right.any()]
    for step in range(_ROUNDS):
        gradient = -2 * L2 * weights
        for signals, target in some:
            score = signals @ weights
            likely = np.exp(score - score.max())
            gradient = gradient + signals.T @ (target - likely / likely.sum()) / len(some)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights = weights + 0.03 * mean / (np.sqrt(square) + 1e-8) * (1 - step / _ROUNDS)
    return np.asarray(weights / scale)


@contextmanager
def weighed(deep: bool, names: Sequence[str], weights: Float) -> Iterator[None]:
    """The step `order` with other weights for a while."""
    table = order.DEEP if deep else order.STATIC
    before = dict(table)
    table.update(zip(names, weights.tolist(), strict=True))
    try:
        yield
    finally:
        table.update(before)


def in_order(chunks: Iterable[tuple[str, str]], budget: int) -> Shown:
    """Whole chunks of a peer, one after the other, while they fit."""
    count, taken = O200k().count, []
    for path, text in chunks:
        budget -= count(text) + _HEAD
        if budget < 0:
            break
        taken.append((path, text))
    return shown(taken)


def peers(session: Session, name: str) -> dict[str, Callable[[str], Iterable[tuple[str, str]]]]:
    """What the product is measured beside: each gives the chunks for a question, best first."""
    assert session.project is not None
    query = query_of(session, "", None, None)
    with session.project.store.view(query.scope) as view:
        chunks = {
            f"{document}:{chunk.id.ordinal}": chunk
            for document in view.uris()
            for chunk in view.chunks_of([document])[document]
        }
    index = Bm25({key: chunk.text for key, chunk in chunks.items()})

    def searched(text: str) -> list[tuple[str, str]]:
        return [(hit.chunk.uri, hit.chunk.text) for hit in session.search(text, k=40).hits]

    def plain(text: str) -> list[tuple[str, str]]:
        return [(chunks[key].uri, chunks[key].text) for key in index.search(text, 60)]

    found: dict[str, Callable[[str], Iterable[tuple[str, str]]]] = {"search hits": searched, "BM25 chunks": plain}
    if find_spec("semble") is not None:
        from semble import SembleIndex

        semble = SembleIndex.from_path(
            REPOS / name, model_path=SEMBLE_MODEL or str(config.home() / "models" / "potion-base-8M")
        )

        def other(text: str) -> list[tuple[str, str]]:
            hits = semble.search(text, top_k=60)
            return [(_relative(str(hit.chunk.file_path), name), hit.chunk.content) for hit in hits]

        found["semble"] = other
    return found


def _relative(path: str, name: str) -> str:
    return path.removeprefix(f"{(REPOS / name).resolve()}/").removeprefix(f"{REPOS / name}/")


def main() -> None:
    deep = "--deep" in sys.argv
    names = list(order.DEEP if deep else order.STATIC)
    questions = asked()
    sessions = {name: _session(name, deep) for name in dict.fromkeys(one.repository for one in questions)}
    cases = [case(sessions[one.repository], one, names) for one in questions]
    if "--weights" in sys.argv:
        print({name: round(float(weight), 2) for name, weight in zip(names, fit(cases), strict=True)})
    results: dict[str, dict[int, list[float]]] = {}
    for name, session in sessions.items():
        others = {} if "--alone" in sys.argv else peers(session, name)
        with weighed(deep, names, fit([one for one in cases if one.one.repository != name])):
            for one in (question for question in questions if question.repository == name):
                for template in ("markdown", "xml"):
                    for budget in BUDGETS:
                        text = session.context(one.query, budget=budget, template=template).text
                        _note(
                            results,
                            template,
                            budget,
                            share(one.alternatives, shown_in(unescape(text) if template == "xml" else text)),
                        )
                for peer, ask in others.items():
                    chunks = list(ask(one.query))
                    for budget in BUDGETS:
                        _note(results, peer, budget, share(one.alternatives, in_order(chunks, budget)))
    by_name = [one for name in sessions for one in questions if one.repository == name]
    report(results, by_name)


def _session(name: str, deep: bool) -> Session:
    session = contextd.open(REPOS / name, home=linked_home("answers"), flags=None if deep else {"embedding.deep_model": "none"})
    session.index(deep=deep)
    return session


def _note(results: dict[str, dict[int, list[float]]], name: str, budget: int, value: float) -> None:
    results.setdefault(name, {}).setdefault(budget, []).append(value)


def report(results: dict[str, dict[int, list[float]]], questions: Sequence[Asked]) -> None:
    """Shares of questions with all lines, mean shares of lines, the questions that need two places, and intervals."""
    for name, by_budget in results.items():
        whole = " / ".join(f"{np.mean([one == 1 for one in values]):.3f}" for values in by_budget.values())
        lines = " / ".join(f"{np.mean(values):.3f}" for values in by_budget.values())
        two = " / ".join(
            f"{np.mean([one == 1 for one, asked_ in zip(values, questions, strict=True) if asked_.kind == 'two']):.2f}"
            for values in by_budget.values()
        )
        print(f"{name:12} all lines {whole}  lines {lines}  two places {two}")
    for name in [name for name in results if name not in ("markdown", "xml")]:
        gaps = {budget: interval(results["markdown"][budget], results[name][budget]) for budget in BUDGETS}
        print(f"beside {name}: " + ", ".join(f"{budget}: {low:+.3f} to {high:+.3f}" for budget, (low, high) in gaps.items()))
    print("lines lost by a larger budget:", sum(_lost(results[name]) for name in ("markdown", "xml")))


def _lost(by_budget: dict[int, list[float]]) -> int:
    values = list(by_budget.values())
    return sum(
        after < before for small, large in itertools.pairwise(values) for before, after in zip(small, large, strict=True)
    )


def interval(ours: Sequence[float], theirs: Sequence[float], rounds: int = 4000) -> tuple[float, float]:
    """The 95 % interval of the difference in questions with all lines, by a bootstrap over questions."""
    chance, gaps = random.Random(1), [float(one == 1) - float(other == 1) for one, other in zip(ours, theirs, strict=True)]
    means = sorted(sum(chance.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(rounds))
    return means[rounds // 40], means[-rounds // 40]


if __name__ == "__main__":
    main()
