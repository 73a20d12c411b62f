"""Results of questions about the structure of code: values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefinitionSite:
    """A place where a name is defined."""

    uri: str
    line: int
    kind: str
    label: str
    signature: str


@dataclass(frozen=True, slots=True)
class Use:
    """A place where a name is called or inherited from. `sure` if no other definition matches as well."""

    uri: str
    line: int
    how: str
    inside: str
    text: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Dependent:
    """A file that depends on the file or name in question: why, at which distance, and whether it is a test."""

    uri: str
    distance: int
    why: str
    test: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """A text within a budget, and the files it shows."""

    text: str
    tokens: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A match of an exact text or a pattern."""

    uri: str
    line: int
    column: int
    match: str
    text: str  # of the line on which it begins
    kind: str
    label: str
