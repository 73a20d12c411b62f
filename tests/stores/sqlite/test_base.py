"""The base file of a workspace: derived, so that it can be lost; and the same answers wherever rows are."""

from __future__ import annotations

from pathlib import Path

from contextd.stores.sqlite.store import open_index
from contextd.values.query import Scope
from tests.stores.shelf import HELD, OWNER, WORKSPACE, Shelf


def test_a_missing_or_damaged_base_is_made_again_from_the_database(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    shelf.put("src/session.py", "def open_session(user):\n    return user\n", vector=[1, 0, 0, 0])
    expected = shelf.words("session"), shelf.words("open_session", field="name")
    (base,) = tmp_path.glob("base-*.arrays")
    for damage in (lambda: base.unlink(), lambda: base.write_bytes(b"garbage"), lambda: base.write_bytes(b"")):
        damage()
        again = Shelf(open_index(tmp_path, WORKSPACE), fold=False)
        assert (again.words("session"), again.words("open_session", field="name")) == expected
        with again.store.view(Scope((WORKSPACE,), OWNER)) as view:
            assert view.spaces == {}, "a vector that only the base had is made again, from its text"


def test_scores_do_not_depend_on_when_things_were_folded(tmp_path: Path) -> None:
    texts = {f"{n}.txt": f"fox number {n} " + "word " * (n % 7) for n in range(40)}
    results = []
    for folder, every in (("a", 1), ("b", 7), ("c", 1000)):
        store = open_index(tmp_path / folder, WORKSPACE)
        shelf = Shelf(store, fold=False)
        for number, (uri, text) in enumerate(texts.items(), 1):
            shelf.put(uri, text)
            if number % every == 0:
                store.fold(HELD)
        results.append(shelf.words("fox number word"))
        store.close()
    assert results[0] == results[1] == results[2]
