"""When to fold: from how many new chunks on a new base file is worth its cost, and the row that points to the base file."""

from __future__ import annotations

import apsw

from contextd.stores.search.fold import WrittenBase
from contextd.stores.search.snapshot import Snapshot
from contextd.stores.sqlite.database import rows

_SOME = 4096  # rows outside the base that do not slow down a search noticeably

_POINT = """update workspace set generation = ?, folded_seq = ? where workspace_id = ? and generation = ?"""
_HERE = "from vector where workspace_id = ? and seq <= ? and length(data) > 0"
_IN_BASE = "insert into vector (workspace_id, content_id, space, seq, data) values (?, ?, ?, ?, x'')"
_NEWER = """
select count(*) from chunk
where workspace_id = ?1 and content_id in (select content_id from words where workspace_id = ?1)"""
_ALL = "select count(*) from chunk where workspace_id = ?"


def chunks_until_fold(connection: apsw.Connection, workspace: int) -> int:
    """Return how many more chunks make a new base worth its cost; 0 if there are enough.

    The limit is half of all chunks: a first run of any size then writes each chunk to a base about twice.
    """
    newer, total = (int(rows(connection, query, (workspace,))[0][0]) for query in (_NEWER, _ALL))
    return max(_SOME - newer, total - 2 * newer) + 1 if newer <= _SOME or newer * 2 <= total else 0


def point_to(connection: apsw.Connection, snapshot: Snapshot, written: WrittenBase) -> bool:
    """Make a written file the base, and drop the terms and vectors it holds. False if the base changed since the snapshot.

    An empty vector marks one that only the base has; if the base is lost, it is computed again (`lost_vectors`).
    """
    head = snapshot.head
    connection.execute(_POINT, (written.generation, head.seq, snapshot.workspace, head.generation))
    if not connection.changes():
        return False
    written.take()  # here, where no other process can be pointing to a file of the same generation
    connection.execute("delete from words where workspace_id = ? and seq <= ?", (snapshot.workspace, head.seq))
    # Delete and insert: an update would not free the pages.
    values = (snapshot.workspace, head.seq)
    marked = rows(connection, f"select workspace_id, content_id, space, seq {_HERE}", values)
    connection.execute(f"delete {_HERE}", values)
    connection.executemany(_IN_BASE, marked)
    return True


def lost_vectors(connection: apsw.Connection, workspace: int) -> None:
    """Delete the marks of vectors that only a lost base had, so that they are computed again."""
    connection.execute("delete from vector where workspace_id = ? and length(data) = 0", (workspace,))
