"""Count tokens: exactly for o200k, from ranks in the package, or as an estimate that is rarely too low."""

from __future__ import annotations

import re
import struct
import threading
import zlib
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_VOCABULARY = 199_998
# The pre-tokenizer of o200k, as published with its ranks. Alternatives without look-ahead are one group: the library runs it
# as one automaton, in a third less time than five.
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


# The same for ASCII, in Python's syntax. Python's `\s` would match four more control characters.
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
_FEW = 150_000  # characters counted in Python until loading the library, which counts faster, pays off
_LONG = re.compile(r"[A-Za-z]{64}|[^A-Za-z0-9]{96}")  # merging such a word takes quadratic time


def _ranks() -> dict[bytes, int]:
    packed = files("contextd.models").joinpath("data/o200k_base.ranks.z").read_bytes()
    raw = zlib.decompress(packed)
    sizes = [f"{size}s" for size in range(256)]
    tokens = struct.unpack_from("".join(map(sizes.__getitem__, raw[:_VOCABULARY])), raw, _VOCABULARY)  # the fastest way to cut
    return dict(zip(tokens, range(_VOCABULARY), strict=True))


class _Vocabulary:
    """Counts in Python at first, and with the library once there is more text: loading it takes 0.25 CPU-seconds."""

    def __init__(self) -> None:
        self._ranks: dict[bytes, int] = {}
        self._library: Encoding | None = None
        self._left = _FEW
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
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
        self._ranks.clear()  # the library has its own copy, and needs this one for nothing used here: 25 MB in every worker
        return encoding


def _merged(word: bytes, ranks: dict[bytes, int]) -> int:
    """Return the number of tokens of a word by byte-pair encoding: pairs of lowest rank are merged until none is left."""
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
    """Exact counts of OpenAI's o200k_base. A process loads the vocabulary once, on first use."""

    name = "o200k_base"

    def count(self, text: str) -> int:
        """Return the number of tokens; special tokens count as ordinary text."""
        return _vocabulary.count(text)


class Estimate:
    """An upper estimate by bytes, if no vocabulary is available.

    Plain words have about four bytes per token, code three, digits and other scripts two or fewer. The estimate is one token
    per 2.5 lower-case ASCII letters and spaces, and one per other byte: too many, since a budget must not be exceeded.
    """

    name = "estimate"

    def count(self, text: str) -> int:
        """Return an estimate that is rarely below the real count."""
        data = text.encode("utf-8", "replace")
        plain = sum(data.count(byte) for byte in b"abcdefghijklmnopqrstuvwxyz ")
        return -(-plain * 2 // 5) + len(data) - plain
