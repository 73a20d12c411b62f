"""A snapshot that was moved forward answers as one that is read from disk, whatever happened in between."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from contextd.stores.search import documents, segments, snapshot
from contextd.stores.sqlite.store import SqliteStore, open_index
from contextd.text.terms import FOLDER, STEM, key
from contextd.values.query import Reader, Scope
from contextd.values.retrieval import Wanted, Words
from tests.stores.shelf import HELD, SPACE, WORKSPACE, Shelf

OWNER = Reader("owner")
WORDS = ("heron", "owl", "crane", "lark", "stork")
FOLDERS = ("", "src/", "src/app/", "docs/")


def everything(store: SqliteStore, scope: Scope) -> dict[str, object]:
    """All that a view tells."""
    with store.view(scope) as view:
        terms = {key(word): 1.0 for word in WORDS}
        names = {key(word, salt): 1.0 for word in WORDS for salt in (STEM, FOLDER)}
        wanted = Wanted(
            40,
            {field: Words(field, names if field == "stem" else terms, 40) for field in ("chunk", "document", "stem")},
            {SPACE: np.array([1, 0.5, 0.2, 0], np.float32)},
            [(0, 2_000_000)],
            [("owl.py", 1), ("src/heron.py", 1), ("/elsewhere/docs/crane.py", 1)],
        )
        asked = view.retrieve(wanted)
        arms = asked.found
        chunks = sorted({one.chunk for found in arms.values() for one in found})
        filled = {name: np.round(values, 5).tolist() for name, values in asked.scores(chunks).items()}
        return {
            "arms": {name: [(one.chunk, round(one.score, 5)) for one in found] for name, found in arms.items()},
            "vectors": np.round(view.vectors(chunks, SPACE), 5).tolist(),
            "filled": filled,
            "texts": [(chunk.uri, chunk.text, chunk.language) for chunk in view.get(chunks)],
            "about": view.about(chunks),
            "uris": list(view.uris().items()),
            "size": view.size,
            "spaces": dict(view.spaces),
            "knows": [view.knows(path) for path in ("src", "src/app", "docs/owl.py", "*.py", "none")],
        }


def again(store: SqliteStore, chance: random.Random) -> None:
    """Write the vectors of some contents once more, with other values."""
    query = "select content_id, count(*) from chunk where workspace_id = ? group by 1 order by 1"
    contents = dict(store.rows(query))
    some = chance.sample(sorted(contents), min(3, len(contents)))
    store.add_vectors(SPACE, {one: np.array([[chance.random() for _ in range(4)]] * contents[one], np.float32) for one in some})


@pytest.mark.parametrize("seed", range(16))
def test_a_snapshot_that_was_moved_forward_answers_as_one_that_was_loaded(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_SOME", seed % 4 * 3)  # puts everything in order now and then
    for module in (segments, snapshot):
        monkeypatch.setattr(module, "MERGED", 3 + seed)
    chance = random.Random(seed)
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    scopes = [
        Scope((WORKSPACE,), OWNER),
        Scope((WORKSPACE,), Reader("ana")),
        Scope((WORKSPACE,), OWNER, paths=("src",)),
        Scope((WORKSPACE,), OWNER, paths=("docs/owl.py", "src/app/", "*rane.py")),
    ]
    for _ in range(40):
        uri = f"{chance.choice(FOLDERS)}{chance.choice(WORDS)}.py"
        turn = chance.random()
        if turn < 0.75:
            readers = frozenset({"owner", "ana"} if chance.random() < 0.5 else {"owner"})
            text = f"{chance.choice(WORDS)} = {chance.randrange(6)}\n" * chance.randrange(1, 3)
            shelf.put(uri, text, readers, [chance.random() for _ in range(4)] if chance.random() < 0.7 else None)
        elif turn < 0.85:
            shelf.remove(uri)
        elif turn < 0.92:
            again(shelf.store, chance)
        elif turn < 0.96:
            shelf.settle()
        else:
            shelf.store.fold(HELD)
        scope = chance.choice(scopes)
        loaded = open_index(tmp_path, WORKSPACE)
        assert everything(shelf.store, scope) == everything(loaded, scope)
        loaded.close()
    shelf.store.close()


def test_many_small_writes_leave_few_segments(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    for number in range(200):
        shelf.put(f"a{number}.py", f"heron{number} = {number}\n", vector=[1, number, 0, 0])
        with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
            assert view.size == number + 1
            kept = view._snapshot
    assert len(kept.segments) <= 10 and len(kept.vectors[SPACE]) <= 10
    shelf.store.close()


def test_what_is_gone_does_not_pile_up_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_SOME_DEAD", 10)
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    for number in range(100):
        shelf.put("a.py", f"heron{number} = {number}\n", vector=[1, number, 0, 0])
        with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
            total = view._snapshot.total
        if number % 10 == 9:
            shelf.settle()
    assert total <= 30
    shelf.store.close()


def test_documents_of_two_sources_with_one_uri_stand_in_one_order(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    shelf.put("z.py", "owl = 1\n")
    with shelf.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert view.size
    for source in (7, 8):
        shelf.put("same.py", "heron = 1\n", source=source)
    scope = Scope((WORKSPACE,), OWNER)
    loaded = open_index(tmp_path, WORKSPACE)
    assert everything(shelf.store, scope) == everything(loaded, scope)
    loaded.close()
    shelf.store.close()
