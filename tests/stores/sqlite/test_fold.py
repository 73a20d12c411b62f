"""When a new base is written: by how much is new, counted seldom."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextd.stores.sqlite import folding, store
from contextd.stores.sqlite.store import open_index
from tests.stores.shelf import WORKSPACE, Shelf


def test_a_base_is_written_when_half_of_all_chunks_are_new_and_they_are_not_counted_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    real = folding.chunks_until_fold
    monkeypatch.setattr(folding, "_SOME", 3)
    monkeypatch.setattr(store, "chunks_until_fold", lambda *asked: counted.append(real(*asked)) or counted[-1])
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    folded, generation = [], 0
    for number in range(1, 40):
        shelf.put(f"file{number}.py", f"word{number}")
        if shelf.store.notes.summary()["generation"] != generation:
            generation = shelf.store.notes.summary()["generation"]
            folded.append(number)
    assert folded == [4, 9, 19, 39]
    assert counted == [3, 0, 4, 0, 9, 0, 19, 0], "once after each base, and once when there are enough"
