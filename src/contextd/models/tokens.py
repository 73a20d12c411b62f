"""Counting tokens: exact for o200k from ranks shipped with the package, and an estimate that errs upwards."""

from __future__ import annotations

import zlib
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_VOCABULARY = 199_998
# The pre-tokenizer of o200k, as published with its ranks.
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


@lru_cache(maxsize=1)
def _o200k() -> Encoding:
    from tiktoken import Encoding

    packed = files("contextd.models").joinpath("data/o200k_base.ranks.z").read_bytes()
    raw = zlib.decompress(packed)
    borders = accumulate(raw[:_VOCABULARY], initial=_VOCABULARY)
    ranks = {raw[start:end]: rank for rank, (start, end) in enumerate(pairwise(borders))}
    encoding = Encoding(O200k.name, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # the library has its own copy by now, and keeps this one for nothing we use: 25 MB in every worker
    return encoding


class O200k:
    """Exact counts of OpenAI's o200k_base; loaded on first use (about 0.4 CPU-seconds), once in a process."""

    name = "o200k_base"

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as the text they are."""
        return len(_o200k().encode_ordinary(text))


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
