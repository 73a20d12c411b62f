"""The static tier: a vector for each word piece, averaged. A table look-up: at once, for everything, with numpy alone."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.models.wordpiece import Pieces, read_vocabulary

_BATCH = 128  # texts; the product of a batch is counts x pieces, and more texts only make it sparser
_TOKEN = re.compile(r"\w+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SHIFTS = 8  # a row is int8 times 2**0..2**8: with 256 pieces a sum stays below 2**24
_MOST_TOKENS = 1 << 17  # looked up once and kept
_SPECIAL = 5  # [PAD] [UNK] [CLS] [SEP] [MASK]

Float = NDArray[np.float32]


class Static:
    """Averages of piece vectors, over the words inside identifiers. Words that say little were weighed down in training."""

    def __init__(self, folder: Path, version: str = "1") -> None:
        self._table, self._shifts = _int8_table(folder)
        self._pieces = _Tokens(read_vocabulary(folder / "vocab.txt"))
        self.dimension = int(self._table.shape[1])
        self.space = f"static/{folder.name}/{self.dimension}/{version}"

    def documents(self, texts: Sequence[str]) -> Float:
        """One unit vector for each text; a text without known words has the zero vector."""
        blocks = [self._block(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.dimension), np.float32)

    def query(self, text: str) -> Float:
        """The vector of a question: the same as of a text."""
        vector: Float = self.documents([text])[0]
        return vector

    def _block(self, texts: Sequence[str]) -> Float:
        rows, ids = self._unique_pieces(texts)
        used, columns = np.unique(ids, return_inverse=True)
        counts = np.zeros((len(texts), len(used)), np.float32)
        counts[rows, columns] = 1.0
        # Whole numbers below 2**24 add up exactly in any order, so a vector does not depend on its neighbors in a batch.
        return unit(counts @ np.ldexp(self._table[used].astype(np.float32), self._shifts[used, None]))

    def _unique_pieces(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        pieces = self._pieces
        sizes: list[int] = []
        ids: list[int] = []
        for text in texts:
            found: set[int] = set()
            for token in set(_TOKEN.findall(text)):
                found.update(pieces[token])
            sizes.append(len(found))
            ids.extend(found)
        return np.repeat(np.arange(len(texts)), sizes), np.array(ids, np.int64)


class _Tokens(dict[str, tuple[int, ...]]):
    """Token → ids of the pieces of its words, looked up once for each token.

    Words of scripts the vocabulary knows only letter by letter count only if they are in it whole.
    """

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self._words = Pieces(vocabulary)

    def __missing__(self, token: str) -> tuple[int, ...]:
        if token.isascii() or not token.isalpha() or token[0] < "\u0370":
            ids = tuple(piece for word in _WORD.findall(token) for piece in self._words[word])
        else:
            whole = self._words.vocabulary.get(token.lower())
            ids = (whole,) if whole is not None else ()
        if len(self) < _MOST_TOKENS:
            self[token] = ids
        return ids


def unit(vectors: Float) -> Float:
    """Rows of length one; zero rows stay zero, rows that are not finite become zero."""
    clean = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0)
    norms = np.linalg.norm(clean, axis=1, keepdims=True)
    result: Float = (clean / np.where(norms > 1e-9, norms, 1)).astype(np.float32)
    return result


def _int8_table(folder: Path) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The table as int8 with a power of two for each row, mapped into memory; made from the published floats on first use."""
    table, shifts = folder / "table.int8.npy", folder / "shifts.npy"
    if not (table.is_file() and shifts.is_file()):
        _convert(folder, table, shifts)
    mapped: Any = np.load(table, mmap_mode="r")
    return mapped, np.load(shifts)


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
    """The one matrix of a static model's file; anything else is refused."""
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
        raise Unavailable(f"{path} is not a static model ({error}); fetch it again") from None
    return matrix.copy()
