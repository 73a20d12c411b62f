"""Counting tokens: exact for o200k from ranks shipped with the package, and an estimate that errs upwards."""

from __future__ import annotations

import re
import threading
import zlib
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_VOCABULARY = 199_998
# The pre-tokenizer of o200k, as published with its ranks. What needs no look ahead is one group: the library runs it as one
# automaton and takes a third less time than for five.
_PATTERN = "|".join(
    (
        "(?:"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+)",
        r"\s+(?!\S)",
        r"\s+",
    )
)


# The same for ASCII, as Python writes it. Its own `\s` would take four control characters more.
_SPACE = r"\t\n\v\f\r "
_ASCII = re.compile(
    "|".join(
        (
            r"[^\r\nA-Za-z0-9]?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?",
            r"[0-9]{1,3}",
            rf" ?[^{_SPACE}A-Za-z0-9]+[\r\n/]*",
            rf"[{_SPACE}]*[\r\n]+",
            rf"[{_SPACE}]+(?![^{_SPACE}])",
            rf"[{_SPACE}]+",
        )
    )
)
_FEW = 150_000  # characters that are counted here before the library, which is faster, has been worth its start
_LONG = re.compile(r"[A-Za-z]{64}|[^A-Za-z0-9]{96}")  # merging such a word takes the square of its length


def _ranks() -> dict[bytes, int]:
    packed = files("contextd.models").joinpath("data/o200k_base.ranks.z").read_bytes()
    raw = zlib.decompress(packed)
    borders = accumulate(raw[:_VOCABULARY], initial=_VOCABULARY)
    return {raw[start:end]: rank for rank, (start, end) in enumerate(pairwise(borders))}


class _Vocabulary:
    """Counts in a few lines of Python at first, and by the library when there is more: to start it takes 0.25 CPU-seconds."""

    def __init__(self) -> None:
        self._ranks: dict[bytes, int] = {}
        self._library: Encoding | None = None
        self._left = _FEW
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        with self._lock:
            if self._library is None and self._is_light(text):
                return sum(_merged(word.encode(), self._ranks) for word in _ASCII.findall(text))
            library = self._library = self._library or self._loaded()
        return len(library.encode_ordinary(text))

    def _is_light(self, text: str) -> bool:
        self._ranks = self._ranks or _ranks()
        self._left -= len(text)
        return self._left >= 0 and text.isascii() and not _LONG.search(text)

    def _loaded(self) -> Encoding:
        from tiktoken import Encoding

        encoding = Encoding(O200k.name, pat_str=_PATTERN, mergeable_ranks=self._ranks, special_tokens={})
        self._ranks.clear()  # the library has its own copy by now, and keeps this one for nothing we use: 25 MB in every worker
        return encoding


def _merged(word: bytes, ranks: dict[bytes, int]) -> int:
    """How many tokens byte-pair encoding makes of a word: the neighbors of lowest rank are joined until none can be."""
    if word in ranks:
        return 1
    parts = [word[place : place + 1] for place in range(len(word))]
    while len(parts) > 1:
        pairs = [ranks.get(one + two, _VOCABULARY) for one, two in pairwise(parts)]
        lowest = min(pairs)
        if lowest == _VOCABULARY:
            break
        place = pairs.index(lowest)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return len(parts)


_vocabulary = _Vocabulary()


class O200k:
    """Exact counts of OpenAI's o200k_base, by a vocabulary that a process loads once, on first use."""

    name = "o200k_base"

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as the text they are."""
        return _vocabulary.count(text)


class Estimate:
    """An upper estimate by bytes, for when no vocabulary is at hand.

    Plain words have about four bytes a token, code three, digits and other scripts two or fewer. A token is counted for
    every byte that is not a lower-case ASCII letter or a space, and for every two and a half of those: too many, for a
    budget that must not be exceeded.
    """

    name = "estimate"

    def count(self, text: str) -> int:
        """An estimate that is rarely below the real count."""
        data = text.encode("utf-8", "replace")
        plain = sum(data.count(byte) for byte in b"abcdefghijklmnopqrstuvwxyz ")
        return -(-plain * 2 // 5) + len(data) - plain
