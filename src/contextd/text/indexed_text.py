"""The text of a chunk that is searched by words, and the text that is embedded."""

from __future__ import annotations

from collections.abc import Sequence

from contextd.text.hard_limits import ANY, is_limit, limit_domains, limit_term
from contextd.text.terms import about, encode, parts_of_words
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.document import MEMORY, Parsed, Piece


def words_of(piece: Piece, text: str) -> bytes:
    """Return the encoded terms of a chunk: of its text, label, headings and the names it defines.

    For a memory, which is short, also parts of words, concepts, and the domains in which it is a hard limit.
    """
    labels = (piece.label, *piece.names) if piece.names else ()
    whole = with_context(text[piece.start : piece.end], piece.label, piece.heading)
    return encode(whole, labels, _parts_of(whole) if piece.kind == MEMORY else ())


def _parts_of(text: str) -> set[str]:
    own = concepts_of(text)
    limits = {limit_term(domain) for domain in (*limit_domains(text), *((ANY,) if is_limit(text) else ()))}
    return parts_of_words(text) | {about(one) for one in own} | {about(one, wide=True) for one in widened(own)} | limits


def texts_of(parsed: Parsed) -> list[str]:
    """Return the text to embed of each chunk."""
    return [with_context(parsed.text[p.start : p.end], p.label, p.heading) for p in parsed.pieces]


def with_context(text: str, label: str, heading: Sequence[str]) -> str:
    """Put headings and label above the text of a chunk. The path is left out, so that equal contents have equal texts."""
    context = " ".join((*heading, label)).strip()
    return f"{context}\n{text}" if context else text
