"""The worker that reads exports: takes a request on standard input, and writes what it reads to standard output as frames.

Started as `python -m contextd.sandbox.read`. It opens only the requested files, and no database.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from contextd.errors import InvalidInput, TooLarge
from contextd.sandbox import wire
from contextd.sandbox.parse import limit_memory
from contextd.sources import exports, memory_lists
from contextd.sources.limited import Meter, Refused
from contextd.values.conversation import Conversation, Forgotten, Message, Note

_BATCH = 1 << 20  # characters of messages in a frame
_LARGEST_ENTRY = 64 << 20  # characters of a memory with its history
_EVERY = 1.0  # seconds between two heartbeats


def main() -> None:
    """Answer one request."""
    limit_memory()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the frames
    request = wire.receive(source)
    if request is None:
        return
    wire.send(sink, {"ready": True})
    try:
        for frame in _answer(*request, _Sink(sink)):
            wire.send(sink, frame)
        wire.send(sink, {"end": True})
    except InvalidInput as error:
        wire.send(sink, {"refused": str(error)})
    except Exception as error:  # a parser may raise anything; the driver handles the error
        wire.send(sink, {"refused": f"{request[0].get('path', 'the file')}: {_reason(error)}"})


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it needs more memory than reading may use; divide it into several files"
    return str(error) if isinstance(error, Refused) else f"it cannot be read ({type(error).__name__}: {error})"[:300]


class _Sink:
    """Sends heartbeats while bytes are read, and the name of every file that is begun."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._last = stream, time.monotonic()

    def beat(self) -> None:
        if time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            wire.send(self._stream, {"beat": True})

    def began(self, path: Path) -> None:
        wire.send(self._stream, {"file": path.name})


def _answer(head: Any, data: bytes, sink: _Sink) -> Iterator[dict[str, Any]]:
    meter = Meter(sink.beat)
    if head["ask"] == "kind":
        yield {"kind": exports.kind_of(Path(head["path"]), meter)}
    elif head["ask"] == "memories":
        yield from _memories(data.decode("utf-8", "replace"), sink.beat)
    else:
        for one in exports.read(Path(head["path"]), head["kind"], meter, sink.began):
            yield from _frames(one)


def _frames(one: exports.Read) -> Iterator[dict[str, Any]]:
    """Yield the frames of what was read. A conversation has an opening frame, batches of messages, and a closing frame."""
    if isinstance(one, Conversation):
        yield {"conversation": [one.place, one.title, one.name, one.sitting, sorted(one.principals)]}
        yield from ({"said": batch} for batch in _batches(one.messages))
        yield {"close": True}
    elif isinstance(one, Note):
        yield {"note": [one.place, one.title, one.text, one.at, sorted(one.principals)]}
    elif isinstance(one, Forgotten):
        yield {"forgotten": [one.key, list(one.marks)]}
    else:
        yield {"unread": [one.place, one.reason, one.stopped]}


def _batches(messages: Any) -> Iterator[list[tuple[str, str, int, str]]]:
    batch, size = [], 0
    for message in messages:
        batch.append(_fields(message))
        size += len(message.text)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def _fields(message: Message) -> tuple[str, str, int, str]:
    return message.author, message.text, message.at, message.role


def _memories(data: str, beat: Callable[[], None]) -> Iterator[dict[str, Any]]:
    for part, entry in memory_lists.read(data):
        beat()
        size = sum(len(value) if isinstance(value, str) else len(repr(value)) for value in entry.values())
        if size > _LARGEST_ENTRY:
            raise TooLarge(f"an entry is larger than {_LARGEST_ENTRY >> 20} MB; nothing was imported")
        yield {"entry": [part, entry]}


if __name__ == "__main__":
    main()
