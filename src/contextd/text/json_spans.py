"""Find the places of values in a JSON text, so that one of them can be changed while every other byte stays.

Values are parsed by the standard library's scanner. Numbers that JSON does not have (NaN) and repeated keys are refused: two
programs could read such a text differently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonSpan(NamedTuple):
    """A value, and where it stands in the text."""

    start: int
    end: int
    value: Any


class TextEdit(NamedTuple):
    """Text to put in place of a range. An empty range is an insertion."""

    start: int
    end: int
    text: str


def parsed(text: str) -> JsonSpan:
    """Return the value of a text. Raises ValueError if it is not JSON, or nested too deeply."""
    found = _scanned(text, _after_space(text, 0))
    if _after_space(text, found.end) != len(text):
        raise ValueError(f"extra data after the value, at character {found.end}")
    return found


def members(text: str, span: JsonSpan) -> Mapping[str, JsonSpan]:
    """Return the values of an object by key, each with its place."""
    found: dict[str, JsonSpan] = {}
    at = _after_space(text, span.start + 1)
    while text[at] != "}":
        key, at = _DECODER.parse_string(text, at + 1, True)
        found[key] = _scanned(text, _after_space(text, _after_space(text, at) + 1))  # after the colon
        at = _next(text, found[key].end)
    return found


def elements(text: str, span: JsonSpan) -> Sequence[JsonSpan]:
    """Return the values of an array, each with its place."""
    found: list[JsonSpan] = []
    at = _after_space(text, span.start + 1)
    while text[at] != "]":
        found.append(_scanned(text, at))
        at = _next(text, found[-1].end)
    return found


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text with all edits. They do not overlap."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


def inside(text: str) -> str:
    """Return a text as it stands inside the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _next(text: str, at: int) -> int:
    """Return the place of the next entry, or of the closing bracket."""
    at = _after_space(text, at)
    return _after_space(text, at + 1) if text[at] == "," else at


def _scanned(text: str, at: int) -> JsonSpan:
    try:
        value, end = _DECODER.scan_once(text, at)
    except StopIteration as stop:
        raise ValueError(f"no JSON value at character {stop.value}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return JsonSpan(at, end, value)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER: Any = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
