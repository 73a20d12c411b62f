"""Limits on requests: one table for the library, the command line and the server, checked where they meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from contextd.errors import InvalidInput, TooLarge
from contextd.text.invisible import visible_line


class Limit(NamedTuple):
    """Maximum number of entries of a field, and of characters of each entry."""

    entries: int
    characters: int


LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "query": Limit(1, 100_000),
        "history": Limit(100, 100_000),
        "paths": Limit(200, 4096),
        "paths with wildcards": Limit(20, 500),  # each is compared with every file
        "languages": Limit(100, 100),
        "kinds": Limit(100, 100),
        "topics": Limit(100, 200),
        "conversation": Limit(1, 500),
        "template": Limit(1, 100),
        "ranker": Limit(1, 100),
        "facets": Limit(20, 2000),
        "name": Limit(1, 4096),  # of a symbol or a file
        "reader": Limit(1, 200),
        "group": Limit(100, 200),
        "token": Limit(1, 100),
        "principal": Limit(100, 200),
        "also": Limit(20, 4096),
        "vector": Limit(10_000, 0),
        "usage": Limit(10, 500),  # names and notes of reported usage
    }
)
MOST_TOKENS = 1_000_000_000  # of a budget
MOST_DAYS = 3650  # of a report
LARGEST_K = 1_000_000_000  # of a requested k; `querying` reduces it further


def checked_text(field: str, text: str) -> str:
    """Return a caller's text. Raises InvalidInput if it is no text or too long."""
    if not isinstance(text, str):
        raise InvalidInput(f"{field}: expected text, not {type(text).__name__}")
    if len(text) > LIMITS[field].characters:
        raise TooLarge(f"{field}: too many characters: {len(text):,} (maximum {LIMITS[field].characters:,})")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text  # replaces lone surrogates


def checked_query(text: str) -> str:
    """Return the text of a query. Raises InvalidInput if it is empty: nothing could answer it."""
    if not checked_text("query", text).strip():
        raise InvalidInput("the query is empty; give a question, a name or a path")
    return text


def checked_texts(field: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's texts. Raises InvalidInput if there are too many or one is too long."""
    if isinstance(texts, str):
        raise InvalidInput(f"{field}: expected a list of texts, not a single text")
    most = LIMITS[field].entries
    found = tuple(islice(texts, most + 1))
    if len(found) > most:
        count = f"{len(texts):,}" if isinstance(texts, Sequence) else f"more than {most:,}"
        raise TooLarge(f"{field}: too many entries: {count} (maximum {most:,})")
    return tuple(checked_text(field, text) for text in found)


def checked_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's paths. Fewer of them may be patterns."""
    found = checked_texts("paths", paths)
    checked_texts("paths with wildcards", [path for path in found if any(sign in path for sign in "*?[")])
    return found


def checked_path(path: str) -> Path:
    """Return a caller's path with `~` expanded. Raises InvalidInput if it contains NUL."""
    if "\0" in checked_text("name", str(path)):
        raise InvalidInput(f"{visible_line(str(path))} is not a valid path: it contains a NUL character")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InvalidInput(f"{path}: no such user; give the full path, or start the path with ./") from None


def checked_number(field: str, number: int, most: int) -> int:
    """Return a caller's integer. Raises InvalidInput if it is no integer or too large."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidInput(f"{field}: expected an integer, not {type(number).__name__}")
    if number > most:
        raise InvalidInput(f"{field}: value too large: {number:,} (maximum {most:,})")
    return number


def checked_name(name: str, what: str) -> str:
    """Return the name of a reader. Raises InvalidInput if it is empty or has invisible characters. `what` names its limit."""
    if not checked_text(what, name).strip():
        raise InvalidInput("the reader's name is empty; use a name such as owner")
    if visible_line(name) != name:
        raise InvalidInput(f"invalid reader name: {name!r} contains invisible characters")
    return name


def checked_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of principals that get access. Raises InvalidInput if there are none."""
    if found := frozenset(checked_name(name, "principal") for name in checked_texts("principal", names)):
        return found
    raise InvalidInput("no reader given; give a name such as owner or everyone")
