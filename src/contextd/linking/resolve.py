"""Resolve an import to documents of the project.

Languages name modules differently, but the parts of the name are parts of a path. A target is looked up by its last part;
candidates are kept if the rest matches, too. A name that matches nothing belongs to another project.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from contextd.text.paths import parts_of_target, without_ending

_ENTRY = frozenset("index __init__ mod lib main init package".split())
_RUST_HERE = ("crate", "self", "super")
_BY_FOLDER = frozenset({"go"})  # languages in which a package is a folder
_BY_TWO = frozenset("java kotlin scala php csharp swift haskell elixir".split())  # the last part alone is not enough


@dataclass(slots=True)
class Places:
    """The documents of a project, by the names they can be imported as."""

    uris: Iterable[str]
    by_stem: dict[str, list[str]] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for uri in self.uris:
            self.known.add(uri)
            for stem in stems_of(uri):
                self.by_stem.setdefault(stem, []).append(uri)
            self.folders.setdefault(posixpath.dirname(uri), []).append(uri)


def stems_of(uri: str) -> list[str]:
    """Return the last parts by which a document may be imported: its name, and its folder's name."""
    folder, name = posixpath.split(uri)
    stem = name.partition(".")[0].lower() if not name.startswith(".") else name.lower()
    above = posixpath.basename(folder).lower()
    whole = [""] if stem in _ENTRY else []  # `require("..")` names no file at all
    return [one for one in dict.fromkeys((stem, above)) if one] + whole


def resolve(uri: str, language: str, target: str, places: Places) -> list[str]:
    """Return the documents that an import in `uri` means; none if it is of another project."""
    if target.startswith("."):
        return _relative(uri, target, language, places)
    found = [one for one in _absolute(uri, language, target, places) if _kin(uri, one)]
    near = max((_common_folders(uri, one) for one in found), default=0) if language not in _BY_FOLDER else 0
    return [one for one in found if _common_folders(uri, one) >= near]  # of several matches, the nearest


def _common_folders(one: str, two: str) -> int:
    return len(posixpath.commonprefix([one.split("/")[:-1], two.split("/")[:-1]]))


def _absolute(uri: str, language: str, target: str, places: Places) -> list[str]:
    near = posixpath.normpath(posixpath.join(posixpath.dirname(uri), target))
    if near in places.known:
        return [near]
    parts = [part for part in parts_of_target(target) if part != "*"]
    if language == "rust":
        parts = [part for part in parts if part not in _RUST_HERE]
    if not parts:
        return []
    if language in _BY_FOLDER:
        return _go(parts, places)
    return _fitting(parts, target, language, places)


_KIN = (
    {"js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "json"},
    {"c", "h", "cc", "cpp", "cxx", "hpp", "hh"},
    {"java", "kt", "scala"},
)


def _kin(one: str, two: str) -> bool:
    """Return whether files of two extensions can import each other."""
    endings = {one.rpartition(".")[2].lower(), two.rpartition(".")[2].lower()}
    return len(endings) == 1 or any(endings <= kin for kin in _KIN)


def _relative(uri: str, target: str, language: str, places: Places) -> list[str]:
    here = posixpath.dirname(uri)
    if language == "python":
        dots = len(target) - len(target.lstrip("."))
        base = posixpath.normpath(posixpath.join(here, *[".."] * (dots - 1)))
        path = posixpath.join(base, *[part for part in target.lstrip(".").split(".") if part])
    else:
        path = posixpath.join(here, target)
    path = posixpath.normpath(path)
    if path in places.known:
        return [path]
    bare = without_ending(path) if path != "." else ""
    stem = posixpath.basename(bare).lower()
    there = places.by_stem.get(stem, ()) if stem else places.folders.get("", ())
    return [one for one in there if _is_at(one, bare) and _kin(uri, one)]


def _is_at(uri: str, path: str) -> bool:
    """Return whether a document is at a path without extension, or is the entry file of that folder."""
    bare = posixpath.join(posixpath.dirname(uri), posixpath.basename(uri).partition(".")[0])
    return bare == path or (posixpath.dirname(uri) == path and posixpath.basename(bare) in _ENTRY)


def _go(parts: Sequence[str], places: Places) -> list[str]:
    if len(parts) < 3:
        return []
    for size in (3, 2, 1):
        ending = "/".join(parts[-size:])
        found = [folder for folder in places.folders if folder == ending or folder.endswith("/" + ending)]
        if found:
            best = min(found, key=len)
            return [uri for uri in places.folders[best] if uri.endswith(".go") and not uri.endswith("_test.go")]
    return []


def _fitting(parts: Sequence[str], target: str, language: str, places: Places) -> list[str]:
    """Return the documents whose paths end in the parts of the target; most matching parts win."""
    lowered = [part.lower().replace("-", "_") for part in parts]
    best: list[str] = []
    most = 0
    for last in (len(lowered), len(lowered) - 1):  # the last part may be a name inside the module
        if last < 1:
            break
        wanted = lowered[:last]
        for uri in places.by_stem.get(wanted[-1], ()):
            fit = _fit(uri, wanted)
            if fit > most:
                best, most = [uri], fit
            elif fit == most and fit:
                best.append(uri)
        if best:
            break
    needed = len(lowered) if language in ("python", "lua", "ruby") else 2 if language in _BY_TWO else 1
    inside = most >= min(needed, len(lowered)) or (most >= len(lowered) - 1 and most >= (1 if language == "rust" else 2))
    return best if inside and not (len(parts) == 1 and _foreign(target, language, best)) else []


def _fit(uri: str, wanted: Sequence[str]) -> int:
    """Return how many of the last parts of a target are the last parts of a path."""
    bare = posixpath.join(posixpath.dirname(uri), posixpath.basename(uri).partition(".")[0])
    path = [part.lower().replace("-", "_") for part in bare.split("/")]
    ways = [path]
    if path[-1] in _ENTRY:
        ways.append(path[:-1])
    return max(_common(way, wanted) for way in ways)


def _common(path: Sequence[str], wanted: Sequence[str]) -> int:
    count = 0
    while count < min(len(path), len(wanted)) and path[-1 - count] == wanted[-1 - count]:
        count += 1
    return count


def _foreign(target: str, language: str, best: Sequence[str]) -> bool:
    """Return whether a bare name is a foreign package: no file of that name is at the top, and the language is not like C."""
    if language in ("c", "cpp", "shell", "zig", "rust"):
        return False
    return all(_depth(uri) > 1 for uri in best)


def _depth(uri: str) -> int:
    """Return the number of folders around a module. An entry file counts as its folder."""
    return uri.count("/") - (posixpath.basename(uri).partition(".")[0] in _ENTRY)
