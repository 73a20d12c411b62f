"""The code benchmark (development half of semble's): file NDCG@10, and recall of a relevant file inside token budgets.

`python -m benchmarks.code [--deep]` runs the product as it is, beside plain BM25 over whole files and, where it is installed,
semble with the same static weights (`pip install semble`). The weights of contextd were fitted on these questions, so the
figure that counts is the one out of fold (`python -m benchmarks.tune`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import linked_home, repositories
from benchmarks.scifact import ndcg
from contextd.app.evaluate import BUDGETS, Question, Score, score
from contextd.app.session import Session
from contextd.ports.world import FileState
from contextd.settings import config

Ranker = Callable[[str], list[str]]


def ours(session: Session, one: Question) -> Score:
    """One question to contextd: the search, and the contexts of 500, 1,000 and 2,000 tokens."""
    hits = session.search(one.query, k=100, min_score=0.0).hits
    return score(one, hits, lambda size: session.context(one.query, budget=size).hits, BUDGETS)


def plain(session: Session, k: int = 10) -> Ranker:
    """BM25 over whole files."""
    texts = {}
    for state in session.files():
        read = session.project.source.read(state.uri) if isinstance(state, FileState) and session.project else None
        if isinstance(read, tuple):
            texts[state.uri] = read[0].decode("utf-8", "replace")
    index = Bm25(texts)
    return lambda text: index.search(text, k)


def semble(root: Path) -> Ranker | None:
    """semble, with the static weights contextd uses; None where it is not installed."""
    if find_spec("semble") is None:
        return None
    from semble import SembleIndex

    model = config.home() / "models" / "potion-base-8M"
    index = SembleIndex.from_path(root, model_path=str(model))

    def search(text: str) -> list[str]:
        found = [Path(str(hit.chunk.file_path)) for hit in index.search(text, top_k=100)]
        relative = [path.relative_to(root) if path.is_absolute() else path for path in found]
        return list(dict.fromkeys(path.as_posix() for path in relative))

    return search


def main() -> None:
    deep = "--deep" in sys.argv
    results: dict[str, list[tuple[str, str, float]]] = {}
    within: dict[int, list[bool]] = {size: [] for size in BUDGETS}
    for repository in repositories():
        flags = None if deep else {"embedding.deep_model": "none"}
        session = contextd.open(repository.root, home=linked_home(), flags=flags)
        session.index(deep=deep)
        others = {"BM25": plain(session), "semble": semble(repository.root)}
        for one in repository.questions:
            got = ours(session, one)
            results.setdefault("contextd", []).append((repository.language, one.category, got.ndcg))
            for size, there in got.within.items():
                within[size].append(there)
            wanted = {target.path for target in (*one.relevant, *one.secondary)}
            for name, ranker in others.items():
                if ranker is not None:
                    results.setdefault(name, []).append((repository.language, one.category, ndcg(ranker(one.query), wanted)))
        session.close()
    for name, rows in results.items():
        print(f"{name}: {_mean([row[2] for row in rows]):.4f}", _groups(rows, 1), _groups(rows, 0))
    print("recall of a relevant file within tokens:", {size: round(_mean(there), 4) for size, there in within.items()})


def _mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


def _groups(rows: list[tuple[str, str, float]], column: int) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(str(row[column]), []).append(row[2])
    return {name: round(_mean(values), 3) for name, values in sorted(groups.items())}


if __name__ == "__main__":
    main()
