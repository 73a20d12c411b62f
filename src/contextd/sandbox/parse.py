"""The parse worker: reads documents from standard input, writes parsed ones to standard output, opens no database or file.

Started as `python -m contextd.sandbox.parse`. A hang or a crash affects one document: the driver kills and restarts the worker.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from contextd.chunking.cut import Limits
from contextd.chunking.parse import parse
from contextd.models.tokens import O200k
from contextd.privacy import redact  # noqa: F401 - loaded before the first file, whose time is limited
from contextd.privacy.formats import Rule
from contextd.sandbox import wire

_MEMORY = 2 << 30


def main() -> None:
    """Serve until the driver closes the pipe."""
    limit_memory()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the frames
    settings = wire.receive(source)
    if settings is None:
        return
    limits, rules = Limits(**settings[0]["limits"]), [Rule(*rule) for rule in settings[0]["rules"]]
    count = O200k().count
    count("")  # loads the ranks before the time of the first document starts
    wire.send(sink, {"ready": True})
    while (frame := wire.receive(source)) is not None:
        head, data = frame
        wire.send(sink, *_answer(head, data, limits, rules, count))


def _answer(head: Any, data: bytes, limits: Limits, rules: list[Rule], count: Any) -> tuple[Any, list[bytes]]:
    try:
        return wire.pack(parse(data, head["language"], limits, count, rules, plain=head["plain"], path=head["path"]))
    except MemoryError:
        return {"error": "out of memory"}, []
    except Exception as error:  # a parser may raise anything; the driver handles the error
        return {"error": f"{type(error).__name__}: {error}"[:300]}, []


def limit_memory() -> None:
    """Limit the memory of this process and disable core files, if the system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)  # an existing limit can only be lowered
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
