"""Export the index of a project as JSON: a manifest, the chunks with their words, the vectors. Returns payloads, not files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from contextd.app.session import Session
from contextd.chunking.cut import OVERLAP
from contextd.text.terms import split
from contextd.values.document import Chunk

SCHEMA = "1.0"


def manifest(session: Session) -> dict[str, Any]:
    """Return the manifest of an index: models, chunk limits, and time."""
    chunking, status = session.settings.chunking, session.status()
    with session.structure.view() as view:
        spaces = {space: (count, view.dimension(space)) for space, count in view.spaces.items() if count}
        files = len(view.uris())
    models = [
        {"name": space, "dim": dimension, "normalize": True, "chunks": count} for space, (count, dimension) in spaces.items()
    ]
    indexed = status.indexed if status is not None else None
    limits = {"code": chunking.code_max_tokens, "markdown": chunking.markdown_max_tokens, "lines": chunking.lines_max_tokens}
    return {
        "schemaVersion": SCHEMA,
        "project": session.known().name,
        "model": models[0] if models else None,
        "models": models,
        "preprocessing": {"chunkSize": limits, "overlap": OVERLAP},
        "documents": files,
        "createdAt": _time(indexed),
    }


def corpus(session: Session) -> Iterator[dict[str, Any]]:
    """Yield every chunk the reader may see: id, text, its search terms, and metadata."""
    visibility = sorted(session.who())
    with session.structure.view() as view:
        for document, uri in sorted(view.uris().items(), key=lambda item: item[1]):
            for chunk in view.chunks_of([document])[document]:
                yield {"id": _id(chunk), "text": chunk.text, "normText": " ".join(split(chunk.text))} | {
                    "meta": _meta(chunk, uri, visibility)
                }


def vectors(session: Session) -> Iterator[Mapping[str, Any]]:
    """Yield the vector of every chunk in every space: 32-bit little-endian floats in base 64."""
    with session.structure.view() as view:
        spaces = sorted(space for space, count in view.spaces.items() if count)
        for document, _ in sorted(view.uris().items(), key=lambda item: item[1]):
            chunks = view.chunks_of([document])[document]
            for space in spaces:
                for chunk, row in zip(chunks, view.vectors([one.id for one in chunks], space), strict=True):
                    if row.any():
                        yield {"id": _id(chunk), "space": space, "vector": b64encode(row.astype("<f4").tobytes()).decode()}


def _meta(chunk: Chunk, uri: str, visibility: list[str]) -> dict[str, Any]:
    return {
        "rid": uri,
        "cid": chunk.id.ordinal,
        "title": chunk.label,
        "kind": chunk.kind,
        "lang": chunk.language,
        "visibility": visibility,
        "updatedAt": _time(chunk.modified),
        "headingPath": list(chunk.heading),
        "startChar": chunk.start,
        "endChar": chunk.end,
        "startLine": chunk.start_line,
        "endLine": chunk.end_line,
        "tokens": chunk.tokens,
    }


def _id(chunk: Chunk) -> str:
    return f"{chunk.uri}:{chunk.id.ordinal}"


def _time(microseconds: int | None) -> str | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")
