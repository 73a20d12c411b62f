"""The language of a short text: by its script, or by the small words in it."""

from __future__ import annotations

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
_SMALL = {
    "en": (
        "the a an i my is are and of to in for with on at not no we our have has was it this that but or by from me he she"
    ).split(),
    "de": (
        "der die das ein eine ich mein meine ist sind und von zu im für "
        "mit auf am nicht kein in wir unser habe hat war es aber oder bei aus"
    ).split(),
    "fr": (
        "le la les un une je mon ma mes est sont et de du des à "
        "au pour avec sur pas nous notre j'ai ai a c'est mais ou par dans en"
    ).split(),
    "es": (
        "el la los las un una yo mi mis es son y de del a al "
        "para con en no nosotros nuestro tengo ha era pero o por me se que soy"
    ).split(),
    "it": ("il lo la gli un una io mio mia è sono e di del a per con in non noi nostro ho ha era ma o da che mi si").split(),
    "pt": (
        "o os as um uma eu meu minha é são e de do da em para com no na não nós nosso tenho tem era mas ou por que me se"
    ).split(),
    "nl": ("de het een ik mijn is zijn en van te in voor met op niet geen wij onze heb heeft was maar of bij uit").split(),
}
_WORDS = {language: frozenset(words) for language, words in _SMALL.items()}
_LETTERS = {"de": "äöüß", "fr": "éèêàçùœ", "es": "ñ¿¡áíóú", "pt": "ãõ"}


def language_of(text: str) -> str:
    """A code of two letters; empty when nothing tells."""
    for language, script in _SCRIPTS:
        if script.search(text):
            return language
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    scores = {language: sum(word in small for word in words) for language, small in _WORDS.items()}
    for language, letters in _LETTERS.items():
        scores[language] += sum(letter in text.lower() for letter in letters)
    best = max(scores, key=lambda language: (scores[language], language == "en"))
    return best if scores[best] else ""
