"""Folding: what is newer than the base and the base become a new base; or, when there is none, the database becomes one.

A temporary file, a sync, a rename, then the pointer in the database: a crash at any moment leaves the old base or the new one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from contextd.stores.sqlite import arrays
from contextd.stores.sqlite.database import rows, unpacked
from contextd.stores.sqlite.postings import Counts, Keys, Postings, smallest, turn, unpack
from contextd.stores.sqlite.segments import EMPTY, Ints, base_path, segment_of
from contextd.stores.sqlite.snapshot import Snapshot, assembled, head_of, living_documents
from contextd.text.indexed_text import words_of
from contextd.values.document import Piece

_SOME = 4096  # rows outside the base that can be searched without being felt
_PARTS = 8  # in which word lists are merged, to hold a part of the entries at a time; a power of two

_POINT = """update workspace set generation = ?, folded_seq = ? where workspace_id = ? and generation = ?"""
_HERE = "from vector where workspace_id = ? and seq <= ? and length(data) > 0"
_IN_BASE = "insert into vector (workspace_id, content_id, space, seq, data) values (?, ?, ?, ?, x'')"
_NEWER = """
select count(*) from chunk
where workspace_id = ?1 and content_id in (select content_id from words where workspace_id = ?1)"""
_ALL = "select count(*) from chunk where workspace_id = ?"
_WORDS = "select content_id, data from words where workspace_id = ?"
_TEXTS = "select content_id, text from content where workspace_id = ? order by content_id"
_PIECES = """
select kind, label, heading, names, start_at, end_at from chunk
where workspace_id = ? and content_id = ? order by ordinal"""


def missing(connection: apsw.Connection, workspace: int) -> int:
    """How many more chunks make a new base worth what it costs; 0 if there are enough.

    Half of all: then a first run writes each chunk to a base about twice, however many there are.
    """
    newer, total = (int(rows(connection, query, (workspace,))[0][0]) for query in (_NEWER, _ALL))
    return max(_SOME - newer, total - 2 * newer) + 1 if newer <= _SOME or newer * 2 <= total else 0


def write(snapshot: Snapshot, folder: Path, spaces: set[str]) -> int:
    """Write the next generation: the living contents in order of their ids, with their vectors in some spaces."""
    places = snapshot.content_of_document[snapshot.documents.alive]
    living = np.unique(places[places >= 0])
    order = living[np.argsort(snapshot.contents[living], kind="stable")]
    sizes = np.diff(snapshot.starts)[order]
    new_row, old_row = _renumbered(snapshot, order, sizes)
    names = sorted(set(snapshot.kinds[old_row].tolist()))
    found = {
        "contents": snapshot.contents[order],
        "starts": np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        "kinds": np.searchsorted(np.array(names, dtype=object), snapshot.kinds[old_row]).astype(np.uint8),
        "lengths": snapshot.lengths[old_row],
    }
    found |= _postings(snapshot, new_row, len(old_row))
    for space in sorted(spaces & set(snapshot.vectors)):
        found |= _matrix(snapshot, space, new_row, len(old_row))
    generation = snapshot.head.generation + 1
    arrays.write(base_path(folder, generation), found, {"kinds": names, "spaces": sorted(spaces & set(snapshot.vectors))})
    return generation


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


def remove_others(folder: Path, generation: int) -> None:
    """Delete base files nobody points to; one that is still open elsewhere goes at the next fold."""
    for path in (*folder.glob("base-*.arrays"), *folder.glob(".base-*.arrays.*")):  # and what a killed fold left
        if path != base_path(folder, generation):
            try:
                path.unlink()
            except OSError:
                continue


def rebuilt(connection: apsw.Connection, workspace: int) -> Snapshot:
    """A snapshot without a base file: word lists are made again from the stored texts."""
    head = head_of(connection, workspace)
    fresh, kinds = [], {}
    stored = {content: unpack(data) for content, data in rows(connection, _WORDS, (workspace,))}
    for content, packed in connection.execute(_TEXTS, (workspace,)):
        text = unpacked(packed)
        pieces = rows(connection, _PIECES, (workspace, content))
        kinds[content] = [piece[0] for piece in pieces]
        fresh.append((content, stored.get(content) or _words(pieces, text)))
    segments = (segment_of(fresh, kinds),) if fresh else ()
    return assembled(workspace, head, EMPTY, segments, living_documents(connection, workspace), connection)


def _words(pieces: list[Any], text: str) -> list[tuple[Keys, Counts]]:
    encoded = []
    for kind, label, heading, names, start, end in pieces:
        piece = Piece(start, end, 0, 0, kind, label, tuple(json.loads(heading)), 0, tuple(json.loads(names)))
        data = words_of(piece, text)
        entries = len(data) // 9
        encoded.append((np.frombuffer(data, np.uint64, entries), np.frombuffer(data, np.uint8, entries, 8 * entries)))
    return encoded


def _renumbered(snapshot: Snapshot, order: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """From old row to new (-1: gone), and from new to old."""
    total = int(sizes.sum())
    first = np.repeat(snapshot.starts[order] - np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)[:-1])), sizes)
    old_row = first + np.arange(total)
    new_row = np.full(snapshot.total, -1, np.int64)
    new_row[old_row] = np.arange(total)
    return new_row, old_row


def _postings(snapshot: Snapshot, new_row: Ints, total: int) -> dict[str, arrays.Array]:
    """Word lists of all segments merged, by parts of the keys: all at once would be hundreds of megabytes."""
    parts = [_merged(snapshot, new_row, part) for part in range(_PARTS)]
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return {
        "keys": np.concatenate([part.keys for part in parts]),
        "key_starts": np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        "rows": np.concatenate([smallest(part.rows, total) for part in parts]),
        "counts": np.concatenate([part.counts for part in parts]),
    }


def _merged(snapshot: Snapshot, new_row: Ints, part: int) -> Postings:
    keys, places, counts = [], [], []
    for first, postings in snapshot.postings():
        some_keys, some_rows, some_counts = postings.part(part, _PARTS).expanded()
        moved = new_row[some_rows.astype(np.int64) + first]
        keep = moved >= 0
        keys.append(some_keys[keep])
        places.append(moved[keep].astype(np.uint32))
        counts.append(some_counts[keep])
    return turn(np.concatenate(keys), np.concatenate(places), np.concatenate(counts))


def _matrix(snapshot: Snapshot, space: str, new_row: Ints, total: int) -> dict[str, arrays.Array]:
    parts = snapshot.vectors[space]
    matrix = np.zeros((total, parts[0].matrix.shape[1]), np.int8)
    scales = np.zeros(total, np.float32)
    for part in parts:
        moved = new_row[part.rows]
        keep = moved >= 0
        matrix[moved[keep]] = part.matrix[keep]
        scales[moved[keep]] = part.scales[keep]
    return {f"matrix:{space}": matrix, f"scales:{space}": scales}
