"""Properties of a file by its path: a test, an example, generated, superseded. Also splits import targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

_TEST = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testing|fixtures?|testdata|mocks?)/"
    r"|(^|/)(test_[^/]*|[^/]*(_test|_spec|\.test|\.spec|Tests?|Spec))\.\w+$"
)
_EXAMPLE = re.compile(r"(^|/)(examples?|samples?|demos?|benchmarks?|bench|compat|legacy|deprecated|vendor|third_party)/")
_SPLIT = re.compile(r"[\\/.:]+")
_ENDING = re.compile(r"\.(?:js|ts|tsx|jsx|mjs|cjs|h|hpp|hh|py|rb|php|lua|sh|zig|json|css|vue)$")
_MADE = re.compile(r"(_pb2|\.pb|\.generated|_generated|\.g)\.\w+$|(^|/)generated?/|(^|/)locale/|\.pot?$")


def without_ending(target: str) -> str:
    """Return an import target without its file extension."""
    return _ENDING.sub("", target)


def parts_of_target(target: str) -> list[str]:
    """Split an import target into its parts: `a.b.C`, `./x/y.js`, `a::b` and `A\\B` alike."""
    return [part for part in _SPLIT.split(without_ending(target)) if part]


def names_file(path: str, uri: str) -> bool:
    """Whether a path given by a user means this file: the same path, the end of it, or a longer path that ends with it."""
    return uri == path or uri.endswith("/" + path) or path.endswith("/" + uri)


@lru_cache(maxsize=1 << 15)
def is_test(uri: str) -> bool:
    """Whether a file is a test or test data."""
    return bool(_TEST.search(uri))


@lru_cache(maxsize=1 << 15)
def is_example(uri: str) -> bool:
    """Whether a file is an example, a benchmark, legacy or third-party code, and not a test."""
    return not is_test(uri) and bool(_EXAMPLE.search(uri))


@lru_cache(maxsize=1 << 15)
def is_generated(uri: str) -> bool:
    """Whether a file is generated."""
    return bool(_MADE.search(uri))


_VERSION = re.compile(r"(?:^|/)v(\d{1,3})(?=/)")


def superseded(uris: Iterable[str], kept: Iterable[str] = ()) -> frozenset[str]:
    """Return the files in folders of old versions (`v1/` beside `v2/`), except the versions in `kept`, such as `v1`."""
    versions: dict[str, list[tuple[int, str]]] = {}
    for uri in uris:
        if match := _VERSION.search(uri):
            versions.setdefault(uri[: match.start(1)], []).append((int(match[1]), uri))
    asked = set(kept)
    return frozenset(
        uri
        for several in versions.values()
        for number, uri in several
        if number < max(several)[0] and f"v{number}" not in asked
    )


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern."""
    return any(sign in path for sign in "*?[")


def below(paths: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a uri is at or below one of the paths, or matches one that is a pattern.

    Folders are looked up in a set, so many paths cost no more than one. Patterns are compiled once and tried one by one.
    """
    if any(path in ("", ".") for path in paths):
        return lambda uri: True
    whole, folders = frozenset(paths), frozenset(path.rstrip("/") for path in paths)
    patterns = [re.compile(translate(path)).match for path in paths if is_pattern(path)]

    def inside(uri: str) -> bool:
        if uri in whole or any(pattern(uri) for pattern in patterns):
            return True
        return any(uri[:at] in folders for at, letter in enumerate(uri) if letter == "/")

    return inside
