"""The static tier: the mean of one vector per word piece. A table look-up in numpy, fast enough for all texts."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.models.wordpiece import Pieces, read_vocabulary
from contextd.text.terms import humps, words

_BATCH = 32  # texts at a time: their rows, as floats, fit into the processor cache
_SHIFTS = 8  # a row is int8 times 2**0..2**8: with 256 pieces a sum stays below 2**24
_MOST_TOKENS = 1 << 17  # size of the cache
_SPECIAL = 5  # [PAD] [UNK] [CLS] [SEP] [MASK]

Float = NDArray[np.float32]


class Static:
    """Averages the vectors of word pieces; identifiers are split into words. Training gave common words small vectors."""

    is_table = True  # a vector of a query is looked up about as fast as in a cache

    def __init__(self, folder: Path, version: str = "1") -> None:
        self._table, shifts = _int8_table(folder)
        self._factors = np.ldexp(np.float32(1), shifts)
        self._pieces = _Tokens(read_vocabulary(folder / "vocab.txt"))
        self.dimension = int(self._table.shape[1])
        self.space = f"static/{folder.name}/{self.dimension}/{version}"

    def documents(self, texts: Sequence[str]) -> Float:
        """One unit vector for each text; a text without known words has the zero vector."""
        blocks = [self._block(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.dimension), np.float32)

    def query(self, text: str) -> Float:
        """Return the vector of a query, computed as for a document."""
        vector: Float = self.documents([text])[0]
        return vector

    def _block(self, texts: Sequence[str]) -> Float:
        ends, ids = self._unique_pieces(texts)
        rows = self._table.take(ids, axis=0) * self._factors.take(ids)[:, None]
        sums = np.zeros((len(texts), self.dimension), np.float32)
        # Integers below 2**24 add up exactly in any order. A matrix product is several times as much work: it multiplies each
        # text with the pieces of all others, and its threads busy-wait for each other.
        for place, (start, end) in enumerate(pairwise([0, *ends])):
            np.add.reduce(rows[start:end], axis=0, out=sums[place])
        return unit(sums)

    def _unique_pieces(self, texts: Sequence[str]) -> tuple[list[int], NDArray[np.int64]]:
        """Return where each text ends, and the distinct piece ids of each text, one text after the other."""
        pieces = self._pieces.__getitem__
        ids: list[int] = []
        ends: list[int] = []
        for text in texts:
            ids.extend(set(chain.from_iterable(map(pieces, set(words(text))))))
            ends.append(len(ids))
        return ends, np.array(ids, np.int64)


class _Tokens(dict[str, tuple[int, ...]]):
    """Cache: token → ids of the pieces of its words.

    In scripts that the vocabulary knows only letter by letter, only words that are in it as a whole have an id.
    """

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self._words = Pieces(vocabulary)

    def __missing__(self, token: str) -> tuple[int, ...]:
        if token.isascii() or not token.isalpha() or token[0] < "\u0370":
            ids = tuple(chain.from_iterable(map(self._words.__getitem__, humps(token))))
        else:
            whole = self._words.vocabulary.get(token.lower())
            ids = (whole,) if whole is not None else ()
        if len(self) >= _MOST_TOKENS:  # common tokens are soon in it again
            self.clear()
        self[token] = ids
        return ids


def unit(vectors: Float) -> Float:
    """Normalize rows to length one; zero rows stay zero, rows that are not finite become zero."""
    clean = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0)
    norms = np.linalg.norm(clean, axis=1, keepdims=True)
    result: Float = (clean / np.where(norms > 1e-9, norms, 1)).astype(np.float32)
    return result


def _int8_table(folder: Path) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the table as memory-mapped int8, with an exponent per row; converted from the published floats on first use."""
    table, shifts = folder / "table.int8.npy", folder / "shifts.npy"
    if not (table.is_file() and shifts.is_file()):
        _convert(folder, table, shifts)
    mapped: Any = np.load(table, mmap_mode="r")
    return mapped.view(np.ndarray), np.load(shifts)  # a plain array: slices of a memmap are much slower


def _convert(folder: Path, table: Path, shifts: Path) -> None:
    source = folder / "model.safetensors"
    if not source.is_file():
        raise Unavailable(f"no static model in {folder}; run `contextd models fetch`")
    floats = read_safetensors(source)
    floats[:_SPECIAL] = 0
    largest = np.maximum(np.abs(floats).max(axis=1), 1e-9)
    smallest_step = largest.max() / 127 / 2**_SHIFTS
    powers = np.clip(np.ceil(np.log2(largest / 127 / smallest_step)), 0, _SHIFTS).astype(np.int8)
    values = np.rint(floats / np.ldexp(smallest_step, powers.astype(np.int32))[:, None]).astype(np.int8)
    for path, array in ((shifts, powers), (table, values)):
        temporary = path.with_suffix(f".{os.getpid()}.npy")
        np.save(temporary, array)
        temporary.replace(path)


def read_safetensors(path: Path) -> Float:
    """Read the matrix of a static model. Raises Unavailable for any other file."""
    data = path.read_bytes()
    try:
        (size,) = struct.unpack_from("<Q", data)
        head = json.loads(data[8 : 8 + size])
        info = head["embeddings"]
        start, end = info["data_offsets"]
        rows, columns = info["shape"]
        if info["dtype"] != "F32" or end - start != rows * columns * 4:
            raise ValueError("not a float32 matrix")
        matrix = np.frombuffer(data, np.float32, rows * columns, 8 + size + start).reshape(rows, columns)
    except (KeyError, ValueError, struct.error, TypeError) as error:
        raise Unavailable(f"{path} is not a static model ({error}); run `contextd models fetch`") from None
    return matrix.copy()
