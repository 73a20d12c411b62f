"""When a new base is written: by how much is new, counted seldom."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextd.stores.sqlite import fold
from contextd.stores.sqlite.store import open_index
from tests.stores.test_conformance import WORKSPACE, Shelf


def test_a_base_is_written_when_half_of_all_chunks_are_new_and_they_are_not_counted_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    real = fold.missing
    monkeypatch.setattr(fold, "_SOME", 3)
    monkeypatch.setattr(fold, "missing", lambda *asked: counted.append(real(*asked)) or counted[-1])
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    folded = []
    for number in range(1, 40):
        shelf.put(f"file{number}.py", f"word{number}")
        if shelf.store.fold():
            folded.append(number)
    assert folded == [4, 9, 19, 39]
    assert counted == [3, 0, 4, 0, 9, 0, 19, 0], "once after each base, and once when there are enough"
