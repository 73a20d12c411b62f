"""Parse one document: decode or extract, scrub, chunk, count. Pure; runs inside a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from contextd import privacy
from contextd.chunking.commit_text import commit_text
from contextd.chunking.cut import Limits
from contextd.chunking.dispatch import outlined
from contextd.chunking.extraction import extract, is_document
from contextd.chunking.references import references
from contextd.privacy.formats import Rule
from contextd.text.indexed_text import words_of
from contextd.values.document import COMMIT, Find, Parsed, Piece


def parse(
    data: bytes,
    language: str,
    limits: Limits,
    count: Callable[[str], int],
    extra: Sequence[Rule] = (),
    *,
    plain: bool = False,
    path: str = "",
) -> Parsed:
    """Parse the bytes of a document. Scrubbing precedes chunking: a key spans lines, and no later step may see it."""
    if language == COMMIT:
        text, finds = commit_text(data, extra)
        return _parsed(text, language, limits, count, finds, [], plain=plain)
    if is_document(language, data) and not (plain and language == "html"):
        decoded, language, plain = extract(data, language), "markdown", False
        warnings: list[str] = []
    else:
        decoded, warnings = decode(data)
    clean, finds = privacy.scrub(decoded.encode("utf-8"), language, extra, path=path)
    text = clean.decode("utf-8", "replace") if finds else decoded
    return _parsed(text, language, limits, count, finds, warnings, plain=plain)


def _parsed(
    text: str,
    language: str,
    limits: Limits,
    count: Callable[[str], int],
    finds: Sequence[Find],
    warnings: Sequence[str],
    *,
    plain: bool,
) -> Parsed:
    cut, defined = outlined(text, language, limits, count, plain=plain)
    pieces = [_on_one_line(piece) for piece in cut]
    words = tuple(words_of(piece, text) for piece in pieces)
    used = () if plain else references(text, language)
    return Parsed(text, tuple(pieces), words, tuple(finds), tuple(warnings), used, tuple(defined))


def _on_one_line(piece: Piece) -> Piece:
    """Put the label of a chunk on one line."""
    if "\n" not in piece.label and "\r" not in piece.label:
        return piece
    return replace(piece, label=" ".join(piece.label.split()))


def decode(data: bytes) -> tuple[str, list[str]]:
    """Decode UTF-8, UTF-16 or UTF-32 by BOM, or a guessed encoding, with a warning if not UTF-8. NUL becomes U+FFFD."""
    try:
        return data.decode("utf-8-sig").replace("\x00", "\ufffd"), []
    except UnicodeDecodeError:
        pass
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return data.decode("utf-32", "replace").replace("\x00", "\ufffd"), ["read as UTF-32"]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\x00", "\ufffd"), ["read as UTF-16"]
    return _guessed(data)


def _guessed(data: bytes) -> tuple[str, list[str]]:
    from charset_normalizer import from_bytes

    best = from_bytes(data[: 64 << 10]).best()
    encoding = best.encoding if best is not None else "latin-1"
    return data.decode(encoding, "replace").replace("\x00", "\ufffd"), [f"not UTF-8; read as {encoding}"]
