"""Other inflected forms of a word of a question, in German, French and Spanish.

Words of every language are indexed by the English stem, so "Sicherungen" and "Sicherung" are two terms. A question in another
language therefore also searches the forms of its words: those that the stemmer of the language reduces to the same stem.
Nothing depends on the language of an indexed text, which may be short or mixed.
"""

from __future__ import annotations

from functools import lru_cache

import Stemmer

from contextd.text.terms import terms_of

_ENDINGS = {
    "de": ("german", " e en er em es n s ern t st te ten et est ung ungen lich ig".split(" ")),
    "fr": (
        "french",
        " e s es er é ée és ées ez ons ent ais ait ant ir it is issent re x aux al eur euse ie ies ment ion ions".split(" "),
    ),
    "es": (
        "spanish",
        " o a os as e es ar er ir é ó í an en amos emos imos ado ada ados adas ido ida ando iendo aba ía ción mente".split(" "),
    ),
}
LANGUAGES = frozenset(_ENDINGS)
_SHORTEST = 3  # letters of a stem; shorter ones are of too many words


@lru_cache(maxsize=1 << 10)
def inflected(word: str, language: str) -> frozenset[str]:
    """Return the terms of the other forms of a lower-case word; none in a language whose forms are not known."""
    if language not in _ENDINGS or not word.isalpha():
        return frozenset()
    stem, endings = _stemmer(language), _ENDINGS[language][1]
    root = stem.stemWord(word)
    begun = {root, word[: len(root)]} if len(root) >= _SHORTEST else set[str]()  # préfér and préfer, of préférées
    forms = (start + ending for start in begun for ending in endings if stem.stemWord(start + ending) == root)
    return frozenset(term for form in forms for term in terms_of(form)) - frozenset(terms_of(word))


@lru_cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(_ENDINGS[language][0], 0)
