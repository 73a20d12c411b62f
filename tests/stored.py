"""Everything a data directory holds, as anybody with the files could read it: raw bytes, and texts that are compressed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

_STREAM = re.compile(rb"\x78[\x01\x5e\x9c\xda]")  # how a zlib stream begins


def stored(folder: Path) -> bytes:
    """The bytes of every file but model weights, and of every compressed text in them, free pages included."""
    return b"\n".join(part for path in sorted(folder.rglob("*")) if _counts(path) for part in parts(path.read_bytes()))


def parts(data: bytes) -> Iterator[bytes]:
    """Some bytes, and what any stream in them unpacks to, as far as it does."""
    yield data
    for match in _STREAM.finditer(data):
        try:
            yield zlib.decompressobj().decompress(data[match.start() :], 4 << 20)
        except zlib.error:
            continue


def _counts(path: Path) -> bool:
    return path.is_file() and "models" not in path.parts
