"""Folding: write the base and the newer rows as a new base file, or build a snapshot without a base from the database.

The steps are: write a temporary file, sync, rename, then move the pointer in the database. A crash leaves the old base or the
new one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from contextd.stores.search import arrays
from contextd.stores.search.postings import Counts, Keys, Postings, postings_of, smallest, unpack
from contextd.stores.search.reading import PieceRow, Reading
from contextd.stores.search.segments import EMPTY, Ints, base_path, segment_of
from contextd.stores.search.snapshot import Snapshot, assembled, living_documents
from contextd.text.indexed_text import words_of
from contextd.values.document import Piece

_PARTS = 8  # postings are merged in this many parts, to limit memory; a power of two


class WrittenBase(NamedTuple):
    """A base file that nothing points to yet: under a name of its own until it is taken."""

    path: Path
    generation: int

    def take(self) -> None:
        """Give the file the name of its generation. Called inside the transaction that points to it."""
        self.path.replace(base_path(self.path.parent, self.generation))


def write(snapshot: Snapshot, folder: Path, spaces: set[str]) -> WrittenBase:
    """Write the next generation: the living contents by id, with their vectors in `spaces`."""
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
    path = base_path(folder, generation)
    path = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    arrays.write(path, found, {"kinds": names, "spaces": sorted(spaces & set(snapshot.vectors))})
    return WrittenBase(path, generation)


def remove_others(folder: Path, generation: int) -> None:
    """Delete all base files but the current one. A file that is still open elsewhere is deleted by a later fold."""
    for path in (*folder.glob("base-*.arrays"), *folder.glob(".base-*.arrays.*")):  # and those of a killed fold
        if path != base_path(folder, generation):
            try:
                path.unlink()
            except OSError:
                continue


def rebuilt(reading: Reading) -> Snapshot:
    """Return a snapshot without a base file. Missing terms are computed again from the stored texts."""
    fresh, kinds = [], {}
    stored = {content: unpack(data) for content, data in reading.words(-1)}
    for content, text in reading.all_texts():
        pieces = [piece for _, piece in reading.pieces([content])]
        kinds[content] = [piece.kind for piece in pieces]
        fresh.append((content, stored.get(content) or _words(pieces, reading.names(content), text)))
    segments = (segment_of(fresh, kinds),) if fresh else ()
    return assembled(reading, reading.head(), EMPTY, segments, living_documents(reading))


def _words(pieces: Sequence[PieceRow], names: Sequence[str], text: str) -> list[tuple[Keys, Counts]]:
    encoded = []
    for row, own in zip(pieces, names, strict=True):
        heading, defined = tuple(json.loads(row.heading)), tuple(json.loads(own))
        data = words_of(Piece(row.start, row.end, 0, 0, row.kind, row.label, heading, 0, defined), text)
        entries = len(data) // 9
        encoded.append((np.frombuffer(data, np.uint64, entries), np.frombuffer(data, np.uint8, entries, 8 * entries)))
    return encoded


def _renumbered(snapshot: Snapshot, order: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return the new row of each old one (-1: dropped), and the old row of each new one."""
    total = int(sizes.sum())
    first = np.repeat(snapshot.starts[order] - np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)[:-1])), sizes)
    old_row = first + np.arange(total)
    new_row = np.full(snapshot.total, -1, np.int64)
    new_row[old_row] = np.arange(total)
    return new_row, old_row


def _postings(snapshot: Snapshot, new_row: Ints, total: int) -> dict[str, arrays.Array]:
    """Merge the postings of all segments, in parts by key: all at once would take hundreds of megabytes."""
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
    return postings_of(np.concatenate(keys), np.concatenate(places), np.concatenate(counts))


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
