"""Texts that are percent-encoded, perhaps several times."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_DEEPEST = 8  # times that a text may be encoded


def unescaped(text: str) -> str | None:
    """Return a text without its percent encoding, however often it was applied; None if that is deeper than anybody needs.

    Each byte becomes one character, which is enough to look for ASCII.
    """
    for _ in range(_DEEPEST):
        plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
        if plain == text:
            return text
        text = plain
    return None
