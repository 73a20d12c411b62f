"""The search of a store compared with the plainest one there is: every visible chunk scored by the formula, in Python."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from contextd.text.terms import key
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted, Words
from tests.stores.shelf import OWNER, SPACE, WORKSPACE, Shelf

VOCABULARY = ("heron", "owl", "crane", "lark", "stork", "wren")
FOLDERS = ("src/", "docs/", "src/app/")
K1, B = 1.2, 0.75


@dataclass
class Kept:
    """A document of the oracle."""

    text: str
    readers: frozenset[str]
    vector: list[float] | None


def bm25(documents: dict[str, Kept], query: list[str]) -> dict[str, float]:
    """Scores of one-chunk documents by the textbook's formula, with an inverse document frequency that is never negative."""
    counts = {uri: Counter(kept.text.split()) for uri, kept in documents.items()}
    lengths = {uri: sum(count.values()) for uri, count in counts.items()}
    average = sum(lengths.values()) / max(1, len(lengths))
    scores: dict[str, float] = {}
    for word in query:
        holding = [uri for uri, count in counts.items() if count[word]]
        rarity = math.log1p((len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for uri in holding:
            often = counts[uri][word]
            norm = K1 * (1 - B + B * lengths[uri] / average)
            scores[uri] = scores.get(uri, 0.0) + rarity * often * (K1 + 1) / (often + norm)
    return scores


def cosines(documents: dict[str, Kept], question: list[float]) -> dict[str, float]:
    """Cosines of unit vectors."""
    return {uri: float(np.dot(kept.vector, question)) for uri, kept in documents.items() if kept.vector}


def unit(chance: random.Random) -> list[float]:
    """A random vector of length 1."""
    numbers = [chance.uniform(-1, 1) for _ in range(4)]
    return [number / math.hypot(*numbers) for number in numbers]


@pytest.mark.parametrize("seed", range(6))
def test_a_search_finds_what_the_plainest_search_finds(shelf: Shelf, seed: int) -> None:
    """Random writes, removals and folds; then random questions of two readers, in the whole project and in a folder."""
    chance = random.Random(seed)
    kept: dict[str, Kept] = {}
    for number in range(60):
        uri = f"{chance.choice(FOLDERS)}{chance.choice(VOCABULARY)}{chance.randrange(8)}.txt"
        if chance.random() < 0.15:
            shelf.remove(uri)
            kept.pop(uri, None)
        else:
            text = (
                " ".join(chance.choices(VOCABULARY, k=chance.randrange(1, 9)))
                + " x"
                + "bcdfghjklm"[number % 10] * (1 + number // 10)
            )  # each once
            readers = frozenset({"owner", "ana"} if chance.random() < 0.6 else {"owner"})
            vector = unit(chance) if chance.random() < 0.8 else None
            shelf.put(uri, text, readers, vector)
            kept[uri] = Kept(text, readers, vector)
        if chance.random() < 0.05:
            shelf.settle()
    for reader, folder in ((OWNER, ""), (OWNER, "src"), (Reader("ana"), ""), (Reader("ana"), "docs"), (Reader("eve"), "")):
        seen = {uri: one for uri, one in kept.items() if reader.name in one.readers}
        inside = {uri for uri in seen if uri.startswith(f"{folder}/" if folder else "")}
        query, question = chance.sample(VOCABULARY, 3), unit(chance)
        with shelf.store.view(Scope((WORKSPACE,), reader, paths=(folder,) if folder else ())) as view:
            words = Words("chunk", {key(word): 1.0 for word in query}, 100)
            found = view.retrieve(Wanted(100, {"chunk": words}, {SPACE: np.array(question, np.float32)})).found
            uris = view.uris()
        assert set(uris.values()) == inside
        by_words = {uris[one.chunk.document]: one.score for one in found["chunk"]}
        expected = {uri: score for uri, score in bm25(seen, query).items() if uri in inside}
        assert by_words == pytest.approx(expected, rel=1e-5)
        by_vector = {uris[one.chunk.document]: one.score for one in found[SPACE]}
        near = {uri: score for uri, score in cosines(seen, question).items() if uri in inside}
        assert by_vector == pytest.approx(near, abs=0.02)  # vectors are stored with eight bits a number
        for arm in ("chunk", SPACE):
            scores = [one.score for one in found[arm]]
            assert scores == sorted(scores, reverse=True)
