"""A reader of an index file that was put aside: it sees the old file to its end, and nothing of it is taken for the new one's."""

from __future__ import annotations

import threading
from pathlib import Path

from contextd.stores.sqlite.repair import quarantine
from contextd.stores.sqlite.store import open_index
from contextd.text.terms import key
from contextd.values.query import Reader, Scope
from tests.stores.asking import words
from tests.stores.shelf import WORKSPACE, Shelf

SCOPE = Scope((WORKSPACE,), Reader("owner"))


def texts(shelf: Shelf, word: str) -> list[str]:
    with shelf.store.view(SCOPE) as view:
        found = words(view, {key(word): 1.0}, 10, field="chunk")
        return [chunk.text for chunk in view.get([hit.chunk for hit in found])]


def replaced(tmp_path: Path, old: Shelf, text: str) -> None:
    """Another process puts the index aside and makes it again, with as many changes and folds as the old one had."""
    quarantine(tmp_path)
    other = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    other.put("a.txt", text)
    assert other.store.position() == old.store.position()
    other.store.close()


def test_a_reader_on_a_replaced_file_does_not_store_its_snapshot_as_the_new_ones(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    shelf.put("a.txt", "the old heron")
    begun, swapped, found = threading.Event(), threading.Event(), []

    def read() -> None:
        with shelf.store.database.reading():  # a question that began before the swap and searches after it
            begun.set()
            swapped.wait(30)
            found.extend(texts(shelf, "heron"))
        shelf.store.close()

    shelf.store.current.forget()
    reader = threading.Thread(target=read)
    reader.start()
    begun.wait(30)
    replaced(tmp_path, shelf, "the new zebra")
    assert texts(shelf, "zebra") == ["the new zebra"], "this thread opened the new file"
    shelf.store.current.forget()  # so that the reader has to load one
    swapped.set()
    reader.join()
    assert found == ["the old heron"], "one transaction sees one file"
    assert texts(shelf, "heron") == [] and texts(shelf, "zebra") == ["the new zebra"]
    shelf.store.close()


def test_a_new_file_with_the_same_position_is_not_read_through_the_old_snapshot(tmp_path: Path) -> None:
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    shelf.put("a.txt", "the old heron")
    assert texts(shelf, "heron") == ["the old heron"]
    replaced(tmp_path, shelf, "the new zebra")
    assert texts(shelf, "heron") == [] and texts(shelf, "zebra") == ["the new zebra"]
    shelf.store.close()


def test_readers_and_swaps_at_once_never_mix_two_files(tmp_path: Path) -> None:
    """Each file has one text of its own; an answer is of one file, with that file's text."""
    shelf = Shelf(open_index(tmp_path, WORKSPACE), fold=True)
    shelf.put("a.txt", "heron number zero")
    shelf.store.database.checkpoint()
    over, wrong = threading.Event(), []

    def ask() -> None:
        while not over.is_set():
            try:
                if len(texts(shelf, "heron")) > 1:  # none, while the files are swapped
                    wrong.append("two files at once")
            except Exception as error:
                wrong.append(repr(error))
        shelf.store.close()

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    other = tmp_path / "other"
    for number in range(12):
        made = Shelf(open_index(other, WORKSPACE), fold=False)
        made.put("a.txt", f"heron number {number}")
        made.store.database.checkpoint()
        made.store.close()
        for leftover in other.glob("index.db-*"):
            leftover.unlink()
        (other / "index.db").rename(tmp_path / "index.db.next")
        for log in ("index.db-wal", "index.db-shm"):  # first, as `quarantine` does
            if (tmp_path / log).exists():
                (tmp_path / log).rename(tmp_path / f"{log}.{number}")
        (tmp_path / "index.db.next").rename(tmp_path / "index.db")
    over.set()
    for reader in readers:
        reader.join()
    assert not wrong, wrong[:3]
    assert texts(shelf, "heron") == ["heron number 11"]
