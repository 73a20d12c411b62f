"""Text of unknown format: one part, which is later cut into overlapping windows of lines."""

from __future__ import annotations

from contextd.chunking.cut import Part


def parts(text: str) -> list[Part]:
    """The whole text as one part."""
    return [Part(0, text.count("\n") + 1, "paragraph")]
