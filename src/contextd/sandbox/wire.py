"""Frames between the driver and its workers: two lengths, a JSON head, and raw bytes. No pickles: input may be hostile."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import IO, Any

from contextd.values.document import Definition, Find, Parsed, Piece, Reference

_HEAD = struct.Struct("<II")
LARGEST = 256 << 20


def send(stream: IO[bytes], head: Any, body: Sequence[bytes] = ()) -> None:
    """Write one frame."""
    encoded = json.dumps(head, separators=(",", ":")).encode()
    stream.write(_HEAD.pack(len(encoded), sum(map(len, body))))
    stream.write(encoded)
    stream.writelines(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, bytes] | None:
    """Read one frame; None at the end of the stream."""
    prefix = stream.read(_HEAD.size)
    if len(prefix) < _HEAD.size:
        return None
    head_size, body_size = _HEAD.unpack(prefix)
    if head_size + body_size > LARGEST:
        raise ValueError("a frame is too large")
    head, body = stream.read(head_size), stream.read(body_size)
    if len(head) < head_size or len(body) < body_size:
        return None
    return json.loads(head), body


def pack(parsed: Parsed) -> tuple[Any, list[bytes]]:
    """Return head and body of the frame of a parsed document."""
    text = parsed.text.encode("utf-8")
    pieces = [(p.start, p.end, p.start_line, p.end_line, p.kind, p.label, p.heading, p.tokens, p.names) for p in parsed.pieces]
    head = {
        "text": len(text),
        "pieces": pieces,
        "words": [len(words) for words in parsed.words],
        "finds": [(find.line, find.rule) for find in parsed.finds],
        "warnings": parsed.warnings,
        "references": parsed.references,
        "definitions": parsed.definitions,
    }
    return head, [text, *parsed.words]


def unpack(head: Any, body: bytes) -> Parsed:
    """Return the parsed document of a frame."""
    position = head["text"]
    text, words = body[:position].decode("utf-8"), []
    for size in head["words"]:
        words.append(body[position : position + size])
        position += size
    pieces = [_piece(*entry) for entry in head["pieces"]]
    finds = tuple(Find(line, rule) for line, rule in head["finds"])
    references = tuple(Reference(name, kind, tuple(lines)) for name, kind, lines in head["references"])
    defined = tuple(Definition(*entry) for entry in head["definitions"])
    return Parsed(text, tuple(pieces), tuple(words), finds, tuple(head["warnings"]), references, defined)


def _piece(
    start: int,
    end: int,
    start_line: int,
    end_line: int,
    kind: str,
    label: str,
    heading: list[str],
    tokens: int,
    names: list[str],
) -> Piece:
    return Piece(start, end, start_line, end_line, kind, label, tuple(heading), tokens, tuple(names))
