"""Ignore patterns with git's semantics, as expressions of a linear-time engine.

This is git's `wildmatch` on bytes, quirks included. A pattern that never matches in git never matches here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

MOST = 5000  # patterns of one file
LONGEST = 1000  # bytes of a pattern
_LONGEST_EXPRESSION = 20_000  # a longer expression exceeds the engine's memory limit
_FOLDER = b"\0"  # marks the end of a folder's path; no name contains it
_ANY, _NO_SLASH = r"[^\x00]*", r"[^/\x00]*"
_CLASSES = {
    b"alnum": b"0-9A-Za-z", b"alpha": b"A-Za-z", b"blank": b" \t", b"cntrl": b"\0-\x1f\x7f", b"digit": b"0-9",
    b"graph": b"!-~", b"lower": b"a-z", b"print": b" -~", b"punct": b"!-/:-@[-`{-~", b"space": b"\t\n\r ", b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}  # fmt: skip


class Pattern(NamedTuple):
    """One line: an expression for the paths it matches, and whether it ignores or re-includes them."""

    expression: str
    ignores: bool


class Patterns:
    """The lines of one ignore file; the last match decides."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        found = (pattern for line in lines if len(line) <= LONGEST and (pattern := parsed(line)) is not None)
        self._parts = [(ignores, _compiled(expressions)) for ignores, expressions in _joined(found)][::-1]

    def verdict(self, path: bytes, *, folder: bool) -> bool | None:
        """Return True if a path is ignored, False if it is re-included, None if no pattern matches."""
        probe = path + _FOLDER if folder else path
        return next((ignores for ignores, matches in self._parts if matches(probe)), None)


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of an ignore file without comments, line ends and trailing spaces."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [_trimmed(line.removesuffix(b"\r").split(b"\0", 1)[0]) for line in lines if line and not line.startswith(b"#")]


def parsed(line: bytes) -> Pattern | None:
    """Return the pattern of one line; None if it can match nothing."""
    ignores = not line.startswith(b"!")
    text = line if ignores else line[1:]
    end = r"\x00" if text.endswith(b"/") else r"\x00?"
    text = text.removesuffix(b"/")
    if b"/" not in text:
        start, rest = f"(?:{_ANY}/)?", _wild(text, stars=False) if text else None
    else:
        text = text.removeprefix(b"/")
        plain = next((place for place, byte in enumerate(text) if byte in b"*?[\\"), len(text))
        start, rest = _literal(text[:plain]), _wild(text[plain:], stars=True)
    return None if rest is None else Pattern(start + rest + end, ignores)


def _trimmed(line: bytes) -> bytes:
    """Remove trailing spaces, unless a backslash precedes them."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _wild(text: bytes, *, stars: bool) -> str | None:
    """Convert a text with wildcards to an expression; None matches nothing. With `stars`, a `**` path part spans folders."""
    found, place = [], 0
    while place < len(text):
        one = text[place : place + 1]
        if one == b"*":
            part, place = _star(text, place, stars=stars)
        elif one == b"[":
            bytes_, place = _bracket(text, place + 1)
            part = _set(bytes_)
        elif one == b"\\":
            part, place = _literal(text[place + 1 : place + 2]), place + 2
        else:
            part, place = r"[^/\x00]" if one == b"?" else _literal(one), place + 1
        if not part:
            return None
        found.append(part)
    return "".join(found)


def _star(text: bytes, place: int, *, stars: bool) -> tuple[str, int]:
    after = next((n for n in range(place, len(text)) if text[n] != ord("*")), len(text))
    rest = text[after : after + 2]
    spans = after - place > 1 and text[place - 1 : place] in (b"", b"/") and (rest[:1] in (b"", b"/") or rest == b"\\/")
    if not stars or not spans:
        return _NO_SLASH, after
    return (f"(?:{_ANY}/)?", after + 1) if rest[:1] == b"/" else (_ANY, after)


def _bracket(text: bytes, place: int) -> tuple[set[int], int]:
    """Return the bytes of a set and the position after it; no bytes if it does not end or has an unknown class."""
    negated = text[place : place + 1] in (b"!", b"^")
    place += negated
    found: set[int] = set()
    before, first = 0, True
    while first or text[place : place + 1] != b"]":
        first = False
        one = text[place : place + 1]
        if one == b"[" and text[place + 1 : place + 2] == b":" and (end := _class_end(text, place + 2)) != -1:
            known = _CLASSES.get(text[place + 2 : end - 1])
            if known is None:
                return set(), len(text)
            found |= _spread(known)
            before, place = 0, end + 1
        elif one == b"-" and before and text[place + 1 : place + 2] not in (b"", b"]"):
            place += 1 + (text[place + 1 : place + 2] == b"\\")
            if place >= len(text):
                return set(), len(text)
            found |= set(range(before, text[place] + 1))
            before, place = 0, place + 1
        else:
            place += one == b"\\"
            if place >= len(text):
                return set(), len(text)
            before = text[place]
            found.add(before)
            place += 1
    return (set(range(256)) - found if negated else found), place + 1


def _class_end(text: bytes, start: int) -> int:
    """Return the position of the bracket that closes a class such as `[:alpha:]`; -1 if it is a set with a colon in it."""
    end = text.find(b"]", start)
    return end if end == -1 or (end > start and text[end - 1 : end] == b":") else -1


def _spread(ranges: bytes) -> set[int]:
    """Return the bytes of ranges such as `a-z0-9`."""
    found, place = set(), 0
    while place < len(ranges):
        last = place + 2 if ranges[place + 1 : place + 2] == b"-" and place + 2 < len(ranges) else place
        found |= set(range(ranges[place], ranges[last] + 1))
        place = last + 1
    return found


def _set(found: set[int]) -> str:
    """Return a set of bytes as an expression; empty if none of them can be in a name."""
    bytes_ = sorted(found - {0, ord("/")})
    return "[" + "".join(f"\\x{byte:02x}" for byte in bytes_) + "]" if bytes_ else ""


def _literal(text: bytes) -> str:
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}" for byte in text)


def _joined(patterns: Iterable[Pattern]) -> Iterator[tuple[bool, list[str]]]:
    """Group adjacent patterns with the same effect, as many as fit one expression."""
    part: list[str] = []
    size, ignoring = 0, True
    for expression, ignores in patterns:
        if part and (ignores != ignoring or size + len(expression) > _LONGEST_EXPRESSION):
            yield ignoring, part
            part, size = [], 0
        part.append(expression)
        size, ignoring = size + len(expression), ignores
    if part:
        yield ignoring, part


def _compiled(expressions: list[str]) -> Any:
    from contextd.privacy.linear import linear  # slow to import, and not needed to answer a query

    return linear("|".join(f"(?:{expression})" for expression in expressions)).fullmatch
