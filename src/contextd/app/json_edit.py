"""Set or remove one entry of a JSON file that others wrote. Comments, order and formatting of the rest stay as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contextd.errors import InvalidInput

_SPACE = " \t\r\n"
_STEP = "  "  # indentation of what is added


def with_entry(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path of keys. Raises `InvalidInput` for text that is not JSON with comments."""
    text = text if text.strip() else "{}\n"
    root = _Scanner(text).document()
    node, depth = root, 0
    while depth < len(path) - 1 and path[depth] in node.members:
        node = node.members[path[depth]].value
        depth += 1
        if node.kind != "{":
            raise InvalidInput(f"the key {path[depth - 1]!r} is not an object; mend the file first")
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    name, known = path[depth], node.members.get(path[depth])
    shown = json.dumps(value, indent=len(_STEP), ensure_ascii=False).replace("\n", "\n" + _STEP * (depth + 1))
    if known is not None:
        return text[: known.value.start] + shown + text[known.value.end :]
    return _inserted(text, node, f"{json.dumps(name)}: {shown}", depth)


def without_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without the entry at a path of keys; unchanged if there is none."""
    node = _Scanner(text if text.strip() else "{}").document()
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name].value
    known = node.members.get(path[-1])
    if known is None:
        return text
    start, end = known.start, known.value.end
    after = end + len(text[end:]) - len(text[end:].lstrip(_SPACE))
    if text[after : after + 1] == ",":
        return text[:start] + text[after + 1 :].lstrip(_SPACE)
    before = text[:start].rstrip(_SPACE)
    return (before[:-1] if before.endswith(",") else before) + text[end:]


def entry(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path of keys; None if there is none."""
    node = _Scanner(text if text.strip() else "{}").document()
    for name in path:
        if name not in node.members:
            return None
        node = node.members[name].value
    return node.plain


def _inserted(text: str, node: _Node, shown: str, depth: int) -> str:
    """Return the text with an entry at the beginning of an object."""
    at = node.start + 1
    line = "\n" + _STEP * (depth + 1)
    if node.members:
        return f"{text[:at]}{line}{shown},{text[at:]}"
    return f"{text[:at]}{line}{shown}\n{_STEP * depth}{text[at:].lstrip(_SPACE)}"


@dataclass(slots=True)
class _Member:
    start: int  # of its key
    value: _Node


@dataclass(slots=True)
class _Node:
    start: int
    end: int = 0
    kind: str = ""  # the first character
    members: dict[str, _Member] = field(default_factory=dict)
    plain: Any = None


class _Scanner:
    """Reads JSON with comments and trailing commas, and notes where each value is."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def document(self) -> _Node:
        """Return the object that the text holds."""
        try:
            node = self._value()
            self._skip()
        except (IndexError, ValueError, RecursionError):
            raise InvalidInput("the file is not valid JSON; mend it first") from None
        if node.kind != "{" or self._at != len(self._text):
            raise InvalidInput("the file does not hold one JSON object; mend it first")
        return node

    def _skip(self) -> None:
        """Skip white space and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in _SPACE or text[self._at] == "\ufeff":
                self._at += 1
            elif text.startswith("//", self._at):
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif text.startswith("/*", self._at):
                self._at = text.index("*/", self._at) + 2
            else:
                return

    def _value(self) -> _Node:
        self._skip()
        node = _Node(self._at, kind=self._text[self._at])
        if node.kind == "{":
            self._object(node)
        elif node.kind == "[":
            self._list(node)
        else:
            node.plain, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
        node.end = self._at
        return node

    def _object(self, node: _Node) -> None:
        self._at += 1
        node.plain = {}
        while not self._closed("}"):
            start = self._at
            key, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
            self._expect(":")
            value = self._value()
            node.members[str(key)], node.plain[key] = _Member(start, value), value.plain
            self._comma("}")

    def _list(self, node: _Node) -> None:
        self._at += 1
        node.plain = []
        while not self._closed("]"):
            node.plain.append(self._value().plain)
            self._comma("]")

    def _closed(self, sign: str) -> bool:
        self._skip()
        if self._text[self._at] != sign:
            return False
        self._at += 1
        return True

    def _comma(self, closing: str) -> None:
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
        elif self._text[self._at] != closing:
            raise ValueError(closing)

    def _expect(self, sign: str) -> None:
        self._skip()
        if self._text[self._at] != sign:
            raise ValueError(sign)
        self._at += 1
