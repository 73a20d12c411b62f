"""Digests by which a conversation is recognized when its file has another name, or when it has grown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate

from contextd.values.conversation import Message

SIZE = 12  # bytes of a digest


def chain(seed: str, messages: Sequence[Message]) -> list[bytes]:
    """A digest for each message and all before it: two conversations with the same n-th one are the same up to there.

    `seed` is a name that does not depend on the file, so that two conversations that begin with the same words differ.
    """
    told = ([one.author, one.at, one.text.strip("\n")] for one in messages)
    return list(accumulate(told, _next, initial=_digest(["chat", seed])))[1:]


def chain_of_note(text: str) -> list[bytes]:
    """The same for a note, which is its text, whatever its file is called."""
    return [_digest(["note", text.strip()])]


def continues(one: Sequence[bytes], other: Sequence[bytes]) -> bool:
    """Whether one of two conversations is the beginning of the other, or both are the same."""
    shorter = min(len(one), len(other))
    return shorter > 0 and one[shorter - 1] == other[shorter - 1]


def _next(before: bytes, told: object) -> bytes:
    return _digest([before.hex(), told])


def _digest(value: object) -> bytes:
    return blake2b(json.dumps(value).encode(), digest_size=SIZE).digest()
