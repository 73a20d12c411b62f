"""The stores that the conformance suite is run on: a second engine joins the parameters here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.store import SqliteStore, open_index
from tests.stores.shelf import WORKSPACE, Shelf


def _durable(folder: Path) -> SqliteStore:
    return SqliteStore(Database(folder / "record.db", durable=True, schemas=("index", "record")), WORKSPACE)


# How a store is opened, and whether it is folded after every write.
STORES = {
    "SQLite, newer than the base": (lambda folder: open_index(folder, WORKSPACE), False),
    "SQLite, in the base": (lambda folder: open_index(folder, WORKSPACE), True),
    "SQLite, durable": (_durable, False),
}


@pytest.fixture(params=list(STORES))
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """An empty store."""
    opened, fold = STORES[request.param]
    store = opened(tmp_path)
    yield Shelf(store, fold=fold)
    store.close()


@pytest.fixture
def other_process(request: pytest.FixtureRequest, shelf: Shelf, tmp_path: Path) -> Iterator[Shelf]:
    """The same store, opened as another process would."""
    opened, _ = STORES[request.node.callspec.params["shelf"]]
    store = opened(tmp_path)
    yield Shelf(store, fold=False)
    store.close()
