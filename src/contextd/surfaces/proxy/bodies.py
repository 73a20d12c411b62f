"""Receive and decompress the body of a request, within limits."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any

from contextd.surfaces.http.problems import RequestRefused

_RATIO = 100  # maximum of decompressed to compressed bytes
_MOST_MEMBERS = 64  # of a compressed body
_MOST_ENCODINGS = 2  # one after the other
_SMALL = 1 << 20  # below, any ratio is allowed: repetitive text compresses well


def decompressed(body: bytes, encodings: str, most: int) -> bytes:
    """Return a body without its content encodings. Raises `RequestRefused`."""
    named = [one.strip().lower() for one in encodings.split(",") if one.strip()]
    if len(named) > _MOST_ENCODINGS:
        raise RequestRefused(415, "unsupported_encoding", f"a body has at most {_MOST_ENCODINGS} encodings")
    for encoding in reversed(named):
        if encoding == "identity":
            continue
        if encoding not in _DECODERS:
            raise RequestRefused(415, "unsupported_encoding", f"the encoding {encoding!r} is not supported; use gzip or zstd")
        limit = min(most, max(_SMALL, _RATIO * len(body)))
        try:
            body = _DECODERS[encoding](body, limit + 1)
        except Exception as error:  # each library has errors of its own
            raise RequestRefused(400, "invalid_encoding", f"the body is not valid {encoding}: {error}") from None
        if len(body) > limit:
            raise RequestRefused(413, "too_large", f"the decompressed body has at most {limit:,} bytes")
    return body


def _gzip(body: bytes, most: int) -> bytes:
    found, rest, members = b"", body, 0
    while rest and len(found) < most:  # a body may have several members
        members = _counted(members)
        stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        found += stream.decompress(rest, most - len(found))
        if not stream.eof and len(found) < most:
            raise ValueError("it is incomplete")
        rest = stream.unused_data
    return found


def _zstd(body: bytes, most: int) -> bytes:
    made, rest, found, frames = _zstd_decompressor(), body, b"", 0
    while rest and len(found) < most:
        frames = _counted(frames)
        stream = made()
        found += stream.decompress(rest, most - len(found))
        if not stream.eof and len(found) < most:
            raise ValueError("it is incomplete")
        rest = stream.unused_data if stream.eof else b""
    return found


def _counted(members: int) -> int:
    """Return one more. Raises ValueError for too many: each copies what is left of the body."""
    if members >= _MOST_MEMBERS:
        raise ValueError(f"it has more than {_MOST_MEMBERS} members")
    return members + 1


def _zstd_decompressor() -> Callable[[], Any]:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor
    else:
        from backports.zstd import ZstdDecompressor
    return ZstdDecompressor


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {"gzip": _gzip, "x-gzip": _gzip, "zstd": _zstd}
