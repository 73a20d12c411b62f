"""Parse time expressions ("last Tuesday", "in May 2023", "four weeks ago") into windows, and timestamps into microseconds.

Windows raise the rank of documents of that time and never filter. Rules cover English and German: libraries that parse dates
return one moment, and are too slow for every question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

Window = tuple[int, int]  # first and last moment, microseconds

_DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_END = 10**11  # larger numbers are milliseconds
_LONGEST_TIMESTAMP = 40  # characters
MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan januar jänner|february feb februar|march mar märz|april apr|may mai|june jun juni|july jul juli|august aug"
        "|september sep sept|october oct oktober okt|november nov|december dec dezember dez".split("|"),
        1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        "monday montag|tuesday dienstag|wednesday mittwoch|thursday donnerstag|friday freitag|saturday samstag|sunday sonntag"
        "".split("|")
    )
    for name in names.split()
}
NUMBERS = {
    word: number
    for number, words in enumerate(
        "|a an one ein einer einem eine|two zwei couple|three drei few|four vier|five fünf|six sechs|seven sieben|eight acht"
        "|nine neun|ten zehn|eleven elf|twelve zwölf".split("|")
    )
    for word in words.split()
}
UNITS = {"day": 1, "tag": 1, "week": 7, "woche": 7, "month": 30, "monat": 30, "year": 365, "jahr": 365}
SEASONS = {"spring": 3, "frühling": 3, "summer": 6, "sommer": 6, "autumn": 9, "fall": 9, "herbst": 9, "winter": 12}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NUMBER = "|".join(sorted(NUMBERS, key=len, reverse=True)) + r"|\d{1,3}"
_UNIT = "|".join(UNITS)
_LAST = r"(?:last|previous|past|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?)"
_THIS = r"(?:this|current|diese[nrsm]?)"


def moment(value: Any) -> int:
    """Return a timestamp in microseconds since 1970; 0 if it is empty. Raises ValueError if it cannot be parsed.

    A number is in seconds, milliseconds, microseconds or nanoseconds: for 1973 to 5138, their ranges do not overlap.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _microseconds(value)
    if not isinstance(value, str) or len(value) > _LONGEST_TIMESTAMP:
        raise ValueError(f"not a time: {str(value)[:_LONGEST_TIMESTAMP]!r}")
    if re.fullmatch(r"\s*\d{9,}(\.\d*)?\s*", value, re.ASCII):  # eight digits are a date
        return _microseconds(float(value) if "." in value else int(value))
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        if not re.fullmatch(r"\s*\d+(\.\d*)?\s*", value, re.ASCII):
            raise ValueError(f"not a time: {value!r}") from None
        return _microseconds(float(value) if "." in value else int(value))
    since = (read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH
    if since < timedelta(0):
        raise ValueError(f"not a time after 1970: {value!r}")
    return since // timedelta(microseconds=1)


def _microseconds(value: float) -> int:
    if not 0 <= value < _SECONDS_END * 10**9:  # also true for NaN and infinities
        raise ValueError(f"not a time: {float(value) if abs(value) < _SECONDS_END * 10**9 else 'a number out of range'}")
    for factor in (1_000_000, 1000, 1):
        if value * factor < _SECONDS_END * 1_000_000:
            return int(value * factor)
    return int(value) // 1000


def windows(text: str, now: int) -> tuple[Window, ...]:
    """Return the time windows that a text mentions, at most eight; none for most texts."""
    if not any(sign in lowered for lowered in [text.lower()] for sign in _SIGNS) and not re.search(r"\d{4}|\d\.", text):
        return ()
    today = datetime.fromtimestamp(now / 1e6).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    found: dict[Window, None] = {}
    rest = text.lower()
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(rest):
            try:
                for first, last in read(match, today):
                    found[int(first.timestamp() * 1e6), int(last.timestamp() * 1e6) - 1] = None
            except (OverflowError, ValueError, OSError):  # outside the range of the calendar
                continue
        rest = pattern.sub(" ", rest)
    return tuple(found)[:8]


def without_times(text: str) -> str:
    """Return a text without its time expressions."""
    rest = text
    for pattern, _ in _PATTERNS:
        rest = pattern.sub(" ", rest)
    return rest


Days = Iterator[tuple[datetime, datetime]]


def _span(first: datetime, days: int) -> tuple[datetime, datetime]:
    return first, first + timedelta(days=days)


def _date(today: datetime, year: int, month: int, day: int) -> Days:
    yield _span(datetime(year, month, day, tzinfo=today.tzinfo), 1)


def _iso(match: re.Match[str], today: datetime) -> Days:
    yield from _date(today, int(match[1]), int(match[2]), int(match[3]))


def _day_first(match: re.Match[str], today: datetime) -> Days:
    yield from _date(
        today, int(match[3]) if match[3] else _latest(today, MONTHS[match[2]], int(match[1])), MONTHS[match[2]], int(match[1])
    )


def _month_first(match: re.Match[str], today: datetime) -> Days:
    yield from _date(
        today, int(match[3]) if match[3] else _latest(today, MONTHS[match[1]], int(match[2])), MONTHS[match[1]], int(match[2])
    )


def _dotted(match: re.Match[str], today: datetime) -> Days:
    yield from _date(today, int(match[3]), int(match[2]), int(match[1]))


def _latest(today: datetime, month: int, day: int) -> int:
    """Return the year of the latest such day that is not in the future."""
    return today.year if (month, day) <= (today.month, today.day) else today.year - 1


def _month(match: re.Match[str], today: datetime) -> Days:
    month = MONTHS[match[1]]
    year = int(match[2]) if match[2] else _latest(today, month, 1)
    if 1 < year < 9999:
        yield (
            datetime(year, month, 1, tzinfo=today.tzinfo),
            datetime(year + month // 12, month % 12 + 1, 1, tzinfo=today.tzinfo),
        )


def _year(match: re.Match[str], today: datetime) -> Days:
    yield datetime(int(match[1]), 1, 1, tzinfo=today.tzinfo), datetime(int(match[1]) + 1, 1, 1, tzinfo=today.tzinfo)


def _season(match: re.Match[str], today: datetime) -> Days:
    month = SEASONS[match[1]]
    year = int(match[2]) if match[2] else today.year - (today.month < month + 3 if month < 12 else 1)
    if 1 < year < 9999:
        yield _span(datetime(year, month, 1, tzinfo=today.tzinfo), 92)


def _weekday(match: re.Match[str], today: datetime) -> Days:
    back = (today.weekday() - WEEKDAYS[match[1]]) % 7 or 7
    yield _span(today - timedelta(days=back), 1)


def _ago(match: re.Match[str], today: datetime) -> Days:
    """A number of units ago: the larger the unit, the wider the window."""
    number = int(match[1]) if match[1].isdigit() else NUMBERS[match[1]]
    unit = UNITS[match[2]]
    middle, slack = number * unit, {1: 1, 7: 4, 30: 16, 365: 183}[unit]
    if middle < 60_000:
        yield _span(today - timedelta(days=middle + slack), 2 * slack + 1)


def _past(match: re.Match[str], today: datetime) -> Days:
    """A number of units up to now."""
    number = int(match[1]) if match[1] and match[1].isdigit() else NUMBERS.get(match[1] or "a", 1)
    days = min(number * UNITS[match[2]], 60_000)
    yield today - timedelta(days=days), today + timedelta(days=1)


def _last_unit(match: re.Match[str], today: datetime) -> Days:
    unit = UNITS[match[1]]
    if unit == 7:
        monday = today - timedelta(days=today.weekday())
        yield _span(monday - timedelta(days=7), 7)
    elif unit == 30:
        first = today.replace(day=1)
        yield (first - timedelta(days=1)).replace(day=1), first
    elif unit == 365:
        yield datetime(today.year - 1, 1, 1, tzinfo=today.tzinfo), datetime(today.year, 1, 1, tzinfo=today.tzinfo)


def _this_unit(match: re.Match[str], today: datetime) -> Days:
    unit = UNITS[match[1]]
    start = {7: today - timedelta(days=today.weekday()), 30: today.replace(day=1), 365: today.replace(month=1, day=1)}
    if unit in start:
        yield start[unit], today + timedelta(days=1)


def _near(match: re.Match[str], today: datetime) -> Days:
    days = {"today": 0, "heute": 0, "yesterday": 1, "gestern": 1, "vorgestern": 2}[match[1]]
    yield _span(today - timedelta(days=days), 1)


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Days]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", _iso),
        (r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b", _dotted),
        (rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}})\b)?", _day_first),
        (rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?(?: (\d{{4}})\b)?", _month_first),
        (rf"\b(?:in|during|since|of|im|seit|early|late|{_LAST}) ({_MONTH})\b,?(?: (\d{{4}})\b)?", _month),
        (rf"\b({_MONTH}),? (\d{{4}})\b", _month),
        (rf"\b(?:last|letzte[nrsm]?|in|during|the|im|in the) ({'|'.join(SEASONS)})(?: of)?(?: (\d{{4}})\b)?", _season),
        (r"\b(?:in|during|since|of|from|jahr|im jahr|seit) ((?:19|20)\d\d)\b", _year),
        (rf"\b(?:{_LAST}|on|am) ({'|'.join(WEEKDAYS)})\b", _weekday),
        (rf"\b({_NUMBER})(?: of)? ({_UNIT})(?:s|n|en)? (?:ago|before|back)\b", _ago),
        (rf"\bvor ({_NUMBER}) ({_UNIT})(?:n|en|e)?\b", _ago),
        (rf"\b(?:in|over|during|within) the {_LAST} (?:({_NUMBER}) )?({_UNIT})s?\b", _past),
        (rf"\b{_LAST} ({_NUMBER}) ({_UNIT})(?:s|n|en|e)?\b", _past),
        (rf"\b{_LAST} ({_UNIT})\b", _last_unit),
        (rf"\b{_THIS} ({_UNIT})\b", _this_unit),
        (r"\b(today|yesterday|heute|gestern|vorgestern)\b", _near),
    )
)
_SIGNS = frozenset(
    (*MONTHS, *WEEKDAYS, *SEASONS, "ago", "vor ", "today", "yesterday", "heute", "gestern", "last ", "past ", "previous ",
     "this ", "letzte", "vergangene", "vorige", "diese", "current ")
)  # fmt: skip
