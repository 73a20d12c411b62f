"""Digests that recognize a conversation when its file has another name, or when it has grown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate

from contextd.values.conversation import Message

SIZE = 12  # bytes of a digest


def chain(seed: str, messages: Sequence[Message]) -> list[bytes]:
    """Return a digest for each message with all before it: equal n-th digests mean equal first n messages.

    `seed` is a name that does not depend on the file, so that two conversations that begin with the same words differ.
    """
    fields = ([one.author, one.at, one.text.strip("\n")] for one in messages)
    return list(accumulate(fields, _next, initial=_digest(["chat", seed])))[1:]


def chain_of_note(text: str) -> list[bytes]:
    """Return the digest of a note, which depends on its text only."""
    return [_digest(["note", text.strip()])]


def continues(one: Sequence[bytes], other: Sequence[bytes]) -> bool:
    """Return whether one conversation is a prefix of the other, or both are equal."""
    shorter = min(len(one), len(other))
    return shorter > 0 and one[shorter - 1] == other[shorter - 1]


def _next(before: bytes, message: object) -> bytes:
    return _digest([before.hex(), message])


def _digest(value: object) -> bytes:
    return blake2b(json.dumps(value).encode(), digest_size=SIZE).digest()
