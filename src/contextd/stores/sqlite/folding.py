"""When to fold: from how many new chunks on a new base file is worth its cost, and the row that points to the base file."""

from __future__ import annotations

import apsw

from contextd.stores.search.snapshot import Snapshot
from contextd.stores.sqlite.database import rows

_SOME = 4096  # rows outside the base that can be searched without being felt

_POINT = """update workspace set generation = ?, folded_seq = ? where workspace_id = ? and generation = ?"""
_HERE = "from vector where workspace_id = ? and seq <= ? and length(data) > 0"
_IN_BASE = "insert into vector (workspace_id, content_id, space, seq, data) values (?, ?, ?, ?, x'')"
_NEWER = """
select count(*) from chunk
where workspace_id = ?1 and content_id in (select content_id from words where workspace_id = ?1)"""
_ALL = "select count(*) from chunk where workspace_id = ?"


def missing(connection: apsw.Connection, workspace: int) -> int:
    """How many more chunks make a new base worth what it costs; 0 if there are enough.

    Half of all: then a first run writes each chunk to a base about twice, however many there are.
    """
    newer, total = (int(rows(connection, query, (workspace,))[0][0]) for query in (_NEWER, _ALL))
    return max(_SOME - newer, total - 2 * newer) + 1 if newer <= _SOME or newer * 2 <= total else 0


def point_to(connection: apsw.Connection, snapshot: Snapshot, generation: int) -> bool:
    """Make a generation the base, if the one it was made from still is; drop the word lists and vectors it now holds.

    An empty vector says that the base has it; without the base it has to be made again (`lost_vectors`).
    """
    head = snapshot.head
    connection.execute(_POINT, (generation, head.seq, snapshot.workspace, head.generation))
    if not connection.changes():
        return False
    connection.execute("delete from words where workspace_id = ? and seq <= ?", (snapshot.workspace, head.seq))
    # Not an update, after which a page stays as large as what was in it.
    values = (snapshot.workspace, head.seq)
    marked = rows(connection, f"select workspace_id, content_id, space, seq {_HERE}", values)
    connection.execute(f"delete {_HERE}", values)
    connection.executemany(_IN_BASE, marked)
    return True


def lost_vectors(connection: apsw.Connection, workspace: int) -> None:
    """The base is gone, and the vectors that only it had with it: forget that they were there, so that they are made again."""
    connection.execute("delete from vector where workspace_id = ? and length(data) = 0", (workspace,))
