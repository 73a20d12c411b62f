"""Words of limits and of questions that touch them, by classes, in six languages: `learned/limits.json`.

An entry begins a word of the text; several words follow each other. With `$` it ends a word, too; with `*` it may begin inside
one (`*itis$` is an ending). Chinese and Japanese entries are found anywhere. Entries are looked up by their first
letters, so nothing has to be compiled.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = ("zh", "ja")
_KEYS = (1, 2, 3)  # letters by which an entry is looked up: a single one, the first two, or the space and two of a word


@lru_cache(maxsize=1 << 10)
def classes_of(text: str) -> frozenset[str]:
    """Return the classes of words that a text has: body, medicine, diet, ask_food, household …"""
    words = f" {' '.join(_WORD.findall(unicodedata.normalize('NFKC', text).casefold()))} "
    beginnings = ((at, words[at : at + size]) for at in range(len(words)) for size in _KEYS)
    return frozenset(name for at, key in beginnings for entry, name in _known().get(key, ()) if words.startswith(entry, at))


@lru_cache
def _known() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return all entries with their classes, by their first letters."""
    told: dict[str, dict[str, list[str]]] = json.loads(
        files("contextd.text").joinpath("learned", "limits.json").read_text("utf-8")
    )
    known: dict[str, list[tuple[str, str]]] = {}
    for name, by_language in told.items():
        for language, entries in by_language.items():
            for entry in (_sought(one, language) for one in entries):
                known.setdefault(entry[: _KEYS[-1] if entry.startswith(" ") else _KEYS[-2]], []).append((entry, name))
    return known


def _sought(entry: str, language: str) -> str:
    """Return an entry as it stands in a text whose words have single spaces around them."""
    if language in _UNSPACED:
        return entry
    begun = entry[1:] if entry.startswith("*") else f" {entry}"
    return f"{begun[:-1]} " if begun.endswith("$") else begun
