"""What of a piece is searched by words, and what of it is embedded."""

from __future__ import annotations

from collections.abc import Sequence

from contextd.text.terms import about, encode, parts_of_words
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.document import MEMORY, Parsed, Piece


def words_of(piece: Piece, text: str) -> bytes:
    """The terms of a piece: its text, label, headings and the names it defines.

    Of a memory, which is short, also parts of words, and what they are about.
    """
    labels = (piece.label, *piece.names) if piece.names else ()
    whole = with_context(text[piece.start : piece.end], piece.label, piece.heading)
    return encode(whole, labels, _parts_of(whole) if piece.kind == MEMORY else ())


def _parts_of(text: str) -> set[str]:
    own = concepts_of(text)
    return parts_of_words(text) | {about(one) for one in own} | {about(one, wide=True) for one in widened(own)}


def texts_of(parsed: Parsed) -> list[str]:
    """What is embedded of each piece."""
    return [with_context(parsed.text[p.start : p.end], p.label, p.heading) for p in parsed.pieces]


def with_context(text: str, label: str, heading: Sequence[str]) -> str:
    """A piece's text below the names of where it stands; the path stays out, so that equal contents are equal."""
    context = " ".join((*heading, label)).strip()
    return f"{context}\n{text}" if context else text
