"""Select the chunker for a language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from contextd.chunking import code, data, lines, prose, sql
from contextd.chunking.comments import without_comments
from contextd.chunking.cut import Limits, Part, cut, outline
from contextd.chunking.grammars import GRAMMARS
from contextd.text.languages import PROSE
from contextd.values.document import COMMIT, Definition, Piece

_BEGINNINGS = ("#", "//", "/*", "--", ";", "%", "(*", "{-", "<!--")  # how comments begin
_DATA = frozenset({"yaml", "toml", "json"})


def chunk(text: str, language: str, limits: Limits, count: Callable[[str], int], *, plain: bool = False) -> list[Piece]:
    """Return the chunks of a text. `plain` cuts by lines alone, for a text on which the parser crashed or hung."""
    return outlined(text, language, limits, count, plain=plain)[0]


def outlined(
    text: str, language: str, limits: Limits, count: Callable[[str], int], *, plain: bool = False
) -> tuple[list[Piece], list[Definition]]:
    """Return the chunks of a text, and its definitions."""
    limit, parts = _parts(text, "" if plain else language, limits)
    defined = outline(parts)
    pieces = cut(text, parts, limit, limits, count)
    return [_of_comments(piece, text, language) for piece in pieces] if language in GRAMMARS and not plain else pieces, defined


def _of_comments(piece: Piece, text: str, language: str) -> Piece:
    """Give a code chunk that has only comments the kind `comment`."""
    own = text[piece.start : piece.end].strip()
    if piece.kind != "code_block" or not own.startswith(_BEGINNINGS) or without_comments(own, language).strip():
        return piece
    return replace(piece, kind="comment")


def _parts(text: str, language: str, limits: Limits) -> tuple[int, list[Part]]:
    if language in GRAMMARS:
        return limits.of(language), code.parts(text, language, limits)
    if language == COMMIT:
        return limits.prose, [Part(0, text.count("\n") + 1, "commit", text.split("\n", 1)[0][:120])]
    if language in PROSE:
        return limits.prose, prose.parts(text, language)
    if language in _DATA:
        return limits.code, data.parts(text, language, limits)
    if language == "sql":
        return limits.code, sql.parts(text)
    return limits.lines, lines.parts(text)
