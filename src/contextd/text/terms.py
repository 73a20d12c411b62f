"""Split text into search terms: one tokenizer for every field, engine and query.

A word is lower-cased and stemmed. An identifier is indexed whole and by its parts (`getUserName` is
getusername, get, user, name). Runs of Chinese, Japanese and Korean letters are indexed as pairs of letters.
Terms are stored as 64-bit keys, salted by field, so that word lists are arrays of integers.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import Stemmer

if TYPE_CHECKING:
    from hashlib import blake2b

BODY, NAME, STEM, FOLDER, DEFINED, PARTS = "", "\x00", "\x01", "\x02", "\x03", "\x04"

_LONGEST = 64  # longer runs are data, not words
_MOST_TOKENS = 1 << 16  # size of the cache: enough for most tokens of a project; more would cost memory in every worker
_PART_LENGTH = 4  # letters of a part of a word; most stems are longer, most endings shorter
_TOKEN = re.compile(r"[CcFf]#(?!\w)|[Cc]\+\+|[€£¥]|\w+")
_WORD = re.compile(r"\w+")  # for texts without such signs
_SIGNS = ("++", "€", "£", "¥")
_SHARP = ("C#", "c#", "F#", "f#")
_SPACED = "".join(sign if sign.isalnum() or sign == "_" else " " for sign in map(chr, range(128)))  # others become spaces
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_ENTRIES = frozenset("mod index __init__ init lib package-info".split())
_stem = lru_cache(maxsize=1 << 15)(Stemmer.Stemmer("english", 0).stemWord)


@lru_cache(maxsize=1 << 15)
def terms_of(token: str) -> tuple[str, ...]:
    """The terms of one token of text, most specific first."""
    if len(token) > _LONGEST:
        return ()
    whole = token.lower()
    if whole.isascii():
        return _identifier(token, whole) if token.isalnum() or "_" in token else (whole,)
    if _wide().search(whole):
        return _pairs(whole)
    return (_stem(whole),)


@cache  # compiled on use: it takes longer than all other patterns here
def _wide() -> re.Pattern[str]:
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def split(text: str) -> list[str]:
    """All terms of a text, in order, with repetitions."""
    return [term for token in _tokens(text) for term in terms_of(token)]


def words(text: str) -> list[str]:
    """Return all runs of letters, digits and underscores. For ASCII, a table is three times as fast as a pattern."""
    return text.translate(_SPACED).split() if text.isascii() else _WORD.findall(text)


def _tokens(text: str) -> list[str]:
    """Return all tokens of a text. The slow pattern is used only if there are signs, which is rare."""
    signs = any(sign in text for sign in _SIGNS) or ("#" in text and any(sign in text for sign in _SHARP))
    return _TOKEN.findall(text) if signs else words(text)


def matches(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Return start and end of each word of a text that has one of the wanted terms."""
    found = ((token.span(), terms_of(token[0])) for token in _TOKEN.finditer(text))
    return [span for span, terms in found if any(term in wanted for term in terms)]


def plain(text: str) -> str:
    """Normalize case, white space and punctuation, to compare texts. A text of only signs stays as it is."""
    kept = "".join(sign if sign.isalnum() or sign in "+#€$£%.," else " " for sign in text.casefold())
    return " ".join(kept.split()).rstrip(".,") or text.strip()


def parts_of(identifier: str) -> list[str]:
    """The lower-case words inside an identifier."""
    return [part.lower() for part in humps(identifier)]


def humps(identifier: str) -> list[str]:
    """The words inside an identifier, as they are written. Lower case without digits needs no pattern."""
    spaced = identifier.replace("_", " ")
    plain = identifier.islower() and identifier.isascii() and spaced.replace(" ", "").isalpha()
    return spaced.split() if plain else _PART.findall(identifier)


def key(term: str, field: str = BODY) -> int:
    """The 64-bit key of a term in a field."""
    return int.from_bytes(_blake2b()((field + term).encode("utf-8", "replace"), digest_size=8).digest(), "little")


@cache
def _blake2b() -> type[blake2b]:
    """Return the hash function. It is loaded on use: the command line shows terms and needs no keys."""
    from hashlib import blake2b

    return blake2b


class _Keys(dict[str, tuple[int, ...]]):
    """Cache: token → keys of its terms. A full cache is cleared; common tokens are soon in it again."""

    def __missing__(self, token: str) -> tuple[int, ...]:
        if len(self) >= _MOST_TOKENS:
            self.clear()
        keys = self[token] = tuple(map(_body_key, terms_of(token)))
        return keys


_keys = _Keys()


@lru_cache(maxsize=1 << 15)  # most identifiers are new, most of their parts are not
def _body_key(term: str) -> int:
    return key(term)


@lru_cache(maxsize=1 << 12)  # a name is looked up twice in a row: it is in its label, too
def _name_key(name: str) -> int:
    return key(name, NAME)


@lru_cache(maxsize=1 << 12)
def _defined_keys(name: str) -> tuple[int, ...]:
    return tuple(map(_defined_key, split(name)))


@lru_cache(maxsize=1 << 14)
def _defined_key(term: str) -> int:
    return key(term, DEFINED)


def parts_of_words(text: str) -> set[str]:
    """Return n-grams of the words of a text, without accents: inflected and compound words of any language share them."""
    found: set[str] = set()
    for word in re.findall(r"\w+", text.casefold()):
        if _wide().search(word):
            found |= {*word, *_pairs(word)}
            continue
        bare = "_" + "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))
        found |= {bare[at : at + _PART_LENGTH] for at in range(max(1, len(bare) - _PART_LENGTH + 1))}
    return found


def about(concept: str, *, wide: bool = False) -> str:
    """Return the term of a concept, or of its wide sense. The colon keeps it apart from parts of words."""
    return f"::{concept}" if wide else f":{concept}"


def encode(text: str, labels: Iterable[str] = (), parts: Iterable[str] = ()) -> bytes:
    """Count the terms of a text: the keys (8 bytes each), then a count (1 byte) for each.

    Names that the text defines (labels), the words in them, parts of words and concepts are keys of separate fields. Their
    count is 0, so that they do not change the length of the text.
    """
    # No Python loop over the words: it took most of the time of an index run.
    counts: dict[int, int] = Counter(chain.from_iterable(map(_keys.__getitem__, _tokens(text))))
    for label in labels:
        for number in chain(map(_name_key, defined_names(label)), _defined_keys(label.rpartition(".")[2])):
            counts.setdefault(number, 0)
    for part in parts:
        counts.setdefault(key(part, PARTS), 0)
    return array("Q", counts).tobytes() + bytes([count if count < 255 else 255 for count in counts.values()])


@lru_cache(maxsize=1 << 15)
def stem_of(path: str) -> str:
    """Return the name of a file without extension; for an entry file (`mod.rs`, `__init__.py`), the name of its folder."""
    *folders, name = path.split("/")
    stem = name.split(".")[0] or name
    return folders[-1] if folders and stem.lower() in _ENTRIES else stem


def encode_path(path: str) -> bytes:
    """The keys of a path: the words of its stem and of its folders, each in a field of its own."""
    stem, folders = stem_of(path), path.split("/")[:-1]
    keys = {key(term, STEM) for term in split(stem)} | {key(stem.lower(), STEM)}
    return array("Q", sorted(keys.union(*map(_folder_keys, folders)))).tobytes()


@lru_cache(maxsize=1 << 12)  # most files share their folders
def _folder_keys(folder: str) -> frozenset[int]:
    return frozenset(key(term, FOLDER) for term in split(folder))


def defined_names(label: str) -> list[str]:
    """The names under which a chunk labelled `Class.method` is looked up: lower-case, without marks around them."""
    whole = label.lower().strip("$@_!?")
    last = whole.rpartition(".")[2].strip("$@_!?")
    return [whole] if last == whole else [whole, last]


def _identifier(token: str, whole: str) -> tuple[str, ...]:
    if whole == token and token.isalpha():
        return (_stem(whole),)
    parts = [_stem(part.lower()) for part in humps(token)]
    if len(parts) <= 1:
        return (parts[0] if parts else whole,)
    return (whole.strip("_"), *dict.fromkeys(parts))


def _pairs(word: str) -> tuple[str, ...]:
    return tuple(a + b for a, b in pairwise(word)) or (word,)
