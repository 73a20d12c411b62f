"""The language of a short text, by its script or its stop words; and the stop words of each language."""

from __future__ import annotations

import re
from functools import lru_cache

from contextd.text.thesaurus import languages_of

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
    "en": """the a an i my is are and of to in for with on at not no we our have has was it this that but or by from me he
        she you what when where who which why how do does did can should""",
    "de": """der die das den dem des ein eine einen einem einer ich mein meine meinen ist sind und von zu zum zur im in für
        mit auf am an um nicht kein keine wir uns unser habe haben hat war es er sie du aber oder bei aus als auch nur
        sich mich mir wie was wo wann wer welche welcher welches welchen warum wieviel viel viele bin muss soll kann
        darf gibt noch""",
    "fr": """le la les un une je mon ma mes est sont et de du des à au aux pour avec sur pas nous notre ai a mais ou par dans
        en il elle on ce cette ces me te se ne plus quel quelle quels quelles où quand comment combien qui que quoi dois
        faut suis avons""",
    "es": """el la los las un una yo mi mis es son y de del a al para con en no nosotros nuestro tengo tiene ha era pero o
        por me se que soy lo le te nos su sus este esta qué cuál cuáles cuándo dónde cómo quién cuánto cuánta cuántos
        hay debo puedo está estoy""",
    "it": """il lo la gli un una io mio mia è sono e di del a per con in non noi nostro ho ha era ma o da che mi si ti ci
        questo questa cosa quale quando dove come chi quanto devo posso""",
    "pt": """o os as um uma eu meu minha é são e de do da em para com no na não nós nosso tenho tem era mas ou por que me se
        este esta qual quando onde como quem quanto devo posso""",
    "nl": """de het een ik mijn is zijn en van te in voor met op niet geen wij onze heb heeft was maar of bij uit wat waar
        wanneer wie welke hoe hoeveel mij je jij dit deze moet kan""",
}
_WORDS = {language: frozenset(words.split()) for language, words in _SMALL.items()}
# More stop words, and parts of contractions. They do not count for recognizing the language.
_MORE = {
    "en": "s t d m ll re ve",
    "de": "welchem wird werden wurde diese diesen dieser dieses diesem womit wovon wovor wohin woher wofür seit schon",
    "fr": "j l d c n m t s qu y son sa ses leur leurs nos vos votre tout tous toute toutes chez depuis très avez ont été",
    "es": "tus tu ya más muy desde todo todos toda todas hasta cada estamos están fue ser",
    "it": "l d c un dell nell all più molto",
}
_SAY_NOTHING = {language: words | frozenset(_MORE.get(language, "").split()) for language, words in _WORDS.items()}
ANY_SMALL = frozenset().union(*_WORDS.values())  # stop words of any language
_WHOLE = re.compile(r"(?<![\w-])[^\W\d_]+(?![\w-])")  # whole words, no part of `e-mail`
_HOLDING = re.compile(
    r"[\u3041-\u309f]|[はがをにでとものかよすましたているなんれど]+|どこ|いつ|なに|だれ|どれ|です"
    r"|[私我你您他她它们的了是在有和与吗呢吧什么哪几个多少怎样谁不很都也要会能可以这那就还把被给对何はがをにでとものか]+"
)
_WITH_SMALL = {
    word: tuple(one for one, words in _WORDS.items() if word in words) for words in _WORDS.values() for word in words
}
_SHORT = 300  # letters of a text whose language is remembered
_SMALL_WORD = 1.5  # against 1 for a word of the thesaurus
_LETTERS = {"de": "äöüß", "fr": "éèêàçùœ", "es": "ñ¿¡áíóú", "pt": "ãõ"}


def language_of(text: str) -> str:
    """Return the two-letter code of the language of a text; empty if unknown."""
    return _known_language(text) if len(text) <= _SHORT else _language_of(text)


@lru_cache(maxsize=1 << 12)  # the facts of a person are looked at for every question
def _known_language(text: str) -> str:
    return _language_of(text)


def _language_of(text: str) -> str:
    for language, script in _SCRIPTS:
        if script.search(text):
            return language
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3 or not word.isupper()]  # not EU, GB
    scores = dict.fromkeys(_WORDS, 0.0)
    for word in words:
        small, listed = _WITH_SMALL.get(word, ()), languages_of(word)
        for language in small:
            scores[language] += _SMALL_WORD / len(small)
        for language in listed:
            scores[language] += 1 / len(listed)
    for language, letters in _LETTERS.items():
        scores[language] += sum(letter in text.lower() for letter in letters)
    best = max(scores, key=lambda language: (scores[language], language == "en"))
    return best if scores[best] else ""


def other_script(text: str) -> bool:
    """Whether a text has letters of a script that English models do not know."""
    return any(script.search(text) for _, script in _SCRIPTS)


def is_foreign(text: str) -> bool:
    """Whether a text is in a language that English models hardly know. Single words ("à la carte") do not count."""
    language = language_of(text)
    if other_script(text) or language in ("en", ""):
        return other_script(text)
    words = {word.lower() for word in _WHOLE.findall(text) if not word.isupper()}
    small = words & _WORDS.get(language, frozenset()) - _WORDS["en"]
    letters = any(letter in text.lower() for letter in _LETTERS.get(language, ""))
    return bool(small) and len(small) + letters > 1 and 3 * len(small) >= len(words)


def may_be_english(text: str) -> bool:
    """Whether a text is in English, or too short to tell. Stricter than `is_foreign`: one word of another language counts."""
    return language_of(text) in ("en", "")


def is_grammar(letters: str) -> bool:
    """Whether Chinese or Japanese letters are only grammar: endings, particles, function words."""
    return bool(_HOLDING.fullmatch(letters))


def small_words(text: str) -> frozenset[str]:
    """Return the stop words of the language of a text; none if it is unknown."""
    return _SAY_NOTHING.get(language_of(text), frozenset())
