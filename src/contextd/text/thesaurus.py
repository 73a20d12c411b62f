"""Concepts of everyday words in six languages, so that "Where do I live?" matches "Ich wohne in Hamburg".

The thesaurus is written by hand (`learned/concepts.json`). A concept has word stems, whole words (with a `$`), substrings for
Chinese and Japanese, and broader concepts (`is`). A word may have several concepts. A word that is not listed has none, and
matches only itself.
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
_UNSPACED = ("zh", "ja")
_COMPOUND = 9  # minimum letters of a word that may be a compound: Schuhgröße
_LONGEST = 40  # letters; longer words are data
_STEM = 4  # minimum letters of a stem that tells the language
_INNER = 5  # minimum letters of a stem inside a compound
_FIRST = 3  # minimum letters of the first word of a compound


class _Thesaurus(NamedTuple):
    """Concepts by whole words, by stems, and by substrings of text without spaces (`pieces`)."""

    words: Mapping[str, Sequence[str]]
    stems: Mapping[str, Sequence[str]]
    pieces: Mapping[str, Sequence[str]]
    longest: int  # letters of the longest piece
    wider: Mapping[str, Sequence[str]]
    languages: Mapping[str, frozenset[str]]  # of words and stems of languages with spaces


def concepts_of(text: str) -> frozenset[str]:
    """Return the concepts of the words of a text."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return frozenset().union(*map(_of_word, words))


@lru_cache(maxsize=1 << 15)  # the facts of a person have few different words, and each query reads sixty facts
def _of_word(word: str) -> frozenset[str]:
    return frozenset(concept for about in _about(word) for concept in about)


def widened(concepts: frozenset[str]) -> frozenset[str]:
    """Add the broader concepts of each concept, by one step: swimming is a sport."""
    return concepts.union(*(_known().wider.get(concept, ()) for concept in concepts))


def languages_of(word: str) -> frozenset[str]:
    """Return the languages in which a lower-case word, or its longest known stem, is listed; none if it is not listed."""
    known = _known().languages
    if word in known:
        return known[word]
    stems = (known[word[:end]] for end in range(len(word) - 1, _STEM - 1, -1) if word[:end] in known)
    return next(stems, frozenset())


def _about(word: str) -> Iterator[Sequence[str]]:
    known = _known()
    if not word.isascii() and _wide().search(word):
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
        yield from _halves(word)


def _halves(word: str) -> Iterator[Sequence[str]]:
    """Yield the concepts of both words of a German compound whose last word is listed: Ringgröße."""
    known = _known()
    for start in range(_FIRST, len(word) - _INNER + 1):
        if "de" in known.languages.get(word[start:], ()) and word[start:] in known.words:
            yield known.words[word[start:]]
            yield known.words.get(word[:start], ())


@lru_cache  # compiled on use: a long range of characters takes milliseconds
def _wide() -> re.Pattern[str]:
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@lru_cache  # a few sets for all words
def _with(known: frozenset[str], language: str) -> frozenset[str]:
    return known | {language}


@lru_cache
def _known() -> _Thesaurus:
    words: dict[str, list[str]] = {}
    stems: dict[str, list[str]] = {}
    pieces: dict[str, list[str]] = {}
    wider: dict[str, list[str]] = {}
    languages: dict[str, frozenset[str]] = {}
    none: frozenset[str] = frozenset()
    for concept, told in json.loads(files("contextd.text").joinpath("learned", "concepts.json").read_text("utf-8")).items():
        wider[concept] = told.pop("is", [])
        for language, entries in told.items():
            for entry in entries:
                if language in _UNSPACED:
                    pieces.setdefault(entry, []).append(concept)
                    continue
                bare = entry.removesuffix("$")
                languages[bare] = _with(languages.get(bare, none), language)
                (words if entry.endswith("$") else stems).setdefault(bare, []).append(concept)
    return _Thesaurus(words, stems, pieces, max(map(len, pieces)), wider, languages)
