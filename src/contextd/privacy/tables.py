"""Find secrets whose name is elsewhere: in a column header, in a list of columns, in the kind of a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from contextd.privacy.linear import linear
from contextd.privacy.literals import Place
from contextd.privacy.values import Says, says
from contextd.text.languages import CODE

_HEADING = linear(
    rb"(?i)(?:pass(?:word|wd|phrase|code|wort)?|pwd|\bpw|secret|token|(?:api|access|secret)[_ ]?key|kennwort|has(?:l|\xc5\x82)o|heslo|senha|wachtwoord|mot de passe|contrase(?:n|\xc3\xb1)a|l(?:o|\xc3\xb6)senord|salasana|clave|credential)s?[\"'`*_ ]{0,40}[|,;\t\r\n]"
)
_LONGEST_HEADER = 1000
_CELL = re.compile(rb"[\"'`*\s]*([\w\x80-\xff][\w\x80-\xff .\-/()]{0,39}?)[\"'`*\s]*\Z")
_RULE = re.compile(rb"[\s|:+=\-]+\Z")
_INSERT = linear(rb"(?i)\binsert\s+(?:ignore\s+)?into\s+[\w.\"`\[\]]{1,120}\s*\(")
_DUMPED = linear(rb"(?i)\b(?:into|copy)\s+[\w.\"`\[]+\s*\(")
_VALUES = re.compile(rb"\s*values\s*", re.IGNORECASE)
_COPY = linear(rb"(?i)\bcopy\s+[\w.\"]{1,120}\s*\(")
_STDIN = re.compile(rb"\s*from\s+stdin[^\n]{0,60}\n", re.IGNORECASE)
_TUPLE = re.compile(rb"\s*,?\s*\(")
_ITEM = re.compile(
    rb"\s*(?:N?'((?:[^'\\]|\\.|'')*)'|\w{1,40}\(\s*N?'([^'\\\n]{0,200})'(?:[^()]|\([^()]*\)){0,80}\)|\"((?:[^\"\\]|\\.)*)\"|([^,()'\"]*))\s*"
)
_GENERATED = b"random_password"
_RESULT = re.compile(rb"\"(?:result|bcrypt_hash)\"[ \t]{0,4}:[ \t]{0,4}\"((?:[^\"\\\n]|\\.){4,200})\"")
_LONGEST_RESOURCE = 4000
_SECRET_KIND = linear(rb"(?m)^[+\-]?[ \t]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?(?:Sealed)?Secret[\"']?[ \t]*,?\r?$")
_DATA = re.compile(rb"(?m)^([+\-]?[ \t]*)[\"']?(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t]*\r?$")
_ENTRY = re.compile(rb"([+\-]?[ \t]*)[\"']?([\w.\-]+)[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'#,]{1,4000})")


def columns(data: bytes, language: str) -> Iterator[Place]:
    """Yield the cells of password columns in CSV files, tables of documents and database dumps."""
    if language not in CODE:
        yield from _headed(data)
    if not _DUMPED.search(data):
        return
    for insert in _INSERT.finditer(data):
        listed, values = _listed(data, insert.end(), _VALUES)
        yield from _tuples(data, values, listed)
    reached = 0
    for copy in _COPY.finditer(data):
        listed, values = _listed(data, copy.end(), _STDIN) if copy.start() >= reached else ([], 0)
        found, end = _rows(data, values, b"\t", _named(listed), len(listed), strict=False)
        reached = max(reached, end)
        yield from found


def _listed(data: bytes, at: int, then: re.Pattern[bytes]) -> tuple[list[bytes], int]:
    """Return the column names up to a closing bracket, and where the values begin; none if `then` does not match."""
    stop = data.find(b")", at, at + 2000)
    behind = then.match(data, stop + 1) if stop >= 0 else None
    return ([name.strip(b' \t\r\n"`[]') for name in data[at:stop].split(b",")], behind.end()) if behind else ([], 0)


def _headed(data: bytes) -> Iterator[Place]:
    reached = 0
    for heading in _HEADING.finditer(data):
        if heading.start() < reached:
            continue
        before = data.rfind(b"\n", max(0, heading.start() - _LONGEST_HEADER), heading.start())
        stop = data.find(b"\n", heading.end() - 1, heading.end() + _LONGEST_HEADER)
        whole = stop >= 0 and (before >= 0 or heading.start() <= _LONGEST_HEADER)
        found, reached = _cells(data, before + 1, stop) if whole else ([], heading.end())
        yield from found


def manifests(data: bytes) -> Iterator[Place]:
    """Yield all values of Kubernetes secrets, whatever their names."""
    if b"Secret" not in data:
        return
    reached = 0
    for kind in _SECRET_KIND.finditer(data):
        if kind.start() < reached:
            continue
        begin = max(reached, data.rfind(b"\n---", 0, kind.start()) + 1)
        stop = data.find(b"\n---", kind.end())
        reached = stop if stop >= 0 else len(data)
        for block in _DATA.finditer(data, begin, reached):
            yield from _entries(data, block)


def generated(data: bytes) -> Iterator[Place]:
    """Yield the passwords that Terraform generated, in a copy of its state."""
    at = data.find(_GENERATED)
    while at >= 0:
        behind = data.find(_GENERATED, at + len(_GENERATED))
        stop = min(at + _LONGEST_RESOURCE, behind if behind >= 0 else len(data))
        for result in _RESULT.finditer(data, at, stop):
            yield Place("password", *result.span(1))
        at = behind


def _cells(data: bytes, start: int, end: int) -> tuple[list[Place], int]:
    """Return the password cells below a header, and the end of the table."""
    header = data[start:end]
    separator = max((b"|", b"\t", b",", b";"), key=header.count)
    parts = header.split(separator)
    cells = [match.group(1) if (match := _CELL.match(part)) else b"" for part in parts]
    outer = separator == b"|"
    if len(parts) < 2 or not all(cell or (outer and not part.strip()) for cell, part in zip(cells, parts, strict=True)):
        return [], end
    return _rows(data, end + 1, separator, _named(cells), len(parts), strict=outer)


def _named(cells: list[bytes]) -> dict[int, str]:
    names = {place: cell.decode("utf-8", "replace") for place, cell in enumerate(cells)}
    return {place: name for place, name in names.items() if says(name) is not Says.NOTHING}


def _rows(
    data: bytes, at: int, separator: bytes, names: dict[int, str], width: int, *, strict: bool
) -> tuple[list[Place], int]:
    found: list[Place] = []
    while names and at < len(data):
        stop = data.find(b"\n", at)
        stop = stop if stop >= 0 else len(data)
        line = data[at:stop]
        parts = line.split(separator)
        if len(parts) != width or not line.strip() or line.startswith(b"\\."):
            break
        if not _RULE.match(line):
            starts = list(accumulate((len(part) + 1 for part in parts), initial=at))
            found += (_cell(parts[place], starts[place], name, strict) for place, name in names.items())
        at = stop + 1
    return found, at


def _cell(part: bytes, at: int, name: str, strict: bool) -> Place:
    value = part.strip(b" \t\r\"'`*")
    begin = at + part.find(value)
    return Place(name, begin, begin + len(value), strict=strict)


def _tuples(data: bytes, at: int, listed: list[bytes]) -> Iterator[Place]:
    names = _named(listed)
    while names:
        opening = _TUPLE.match(data, at)
        if not opening:
            return
        at, place = opening.end(), 0
        while item := _ITEM.match(data, at, at + 20_000):
            group = next((number for number in (1, 2, 3) if item.group(number) is not None), 0)
            if place in names and group:
                yield Place(names[place], *item.span(group))
            at, place = item.end() + 1, place + 1
            if data[item.end() : item.end() + 1] != b",":
                break


def _entries(data: bytes, block: re.Match[bytes]) -> Iterator[Place]:
    at, indent = block.end() + 1, len(block.group(1))
    while entry := _ENTRY.match(data, at):
        if len(entry.group(1)) <= indent:
            return
        yield Place("secret", *entry.span(3))
        stop = data.find(b"\n", entry.end())
        if stop < 0:
            return
        at = stop + 1
