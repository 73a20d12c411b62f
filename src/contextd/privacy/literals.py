"""Places of possible secrets, and quoted literals of any language."""

from __future__ import annotations

import re
from typing import NamedTuple

_LONGEST = 512
_LONGEST_BLOCK = 4000
QUOTES = (b'"', b"'", b"`")
_OPEN = re.compile(
    rb"(?:[bBrRuUfFLN]{0,2}|@|\$|@\$|new\s|<<)(r#{1,2}\"|R\"\(|\[\[|%[qQ][{(\[|]|qq?[{(\[|!]|\"\"\"|'''|\\{0,7}[\"'`])"
)
_PAIRS = {b"{": b"}", b"(": b")", b"[": b"]"}


class Place(NamedTuple):
    """The position of a possible secret, and the name before it. `strict` and `literal` are as in `values.is_secret`."""

    name: str
    start: int
    end: int
    strict: bool = False
    literal: bool = True


def literal(data: bytes, at: int, language: str) -> Place | None:
    """Return the quoted literal at a position, or None. Quotes may be escaped; triple quotes may span lines."""
    opening = _OPEN.match(data, at, at + 12)
    if not opening:
        return None
    quote, begin = opening.group(1), opening.end()
    limit = begin + _LONGEST
    if quote not in QUOTES:
        limit = begin + (_LONGEST_BLOCK if quote in (b'"""', b"'''") else _LONGEST)
        quote = _closing(quote)
        if quote == b"]]" and language != "lua":
            return None
    stop = data.find(quote, begin, limit)
    while stop > 0 and not quote.startswith(b"\\") and data[stop - 1 : stop] == b"\\":
        stop = data.find(quote, stop + 1, limit)
    if stop < 0 or (b"\n" in data[begin:stop] and len(quote) < 3):
        return None
    text = data[begin:stop]
    bare = text.strip()
    inset = text.find(bare)
    return Place("", begin + inset, begin + inset + len(bare)) if bare else None


def _closing(opening: bytes) -> bytes:
    """Return the closing delimiter of a literal: `"#` for `r#"`, `}` for `q{`, the opening quotes otherwise."""
    if opening[:2] == b"r#":
        return b'"' + opening.count(b"#") * b"#"
    if opening in (b'R"(', b"[["):
        return {b'R"(': b')"', b"[[": b"]]"}[opening]
    return _PAIRS.get(opening[-1:], opening[-1:]) if opening[:1] in b"%q" else opening
