"""Measure whether the lines that answer a question are in a context of a given size.

A line counts if it appears under the path of its file, ignoring white space. Lines that are blank, bare punctuation or only a
comment are not required, unless a span has no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from contextd.errors import InvalidInput

BUDGETS = (500, 1000, 1500, 2000, 4000)
_COMMENT = re.compile(r"#(?!include|define|if|endif|else|elif|pragma)|//|/\*|\*|--|;|\"\"\"|'''")
_PROSE = (".md", ".mdx", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a file, from 1, both ends included."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LineQuestion:
    """A question and its answers: alternatives, each a list of spans that are all required."""

    query: str
    alternatives: tuple[tuple[Span, ...], ...]
    category: str


class Line(NamedTuple):
    """A line that an answer needs, without its white space."""

    path: str
    number: int
    text: str


Required = Sequence[Sequence[Line]]  # by alternative
Shown = Mapping[str, frozenset[str]]  # lines of a context by path, without white space


@dataclass(frozen=True, slots=True)
class LineScore:
    """The score of one question: the share of its lines that are in a context, by budget."""

    query: str
    category: str
    shares: Mapping[int, float]


def line_question(entry: Mapping[str, Any]) -> LineQuestion:
    """Parse a question from JSON. Raises ValueError, KeyError or TypeError if it is invalid."""
    if not isinstance(entry["query"], str) or not entry["answer"] or not all(entry["answer"]):
        raise ValueError("a query and an answer are required; the answer is a list of alternatives, each a list of spans")
    alternatives = tuple(tuple(_span(one) for one in spans) for spans in entry["answer"])
    return LineQuestion(entry["query"], alternatives, str(entry.get("category") or entry.get("kind") or ""))


def _span(entry: Mapping[str, Any]) -> Span:
    span = Span(str(entry["path"]), int(entry["start_line"]), int(entry["end_line"]))
    if not 0 < span.start_line <= span.end_line:
        raise ValueError(f"invalid span: lines {span.start_line} to {span.end_line} of {span.path}")
    return span


def required(one: LineQuestion, text_of: Callable[[str], str | None]) -> Required:
    """Return the lines that each alternative needs. `text_of` returns the text of a file, or None if it is not indexed."""
    return [[line for span in spans for line in _lines(one, span, text_of)] for spans in one.alternatives]


def _lines(one: LineQuestion, span: Span, text_of: Callable[[str], str | None]) -> list[Line]:
    text = text_of(span.path)
    if text is None:
        raise InvalidInput(f"{one.query!r}: {span.path} is not indexed; paths are relative to the project root")
    inside = list(enumerate(text.split("\n"), 1))[span.start_line - 1 : span.end_line]
    wordy = [(number, line) for number, line in inside if re.search(r"\w", line)]
    if not wordy:
        raise InvalidInput(f"{one.query!r}: lines {span.start_line} to {span.end_line} of {span.path} are empty")
    code = [] if span.path.endswith(_PROSE) else [pair for pair in wordy if not _COMMENT.match(pair[1].strip())]
    return [Line(span.path, number, plain(line)) for number, line in code or wordy]


def shown(texts: Iterable[tuple[str, str]]) -> Shown:
    """Return the lines of some texts by path."""
    found: dict[str, set[str]] = {}
    for path, text in texts:
        found.setdefault(path, set()).update(plain(line) for line in text.split("\n"))
    return {path: frozenset(lines) for path, lines in found.items()}


def plain(line: str) -> str:
    """Return a line without its white space."""
    return "".join(line.split())


def share(needed: Required, lines: Shown) -> float:
    """Return the share of required lines that are shown, for the best alternative; 1 is all of them."""
    return max(sum(line.text in lines.get(line.path, ()) for line in need) / len(need) for need in needed)


def means(scores: Sequence[LineScore]) -> dict[str, dict[int, dict[str, float]]]:
    """Return, by category and budget, the share of questions with all lines and the mean share of lines."""
    groups: dict[str, list[LineScore]] = {"all": list(scores)}
    for one in scores:
        if one.category:
            groups.setdefault(one.category, []).append(one)
    return {name: _means(ones) for name, ones in groups.items()}


def _means(scores: Sequence[LineScore]) -> dict[int, dict[str, float]]:
    found = {}
    for budget in scores[0].shares:
        shares = [one.shares[budget] for one in scores]
        whole = sum(value == 1 for value in shares) / len(shares)
        found[budget] = {"questions": float(len(shares)), "all_lines": whole, "lines": sum(shares) / len(shares)}
    return found
