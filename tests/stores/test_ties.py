"""Ties at a cut: which of equal candidates survive depends on what they are, not on when they were put or folded."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.stores.search.choose import best_of
from contextd.stores.sqlite.store import open_index
from contextd.text.terms import key
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted, Words
from tests.stores.asking import near, words
from tests.stores.shelf import HELD, SPACE, WORKSPACE, Shelf

SCOPE = Scope((WORKSPACE,), Reader("owner"))
WORDS = ("heron", "owl", "crane")


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.5000001, 1.0]), st.integers(0, 5)), min_size=1, max_size=60),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_Q4_the_best_of_equal_scores_do_not_depend_on_the_order_of_contents(
    rows: list[tuple[float, int]], k: int, chance: random.Random
) -> None:
    """Rows of one content follow each other, contents come in any order."""

    def chosen(order: list[int]) -> list[tuple[int, int]]:
        placed = [(score, content, place) for content in order for place, score in enumerate(by_content.get(content, []))]
        scores = np.array([score for score, _, _ in placed], np.float32)
        best = best_of(scores, k, np.array([content for _, content, _ in placed], np.int64))
        return [placed[row][1:] for row in best]

    by_content: dict[int, list[float]] = {}
    for score, content in rows:
        by_content.setdefault(content, []).append(score)
    shuffled = list(range(6))
    chance.shuffle(shuffled)
    assert chosen(shuffled) == chosen(list(range(6)))


def put_all(folder: Path, texts: list[tuple[str, str, list[float]]], fold_after: set[int]) -> Shelf:
    shelf = Shelf(open_index(folder, WORKSPACE), fold=False)
    for number, (uri, text, vector) in enumerate(texts):
        shelf.put(uri, text, vector=vector)
        if number in fold_after:
            shelf.store.fold(HELD)
    return shelf


def answers(shelf: Shelf, vector: list[float], k: int) -> dict[str, list[tuple[str, int]]]:
    with shelf.store.view(SCOPE) as view:
        uris = view.uris()
        arms = {field: words(view, {key(word): 1.0 for word in WORDS}, k, field=field) for field in ("chunk", "document")}
        arms["near"] = near(view, np.array(vector, np.float32), k, space=SPACE)
    return {arm: [(uris[hit.chunk.document], hit.chunk.ordinal) for hit in hits] for arm, hits in arms.items()}


@pytest.mark.parametrize("seed", range(3))
def test_Q4_what_survives_a_cut_among_ties_does_not_depend_on_order_or_folds(tmp_path: Path, seed: int) -> None:
    """Equal vectors too: a product of a matrix and a vector differs in its last bits from row to row."""
    chance = random.Random(seed)
    axes = np.random.default_rng(seed).normal(size=(4, 384))
    question = (axes[0] + 0.1 * axes[1]) / np.linalg.norm(axes[0] + 0.1 * axes[1])
    texts = []
    for number in range(120):
        words = chance.sample([*WORDS, "x", "y"], 5)
        texts.append((f"f{number}.txt", f"{' '.join(words)} n{number}", axes[number // 90].tolist()))
    one = put_all(tmp_path / "one", texts, {119})
    chance.shuffle(texts)
    other = put_all(tmp_path / "other", texts, {chance.randrange(110)})
    for k in (7, 20, 50):
        assert answers(one, question.tolist(), k) == answers(other, question.tolist(), k)
    one.store.close()
    other.store.close()


def test_Q4_equal_vectors_have_equal_scores_wherever_they_are(tmp_path: Path) -> None:
    """In the candidates, and in what an arm says of candidates of others."""
    vector = np.random.default_rng(5).normal(size=384)
    texts = [(f"f{number}.txt", f"heron n{number}", vector.tolist()) for number in range(70)]
    shelf = put_all(tmp_path, texts, {40})
    question = (vector / np.linalg.norm(vector)).astype(np.float32)
    with shelf.store.view(SCOPE) as view:
        asked = view.retrieve(Wanted(5, {"chunk": Words("chunk", {key("heron"): 1.0}, 100)}, {SPACE: question}))
        found, every = asked.found[SPACE], asked.found["chunk"]
        assert len(every) == 70 and len({hit.score for hit in found}) == 1
        filled = asked.scores([hit.chunk for hit in every])[SPACE]
        assert len(set(filled.tolist())) == 1
    shelf.store.close()
