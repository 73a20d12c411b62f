"""What the retrievers have in common: the identifier and the metadata of a hit."""

from __future__ import annotations

from typing import Any

from contextd.values.answer import Hit


def identifier(hit: Hit) -> str:
    """Return the id of the chunk, as the service names it."""
    return f"{hit.chunk.id.document:x}:{hit.chunk.id.ordinal}"


def metadata(hit: Hit) -> dict[str, Any]:
    """Return where a hit is from and how well it fits; values are texts and numbers."""
    chunk = hit.chunk
    return {
        "source": chunk.uri,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "language": chunk.language,
        "label": chunk.label,
        "score": hit.score,
    }
