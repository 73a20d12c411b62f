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
SEASONS = {
    "spring": 3,
    "frühling": 3,
    "frühjahr": 3,
    "summer": 6,
    "sommer": 6,
    "autumn": 9,
    "fall": 9,
    "herbst": 9,
    "winter": 12,
}
FEASTS = {  # first month and day, and the number of days
    "christmas": (12, 24, 3), "xmas": (12, 24, 3), "weihnachten": (12, 24, 3), "new year's eve": (12, 31, 1),
    "silvester": (12, 31, 1), "new year's day": (1, 1, 1), "neujahr": (1, 1, 1), "valentine's day": (2, 14, 1),
    "valentinstag": (2, 14, 1), "halloween": (10, 31, 1),
}  # fmt: skip
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NUMBER = "|".join(sorted(NUMBERS, key=len, reverse=True)) + r"|\d{1,3}"
_UNIT = "|".join(UNITS)
_LAST = r"(?:last|previous|past|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?)"
_THIS = r"(?:this|current|diese[nrsm]?)"
_SEASON = "|".join(SEASONS)
_EARLIER_YEAR = (  # "last year", "of this year", "two years ago": three groups, of which one matches
    rf"(?: of| in)? (?:(?:the )?({_LAST} (?:year|jahre?s?))|({_THIS} (?:year|jahre?s?))|({_NUMBER}) years? ago)\b"
)
_OF_MONTH = "(?:(?:in|during|of|im|early|late|mid|around|early in|late in|anfang|mitte|ende)(?: the month of)?)"
_IN_SEASON = "(?:in|during|over|in the|during the|over the|the|im)"
_FEAST = "|".join(sorted(FEASTS, key=len, reverse=True)).replace("'", "['\u2019]")
_LAST_YEAR = r"(?:last year|letzte[sn]? jahr)"


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


def _first_of(today: datetime, year: int, month: int) -> datetime:
    """Return the first day of a month; month 13 is January of the next year."""
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=today.tzinfo)


def _months(today: datetime, year: int, month: int, number: int = 1) -> Days:
    yield _first_of(today, year, month), _first_of(today, year, month + number)


def _month(match: re.Match[str], today: datetime) -> Days:
    month = MONTHS[match[1]]
    yield from _months(today, int(match[2]) if match[2] else _latest(today, month, 1), month)


def _iso_month(match: re.Match[str], today: datetime) -> Days:
    yield from _months(today, int(match[1]), int(match[2]))


def _earlier_year(match: re.Match[str], today: datetime) -> int:
    """Return the year that the last three groups of a match tell: last year, this year, a number of years ago."""
    last, this, number = match.groups()[-3:]
    return today.year - (1 if last else 0 if this else _number(number))


def _month_of_earlier_year(match: re.Match[str], today: datetime) -> Days:
    yield from _months(today, _earlier_year(match, today), MONTHS[match[1]])


def _month_of_last_year(match: re.Match[str], today: datetime) -> Days:
    yield from _months(today, today.year - 1, MONTHS[match[1]])


def _since_month(match: re.Match[str], today: datetime) -> Days:
    month = MONTHS[match[1]]
    yield _first_of(today, int(match[2]) if match[2] else _latest(today, month, 1), month), today + timedelta(days=1)


def _between_months(match: re.Match[str], today: datetime) -> Days:
    """From the first of one month to the end of another. A year stands for both, unless both have one."""
    first, last = MONTHS[match[1]], MONTHS[match[3]]
    end = int(match[4] or match[2] or _latest(today, last, 1))
    start = int(match[2] or end - (first > last))
    yield _first_of(today, start, first), _first_of(today, end, last + 1)


def _year(match: re.Match[str], today: datetime) -> Days:
    yield from _months(today, int(match[1]), 1, 12)


def _since_year(match: re.Match[str], today: datetime) -> Days:
    yield _first_of(today, int(match[1]), 1), today + timedelta(days=1)


def _season(match: re.Match[str], today: datetime) -> Days:
    """A season of a year, or the latest that is over. A winter begins in the year that names it."""
    month = SEASONS[match[1]]
    yield from _months(today, int(match[2]) if match[2] else season_year(month, today, -1), month, 3)


def _this_season(match: re.Match[str], today: datetime) -> Days:
    month = SEASONS[match[1]]
    yield from _months(today, season_year(month, today, 0), month, 3)


def season_year(month: int, day: datetime, step: int) -> int:
    """Return the year in which a season begins, by its first month: the last that is over (-1), this one (0), the next (1)."""
    this = day.year - (month == 12 and day.month < 3)
    if step > 0:
        return this + (month <= day.month or this < day.year)
    if step < 0:
        return day.year - (day.month < month + 3 if month < 12 else 1)
    return this


def _season_of_earlier_year(match: re.Match[str], today: datetime) -> Days:
    yield from _months(today, _earlier_year(match, today), SEASONS[match[1]], 3)


def _feast(match: re.Match[str], today: datetime) -> Days:
    month, day, days = FEASTS[match[1].replace("\u2019", "'")]
    year = int(match[2]) if match[2] else _latest(today, month, day)
    yield _span(datetime(year, month, day, tzinfo=today.tzinfo), days)


def _last_weekend(match: re.Match[str], today: datetime) -> Days:
    """Saturday and Sunday before this week; on a Sunday, "the weekend" is not over."""
    yield _span(today - timedelta(days=today.weekday() + 2), 2)


def _this_weekend(match: re.Match[str], today: datetime) -> Days:
    yield _span(today + timedelta(days=5 - today.weekday()), 2)


def _weekday(match: re.Match[str], today: datetime) -> Days:
    back = (today.weekday() - WEEKDAYS[match[1]]) % 7 or 7
    yield _span(today - timedelta(days=back), 1)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text]


def _ago(match: re.Match[str], today: datetime) -> Days:
    """A number of units ago: the larger the unit, the wider the window."""
    number = _number(match[1])
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
        (
            rf"\b(?:between|from|zwischen|von) ({_MONTH})\b(?: (\d{{4}})\b)?"
            rf" (?:and|to|until|till|und|bis) ({_MONTH})\b,?(?: (\d{{4}})\b)?",
            _between_months,
        ),
        (rf"\b(?:{_OF_MONTH} )?({_MONTH}){_EARLIER_YEAR}", _month_of_earlier_year),
        (rf"\b{_LAST_YEAR},? (?:in|im) ({_MONTH})\b", _month_of_last_year),
        (rf"\b(?:since|seit) ({_MONTH})\b,?(?:(?: of)? (\d{{4}})\b)?", _since_month),
        (rf"\b(?:{_OF_MONTH}|{_LAST}|{_THIS}) ({_MONTH})\b,?(?:(?: of)? (\d{{4}})\b)?", _month),
        (rf"\b({_MONTH}),?(?: of)? (\d{{4}})\b", _month),
        (r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])\b", _iso_month),
        (rf"\b(?:{_IN_SEASON} )?({_SEASON}){_EARLIER_YEAR}", _season_of_earlier_year),
        (rf"\b{_THIS} ({_SEASON})\b", _this_season),
        (rf"\b(?:{_IN_SEASON}|{_LAST}) ({_SEASON})\b(?:(?: of)? (\d{{4}})\b)?", _season),
        (rf"\b({_SEASON})(?: of)? ((?:19|20)\d\d)\b", _season),
        (rf"\b(?:(?:at|on|over|for|last|an|zu|letzte[ns]?) )?({_FEAST})\b(?: (\d{{4}})\b)?", _feast),
        (r"\b(?:since|seit) ((?:19|20)\d\d)\b", _since_year),
        (r"\b(?:in|during|of|from|jahr|im jahr) ((?:19|20)\d\d)\b", _year),
        (
            rf"\b(?:(?:over|on|at) the weekend|am wochenende|(?:(?:over|on) )?(?:the )?{_LAST} (?:weekend|wochenende))\b",
            _last_weekend,
        ),
        (rf"\b{_THIS} (?:weekend|wochenende)\b", _this_weekend),
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
    (*MONTHS, *WEEKDAYS, *SEASONS, *FEASTS, "\u2019s day", "\u2019s eve", "weekend", "wochenende", "ago", "vor ", "today",
     "yesterday", "heute", "gestern", "last ", "past ", "previous ", "this ", "letzte", "vergangene", "vorige", "diese",
     "current ")
)  # fmt: skip
