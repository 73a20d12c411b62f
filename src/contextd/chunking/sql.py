"""Divide SQL into statements with their comments, labelled by verb and object: `CREATE users`.

No SQL parser is used, so that all dialects and broken statements work; only strings, comments and `$$` bodies are recognized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextd.chunking.cut import Part

_TOKEN = re.compile(
    r"--[^\n]*|/\*|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|(?P<dollar>\$\w*\$)|(?P<end>;)|\n", re.DOTALL
)
_LABEL = re.compile(
    r"^\s*(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|SELECT|WITH|GRANT|TRUNCATE|MERGE|COPY|COMMENT)\b(?:\s+(?:OR\s+REPLACE|"
    r"TEMP(?:ORARY)?|UNIQUE|MATERIALIZED|VIRTUAL|EXTERNAL|GLOBAL|LOCAL|IF\s+(?:NOT\s+)?EXISTS|INTO|FROM|ON|ONLY|"
    r"TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|TYPE|SCHEMA|SEQUENCE|DATABASE|EXTENSION|POLICY|ROLE|USER|DOMAIN|CONCURRENTLY))*"
    r"\s+([\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"^\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/|\s+)", re.DOTALL)


def parts(text: str) -> list[Part]:
    """Return one part for each statement, together with the comments above it."""
    found, first = [], 0
    for end in (*_ends(text), text.count("\n") + 1):
        if end > first:
            found.append(_statement(text, first, end))
            first = end
    return found


def _ends(text: str) -> Iterator[int]:
    """The line after each statement's last line."""
    position = line = 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        if match["end"]:
            yield line + 1
        elif match["dollar"]:
            position = _after(text, match["dollar"], position)
        elif match[0] == "/*":
            position = _after(text, "*/", position)
        line += text.count("\n", match.start(), position)


def _after(text: str, mark: str, position: int) -> int:
    found = text.find(mark, position)
    return len(text) if found < 0 else found + len(mark)


def _statement(text: str, first: int, last: int) -> Part:
    body = "\n".join(text.split("\n")[first:last]) if last - first < 400 else ""
    while body and (comment := _COMMENT.match(body)):
        body = body[comment.end() :]
    match = _LABEL.match(body)
    if not match:
        return Part(first, last, "sql_statement")
    name = match[2].strip('"`[]')
    return Part(first, last, "sql_statement", f"{match[1].upper()} {name}", (), (name,))
