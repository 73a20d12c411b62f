"""Divide Markdown, reStructuredText, AsciiDoc and plain text by headings; those inside code fences do not count.

Written by hand rather than with a Markdown library: only headings and fences matter here, three markups share the
code, and parsing a document in full takes fifty times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextd.chunking.cut import Part

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"^([=\-~^\"'`#*+.:_<>])\1{2,}[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")

Heading = tuple[int, int, str]  # line, level, title


def parts(text: str, markup: str) -> list[Part]:
    """Return sections with their heading paths; the text before the first heading is a paragraph."""
    lines = text.split("\n")
    headings = list(_headings(lines, markup))
    first = headings[0][0] if headings else len(lines)
    found = [Part(0, first, "paragraph")] if first else []
    path: list[tuple[int, str]] = []
    for number, (line, level, title) in enumerate(headings):
        path = [above for above in path if above[0] < level]
        last = headings[number + 1][0] if number + 1 < len(headings) else len(lines)
        inside = ("code_block",) if markup == "markdown" and any(map(_FENCE.match, lines[line:last])) else ()
        found.append(Part(line, last, "markdown_section", title, tuple(name for _, name in path), kinds=inside))
        path.append((level, title))
    return found


def _headings(lines: list[str], markup: str) -> Iterator[Heading]:
    if markup == "markdown":
        return _markdown(lines)
    if markup == "asciidoc":
        return _asciidoc(lines)
    return _underlined(lines)


def _markdown(lines: list[str]) -> Iterator[Heading]:
    fence = ""
    start = _after_front_matter(lines)
    for number, line in enumerate(lines[start:], start):
        marker = _FENCE.match(line)
        if fence:
            fence = "" if marker and marker[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif marker:
            fence = marker[1]
        elif atx := _ATX.match(line):
            yield number, len(atx[1]), atx[2]
        elif (under := _underline(lines, number)) and (number == start or not lines[number - 1].strip()):
            yield number, 1 if under == "=" else 2, line.strip()


def _underline(lines: list[str], number: int) -> str:
    """Return the character that underlines a title; empty if the line is not a title."""
    if number + 1 >= len(lines) or not _is_title(lines[number]):
        return ""
    match = _SETEXT.match(lines[number + 1])
    return match[1][0] if match else ""


def _after_front_matter(lines: list[str]) -> int:
    if lines and lines[0].strip() == "---":
        for number, line in enumerate(lines[1:200], 1):
            if line.strip() == "---":
                return number + 1
    return 0


def _asciidoc(lines: list[str]) -> Iterator[Heading]:
    inside = ""
    for number, line in enumerate(lines):
        stripped = line.rstrip()
        if stripped in ("----", "....", "````", "++++"):
            inside = "" if inside == stripped else (inside or stripped)
        elif not inside and (match := _ASCIIDOC.match(line)):
            yield number, len(match[1]), match[2].strip()


def _underlined(lines: list[str]) -> Iterator[Heading]:
    """Yield titles with a rule below (and maybe above), as in reStructuredText; levels are by order of appearance."""
    levels: list[str] = []
    number = 0
    while number + 1 < len(lines):
        title, rule = lines[number], _RULE.match(lines[number + 1])
        if rule and _is_title(title) and len(lines[number + 1].rstrip()) >= min(len(title.rstrip()), 4):
            over = number > 0 and lines[number - 1].rstrip() == lines[number + 1].rstrip()
            style = rule[1] * (2 if over else 1)
            if style not in levels:
                levels.append(style)
            yield number - 1 if over else number, levels.index(style) + 1, title.strip()
            number += 1
        number += 1


def _is_title(line: str) -> bool:
    return bool(line.strip()) and not line.startswith((" ", "\t")) and not _RULE.match(line) and len(line) < 160
