"""The connections of a database: shared by threads, few while idle, never one of a file that was replaced."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextd.stores.sqlite.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "index.db", durable=False, schemas=("index",))


def descriptors(database: Database) -> int:
    """The files of a database that this process has open."""
    found = 0
    for number in (one.name for one in Path("/proc/self/fd").iterdir()):
        try:
            found += str(Path(f"/proc/self/fd/{number}").readlink()).startswith(str(database.path))
        except FileNotFoundError:
            continue
    return found


COUNTED = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors by /proc")


@COUNTED
def test_forty_threads_that_read_one_after_another_need_one_connection(database: Database) -> None:
    together, turns = threading.Barrier(40), threading.Lock()

    def read(_: int) -> int:
        together.wait(30)  # so many threads there are
        with turns, database.reading() as connection:
            return len(connection.execute("select 1").fetchall())

    with ThreadPoolExecutor(40) as threads:
        assert sum(threads.map(read, range(40))) == 40
        assert descriptors(database) <= 3, "the threads are still there"
    database.close()
    assert not descriptors(database)
    assert database.query("select 1") == [(1,)], "a database that was closed opens again"


@COUNTED
def test_descriptors_do_not_grow_with_bursts(database: Database) -> None:
    together = threading.Barrier(20)

    def read(_: int) -> None:
        with database.reading() as connection:
            together.wait(30)  # all of them are inside at the same time
            connection.execute("select 1").fetchall()

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(read, range(20)))
        once = descriptors(database)
        for _ in range(5):
            list(threads.map(read, range(20)))
        assert descriptors(database) <= once < 20 * 2, "SQLite keeps a closed file's descriptor for the next connection"


def test_a_thread_sees_one_moment_inside_a_transaction_and_another_thread_the_next(database: Database) -> None:
    query = "select count(*) from setting"
    with database.reading() as connection:
        before = connection.execute(query).fetchall()
        writer = threading.Thread(
            target=lambda: database.transact(lambda c: c.execute("insert into setting values (1, 'a', 'b')"))
        )
        writer.start()
        writer.join()
        assert database.query(query) == before
    assert database.query(query) != before


def test_a_connection_of_a_file_that_was_replaced_is_not_used_again(database: Database, tmp_path: Path) -> None:
    other = Database(tmp_path / "other" / "index.db", durable=False, schemas=("index",))
    other.transact(lambda connection: connection.execute("insert into setting values (1, 'from', 'other')"))
    assert other.checkpoint()
    other.close()
    for path in tmp_path.glob("index.db-*"):
        path.unlink()
    (tmp_path / "other" / "index.db").rename(database.path)
    assert database.query("select value from setting where name = 'from'") == [("other",)]
