"""What the words of everyday life are about, in six languages: so that "Where do I live?" meets "Ich wohne in Hamburg".

A thesaurus written by hand (`learned/concepts.json`): stems of words, whole words (with a `$`), for Chinese and Japanese pieces
of text; and of which other concepts each `is` a part. A word may be about several things; a word that is not there is about
nothing here, and is found by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_COMPOUND = 9  # letters of a word that may be made of two: Schuhgröße
_INNER = 5  # letters of a stem that is looked for inside of one


class _Thesaurus(NamedTuple):
    """Concepts by whole words, by beginnings of words, and by pieces of text without spaces."""

    words: Mapping[str, frozenset[str]]
    stems: Mapping[str, frozenset[str]]
    pieces: Mapping[str, frozenset[str]]
    longest: int  # of the pieces
    wider: Mapping[str, Sequence[str]]


def concepts_of(text: str) -> frozenset[str]:
    """What a text is about, as far as the thesaurus knows."""
    return frozenset().union(*(about for word in _WORD.findall(text.casefold()) for about in _about(word)))


def widened(concepts: frozenset[str]) -> frozenset[str]:
    """Concepts with those they are part of: who swims does a sport. For what is told, not for what is asked."""
    return concepts.union(*(_known().wider.get(concept, ()) for concept in concepts))


def _about(word: str) -> Iterator[frozenset[str]]:
    known = _known()
    if _WIDE.search(word):
        ends = range(1, known.longest + 1)
        yield from (known.pieces.get(word[at : at + size], frozenset()) for at in range(len(word)) for size in ends)
        return
    yield known.words.get(word, frozenset())
    yield from (known.stems.get(word[:end], frozenset()) for end in range(1, len(word) + 1))
    if len(word) >= _COMPOUND:
        rests = (word[start:] for start in range(1, len(word) - _INNER + 1))
        yield from (known.stems.get(rest[:end], frozenset()) for rest in rests for end in range(_INNER, len(rest) + 1))


@lru_cache
def _known() -> _Thesaurus:
    told: dict[str, dict[str, list[str]]] = json.loads(
        files("contextd").joinpath("learned", "concepts.json").read_text("utf-8")
    )
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    pieces: dict[str, set[str]] = {}
    wider = {concept: languages.pop("is") for concept, languages in told.items() if "is" in languages}
    for concept, languages in told.items():
        for entry in (entry.casefold() for entries in languages.values() for entry in entries):
            kept = pieces if _WIDE.search(entry) else words if entry.endswith("$") else stems
            kept.setdefault(entry.removesuffix("$"), set()).add(concept)
    whole, begun, inside = ({entry: frozenset(about) for entry, about in kept.items()} for kept in (words, stems, pieces))
    return _Thesaurus(whole, begun, inside, max(map(len, inside), default=0), wider)
