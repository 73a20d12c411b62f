"""What the words of everyday life are about, in six languages: so that "Where do I live?" meets "Ich wohne in Hamburg".

A thesaurus written by hand (`learned/concepts.json`): stems of words, whole words (with a `$`), for Chinese and Japanese pieces
of text; and of which other concepts each `is` a part. A word may be about several things; a word that is not there is about
nothing here, and is found by itself.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED = ("zh", "ja")
_COMPOUND = 9  # letters of a word that may be made of two: Schuhgröße
_LONGEST = 40  # letters; what is longer is data
_INNER = 5  # letters of a stem that is looked for inside of one


class _Thesaurus(NamedTuple):
    """Concepts by whole words, by beginnings of words, and by pieces of text without spaces."""

    words: Mapping[str, Sequence[str]]
    stems: Mapping[str, Sequence[str]]
    pieces: Mapping[str, Sequence[str]]
    longest: int  # of the pieces
    wider: Mapping[str, Sequence[str]]


def concepts_of(text: str) -> frozenset[str]:
    """What a text is about, as far as the thesaurus knows."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return frozenset(concept for word in words for about in _about(word) for concept in about)


def widened(concepts: frozenset[str]) -> frozenset[str]:
    """Concepts with those they are part of, by one step: who swims does a sport."""
    return concepts.union(*(_known().wider.get(concept, ()) for concept in concepts))


def _about(word: str) -> Iterator[Sequence[str]]:
    known = _known()
    if _WIDE.search(word):
        ends = range(1, known.longest + 1)
        yield from (known.pieces.get(word[at : at + size], ()) for at in range(len(word)) for size in ends)
        return
    if len(word) > _LONGEST:
        return
    yield known.words.get(word, ())
    yield from (known.stems.get(word[:end], ()) for end in range(1, len(word) + 1))
    if len(word) >= _COMPOUND:
        rests = (word[start:] for start in range(1, len(word) - _INNER + 1))
        yield from (known.stems.get(rest[:end], ()) for rest in rests for end in range(_INNER, len(rest) + 1))


@lru_cache
def _known() -> _Thesaurus:
    words: dict[str, list[str]] = {}
    stems: dict[str, list[str]] = {}
    pieces: dict[str, list[str]] = {}
    wider: dict[str, list[str]] = {}
    for concept, told in json.loads(files("contextd.text").joinpath("learned", "concepts.json").read_text("utf-8")).items():
        wider[concept] = told.pop("is", [])
        for language, entries in told.items():
            for entry in entries:
                if language in _UNSPACED:
                    pieces.setdefault(entry, []).append(concept)
                elif entry.endswith("$"):
                    words.setdefault(entry[:-1], []).append(concept)
                else:
                    stems.setdefault(entry, []).append(concept)
    return _Thesaurus(words, stems, pieces, max(map(len, pieces)), wider)
