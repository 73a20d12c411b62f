"""Resolve relative times of a fact against the day it was told: "next March" becomes "next March (2027-03)".

`times.py` finds the windows in the past that a question asks for; this module writes dates, of the past and the future, beside
the words of a fact. English and German.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from contextd.text.times import MONTHS, NUMBERS, SEASONS, UNITS, WEEKDAYS, season_year

_NEXT = "next|coming|nächste[nrsm]?|kommende[nrsm]?"
_LAST = "last|past|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?"
_THIS = "this|diese[nrsm]?"
_DAYS = {
    "the day before yesterday": -2, "vorgestern": -2, "yesterday": -1, "gestern": -1, "today": 0, "tonight": 0, "heute": 0,
    "the day after tomorrow": 2, "tomorrow": 1, "übermorgen": 2,
}  # fmt: skip
_NAMED = (WEEKDAYS, MONTHS, SEASONS)
_NAMES = "|".join(sorted((name for names in _NAMED for name in names), key=len, reverse=True))
_UNIT = "|".join(UNITS)
_NUMBER = "|".join(sorted(NUMBERS, key=len, reverse=True)) + r"|\d{1,3}"
# A number of weeks in a sentence about the past is how long something took.
_PAST = re.compile(
    r"\b(?:(?!need|speed|indeed|exceed)\w{3,}ed|was|were|did|had|been|took|made|built|wrote|went|got|war|hatte|wurde|ge\w{3,}t)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(
    rf"\b(?:ha(?:ve|s)|'ve|been)\b.*\bfor (?:the {_LAST} )?(?P<for>{_NUMBER}) (?P<unit>{_UNIT})s?\b"
    rf"|\bseit (?P<seit>{_NUMBER}) (?P<einheit>{_UNIT})(?:n|en|e)?\b",
    re.IGNORECASE,
)
_LONGEST = 500  # characters that are read


def resolved(text: str, said: int) -> str:
    """Return a text with a date behind each relative time in it. `said` is when it was told, in microseconds."""
    if said <= 0 or len(text) > _LONGEST or not _ANY.search(text):
        return text
    day = datetime.fromtimestamp(said / 1e6).astimezone()
    for pattern, read in _PATTERNS:
        text = pattern.sub(lambda match, read=read: _beside(match, read, day), text)  # type: ignore[misc]
    return text


def lasting_since(text: str, said: int) -> int:
    """Return since when something lasts ("for three years", "seit zwei Wochen"); 0 if a text does not say so."""
    match = _SINCE.search(text)
    if match is None:
        return 0
    number, unit = match["for"] or match["seit"], match["unit"] or match["einheit"]
    days = _count(number) * UNITS[unit.casefold()]
    return max(said - days * 86_400_000_000, 0)


Read = Callable[[re.Match[str], datetime], str]


def _beside(match: re.Match[str], read: Read, day: datetime) -> str:
    try:
        date = read(match, day)
    except (OverflowError, ValueError):  # outside the range of the calendar
        date = ""
    return f"{match[0]} ({date})" if date else match[0]


def _near(match: re.Match[str], day: datetime) -> str:
    return _iso(day + timedelta(days=_DAYS[match[1].casefold()]))


def _unit(match: re.Match[str], day: datetime) -> str:
    """Resolve "next week", "this year": the week, month or year itself."""
    step, unit = _step(match[1]), UNITS[match[2].casefold()]
    if unit == 7:
        return f"week of {_iso(day - timedelta(days=day.weekday()) + timedelta(days=7 * step))}"
    if unit == 30:
        months = day.year * 12 + day.month - 1 + step
        return f"{months // 12}-{months % 12 + 1:02}"
    return str(day.year + step) if unit == 365 else ""


def _weekend(match: re.Match[str], day: datetime) -> str:
    saturday = day + timedelta(days=5 - day.weekday())
    return f"weekend of {_iso(saturday + timedelta(days=7 * _step(match[1])))}"


def _named(match: re.Match[str], day: datetime) -> str:
    """Resolve "next March", "last Friday", "this summer"."""
    step, name = _step(match[1]), match[2].casefold()
    if name in WEEKDAYS:
        ahead = (WEEKDAYS[name] - day.weekday()) % 7
        return _iso(day + timedelta(days=ahead - 7 if step < 0 else ahead or 7 * step))
    if name in SEASONS:
        return f"{match[2]} {season_year(SEASONS[name], day, step)}"
    month = MONTHS[name]
    return f"{day.year + ((month <= day.month) if step > 0 else -(month >= day.month) if step < 0 else 0)}-{month:02}"


def _ahead(match: re.Match[str], day: datetime) -> str:
    return "" if _PAST.search(match.string) else _around(match, day, 1)


def _ago(match: re.Match[str], day: datetime) -> str:
    return _around(match, day, -1)


def _around(match: re.Match[str], day: datetime, direction: int) -> str:
    """Return the day, month or year that a number of units is away: the larger the unit, the less exact."""
    number, unit = _count(match[1]), UNITS[match[2].casefold()]
    if unit == 365:
        return str(day.year + direction * number)
    then = day + timedelta(days=direction * number * unit)
    return f"{then:%Y-%m}" if unit == 30 else _iso(then)


def _count(number: str) -> int:
    return int(number) if number.isdigit() else NUMBERS[number.casefold()]


def _step(word: str) -> int:
    return 1 if re.fullmatch(_NEXT, word, re.IGNORECASE) else -1 if re.fullmatch(_LAST, word, re.IGNORECASE) else 0


def _iso(day: datetime) -> str:
    return f"{day:%Y-%m-%d}"


_ALREADY = r"(?! \(| \d{4}|,? \d{4})"  # a date follows
_PATTERNS: tuple[tuple[re.Pattern[str], Read], ...] = tuple(
    (re.compile(pattern + _ALREADY, re.IGNORECASE), read)
    for pattern, read in (
        (rf"\b({'|'.join(_DAYS)})\b", _near),
        (rf"\b({_NEXT}|{_LAST}|{_THIS}) ({_UNIT})\b", _unit),
        (rf"\b({_NEXT}|{_LAST}|{_THIS}) (?:weekend|wochenende)\b", _weekend),
        (rf"\b({_NEXT}|{_LAST}|{_THIS}) ({_NAMES})\b", _named),
        (rf"\bin ({_NUMBER}) ({_UNIT})(?:s|n|en|e)?\b", _ahead),
        (rf"\b({_NUMBER}) ({_UNIT})s? ago\b", _ago),
        (rf"\bvor ({_NUMBER}) ({_UNIT})(?:n|en|e)?\b", _ago),
    )
)
_ANY = re.compile("|".join(f"(?:{re.sub(r'[(](?![?])', '(?:', pattern.pattern)})" for pattern, _ in _PATTERNS), re.IGNORECASE)
