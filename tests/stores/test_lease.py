"""The lease of a project: what becomes of a writer whose lock file is taken away, and of two folds at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.errors import LeaseLost
from contextd.ports.store import Batch
from contextd.stores.lease import lease
from contextd.stores.search import fold
from contextd.stores.sqlite.store import open_index
from contextd.values.query import Scope
from tests.stores.shelf import HELD, OWNER, WORKSPACE, Shelf


def test_a_writer_whose_lock_file_is_gone_is_told_so(tmp_path: Path) -> None:
    store = open_index(tmp_path, WORKSPACE)
    with lease(tmp_path, "first") as held:
        store.apply(Batch(), held)
        (tmp_path / "writer.lock").unlink()
        with lease(tmp_path, "second") as other:
            with pytest.raises(LeaseLost, match="start contextd again"):
                store.apply(Batch(), held)
            store.apply(Batch(), other)
    with pytest.raises(LeaseLost):
        held.check()
    store.close()


def test_a_fold_that_comes_too_late_leaves_the_newer_base_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes write a base of the same generation; the first one ends last."""
    slow, fast = Shelf(open_index(tmp_path, WORKSPACE), fold=False), Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    slow.put("a.txt", "the old heron")
    real: Callable[..., fold.WrittenBase] = fold.write

    def write_while_another_folds(*asked: object) -> fold.WrittenBase:
        monkeypatch.setattr(fold, "write", real)
        written = real(*asked)
        fast.put("b.txt", "the new zebra")
        return written

    monkeypatch.setattr(fold, "write", write_while_another_folds)
    slow.store.fold(HELD)
    again = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
    assert again.texts("zebra") == ["the new zebra"] and again.texts("heron") == ["the old heron"]
    with again.store.view(Scope((WORKSPACE,), OWNER)) as view:
        assert view.size == 2
    assert len(list(tmp_path.glob("*base-*"))) == 1
    for shelf in (slow, fast, again):
        shelf.store.close()


def test_a_scan_that_finds_nothing_new_does_not_write_the_base_again(make_project: Callable[..., Path], home: Path) -> None:
    session = open_session(make_project({f"f{n}.py": f"x{n} = {n}\n" for n in range(5)}), home=home, environment={})
    session.index()
    generation = session.summary()["generation"]
    session.index()
    assert session.summary()["generation"] == generation
    session.close()
