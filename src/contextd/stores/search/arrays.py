"""Named arrays in one memory-mapped file, which is written once and never changed."""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from contextd.errors import StorageError
from contextd.settings.permissions import open_file

_MAGIC = b"ctxarr3\n"
_PREFIX = struct.Struct("<8sI32s")  # the magic, the size of the head, the hash of the head
_ALIGN = 64

Array = NDArray[Any]


def write(path: Path, arrays: Mapping[str, Array], extra: Mapping[str, Any]) -> None:
    """Write arrays and JSON data to a temporary file, sync it, and rename it to `path`."""
    head, position = {}, 0
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in whole.items():
        head[name] = {"dtype": array.dtype.str, "shape": array.shape, "at": position}
        position += -(-array.nbytes // _ALIGN) * _ALIGN
    encoded = json.dumps({"arrays": head, "extra": dict(extra), "size": position, "digest": _digest(whole.values())}).encode()
    prefix = _PREFIX.pack(_MAGIC, len(encoded), blake3(encoded).digest())
    start = -(-(len(prefix) + len(encoded)) // _ALIGN) * _ALIGN
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_file(temporary, "wb") as file:
            file.write((prefix + encoded).ljust(start, b"\0"))
            for array in whole.values():
                file.write(array.data)
                file.write(b"\0" * (-array.nbytes % _ALIGN))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the mapped arrays and the JSON data stored with them. Raises `StorageError` for a damaged file."""
    with path.open("rb") as file:
        try:
            magic, size, digest = _PREFIX.unpack(file.read(_PREFIX.size))
            encoded = file.read(size)
            if magic != _MAGIC or blake3(encoded).digest() != digest:
                raise ValueError("not one of ours, or not whole")
            head = json.loads(encoded)
            start = -(-(_PREFIX.size + size) // _ALIGN) * _ALIGN
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            arrays = {name: _array(mapped, start, spec) for name, spec in head["arrays"].items()}
            if _digest(arrays.values()) != head["digest"]:
                raise ValueError("bytes have changed")
            return arrays, head["extra"]
        except (ValueError, MemoryError, struct.error) as error:
            raise StorageError(f"{path} is damaged ({error}); it is rebuilt from the database", code="derived") from None


def _digest(arrays: Iterable[Array]) -> str:
    """Return a hash of every byte. It runs at three gigabytes per second, so it is never skipped."""
    digest = blake3()
    for array in arrays:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _array(mapped: mmap.mmap, start: int, spec: Mapping[str, Any]) -> Array:
    shape = tuple(spec["shape"])
    count = int(np.prod(shape))
    if count == 0:
        return np.zeros(shape, np.dtype(spec["dtype"]))
    return np.frombuffer(mapped, np.dtype(spec["dtype"]), count, start + spec["at"]).reshape(shape)
