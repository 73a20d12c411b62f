"""What a question asks for (a time, a number, a place), and what a message states: word lists, no parsing.

They tell messages of equal similarity apart: the answer to "when" mentions a time, and a message that only asks answers
nothing. English, German, French and Spanish words, Chinese and Japanese characters.
"""

from __future__ import annotations

import re

from contextd.text.times import MONTHS, WEEKDAYS

_SHORT = 4000  # characters of a message that are read

_ASKS_TIME = re.compile(
    r"\b(?:when|what (?:day|date|year|month|time)|which (?:day|year|month|week)|how long ago|wann|seit wann|welche[rsmn]? "
    r"(?:tag|jahr|monat|woche)|quand|quel(?:le)? (?:jour|date|année|mois|heure)|cuándo|qué (?:día|fecha|año|mes))\b"
    r"|什么时候|何时|哪(?:天|年|个月)|いつ|何(?:月|年|日)",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|old|far|tall|big)\b|\bwie (?:viele?|lange?|oft|alt|weit|groß)\b|\bcombien\b"
    r"|\bquel âge\b|\bcuánt[oa]s?\b|多少|几|多久|いくつ|いくら|何(?:回|人|歳|個)",
    re.IGNORECASE,
)
_ASKS_PLACE = re.compile(
    r"\b(?:where|(?:which|what|in what|in which) (?:city|cities|countr(?:y|ies)|places?|states?|towns?|restaurants?)"
    r"|wo|wohin|woher|welche[rsmn]? (?:stadt|land|ort)|où|quel(?:le)? (?:ville|pays|endroit)|dónde|adónde"
    r"|qué (?:ciudad|país|lugar))\b"
    r"|哪里|哪儿|在哪|どこ",
    re.IGNORECASE,
)
# The patterns of messages match lower-case text: for a hundred messages that takes a fifth of the time of ignoring case.
_TIMES = "|".join(
    sorted(
        (*MONTHS, *WEEKDAYS, "yesterday today tonight tomorrow last next ago since weekend week month year years summer winter "
         "spring autumn fall morning evening recently until during birthday gestern heute morgen letzte[nrsm]? nächste[nrsm]? "
         "seit wochenende woche monat jahr jahre[n]? sommer neulich geburtstag hier aujourd'hui demain dernière? prochaine? "
         "depuis semaine mois année été hiver récemment anniversaire ayer hoy mañana pasad[oa] próxim[oa] desde semana mes año "
         "años verano invierno cumpleaños".replace(" ", "|")),
        key=len,
        reverse=True,
    )
)  # fmt: skip
_TIME = re.compile(
    rf"\b(?:{_TIMES}|\d{{1,4}}(?:st|nd|rd|th|am|pm|\.)?)\b|\d[年月日点時]|昨天|今天|明天|上周|去年|昨日|今日|明日|先週|来週"
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|couple|few|several|once|twice|eins|zwei|drei|vier|fünf|sechs"
    r"|sieben|acht|neun|zehn|einmal|zweimal|deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco|seis|siete|ocho"
    r"|nueve|diez)\b|[两一二三四五六七八九十]"
)
_NAMED = re.compile(r"(?<=[^\W\d_A-Z][ ,])(?: ?)[A-Z][^\W\d_A-Z]+|(?<=, )[A-Z][^\W\d_A-Z]+")
_OWN = re.compile(
    r"\b(?:i|i'm|i've|i'd|my|me|we|our|us|ich|mein\w*|mir|mich|wir|unser\w*|je|j'\w+|mon|ma|mes|moi|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w+)\b|[我私僕俺]"
)
_SENTENCE_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f]+")
_QUESTION_ENDS = ("?", "\uff1f")


def asks_for(question: str) -> tuple[str, ...]:
    """Return what a question asks for, of `time`, `number` and `place`."""
    short = question[:_SHORT]
    kinds = (("time", _ASKS_TIME), ("number", _ASKS_NUMBER), ("place", _ASKS_PLACE))
    return tuple(kind for kind, pattern in kinds if pattern.search(short))


def states_time(text: str) -> bool:
    """Return whether a text mentions a time."""
    return bool(_TIME.search(text[:_SHORT].lower()))


def states_number(text: str) -> bool:
    """Return whether a text mentions a number."""
    return bool(_NUMBER.search(text[:_SHORT].lower()))


def names_in(text: str, most: int = 3) -> float:
    """Return how many words inside sentences are capitalized, as a share of `most`."""
    found = 0
    for _ in _NAMED.finditer(text[:_SHORT]):
        found += 1
        if found == most:
            break
    return found / most


def speaks_of_oneself(text: str) -> bool:
    """Return whether the author speaks of themselves."""
    return bool(_OWN.search(text[:_SHORT].lower().replace("\u2019", "'")))


def asks(text: str) -> bool:
    """Return whether a text ends with a question."""
    return text.rstrip().endswith(_QUESTION_ENDS)


def only_asks(text: str) -> bool:
    """Return whether a text is one question and nothing else."""
    return asks(text) and len(_SENTENCE_ENDS.findall(text[:_SHORT])) <= 1
