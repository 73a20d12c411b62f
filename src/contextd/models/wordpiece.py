"""BERT's uncased WordPiece in a few lines, with a cache from word to pieces.

The `tokenizers` package gives the same ids, but requires a hub client. Here a word is split once; later it is a dictionary
look-up.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_LONGEST = 100
_MOST_WORDS = 1 << 16  # size of the cache
_WIDE = re.compile(r"([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_PLACED = re.compile(
    rf"{_WIDE.pattern[1:-1]}|(?:(?!{_WIDE.pattern[1:-1]})[^\W_])+|[^\w\s]|_"
)  # the same words, in their places


class Pieces(dict[str, tuple[int, ...]]):
    """Cache: word → ids of its pieces; none for an unknown word."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(self._split(_plain(word)))
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[word] = ids
        return ids

    def _split(self, word: str) -> list[int]:
        if len(word) > _LONGEST:
            return []
        ids, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start and (found := self.vocabulary.get(("##" if start else "") + word[start:end])) is None:
                end -= 1
            if end == start:
                return []
            ids.append(found or 0)
            start = end
        return ids


def _plain(word: str) -> str:
    lowered = word.lower()
    if lowered.isascii():
        return lowered
    return "".join(letter for letter in unicodedata.normalize("NFD", lowered) if unicodedata.category(letter) != "Mn")


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read a vocabulary: one piece per line; the line number, from 0, is its id."""
    return {word: number for number, word in enumerate(path.read_text("utf-8").split("\n")) if word}


def words_of(text: str) -> list[str]:
    """Split a text into words as BERT does: letters and digits together, punctuation and Chinese letters alone."""
    return _WORD.findall(_WIDE.sub(r" \1 ", text) if not text.isascii() else text)


def places_of(text: str, starts: Sequence[int], pieces: Pieces) -> list[int]:
    """Return, for each of some characters, the place of the first piece of its word; 0 is the piece before the text."""
    first, ends = [1], list[int]()
    for word in _PLACED.finditer(text):
        ends.append(word.end())
        first.append(first[-1] + max(1, len(pieces[word.group()])))
    return [first[min(bisect_right(ends, start), len(ends) - 1)] for start in starts]
