"""Relative times of a fact, resolved against the day it was told."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.text.relative_times import lasting_since, resolved

TOLD = int(datetime(2026, 11, 18, 12).timestamp() * 1e6)  # a Wednesday
_DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("My exam is next March", "2027-03"),
        ("I'm moving to Lyon next year", "2027"),
        ("My sister visits in two weeks", "2026-12-02"),
        ("I moved here last year", "2025"),
        ("Dentist tomorrow", "2026-11-19"),
        ("I broke my leg three weeks ago", "2026-10-28"),
        ("The parcel comes the day after tomorrow", "2026-11-20"),
        ("I fell the day before yesterday", "2026-11-16"),
        ("We go to Norway next summer", "summer 2027"),
        ("I want to read 20 books this year", "2026"),
        ("We are camping this weekend", "weekend of 2026-11-21"),
        ("The review is next week", "week of 2026-11-23"),
        ("My car was repaired last Friday", "2026-11-13"),
        ("Die Prüfung ist nächsten Freitag", "2026-11-20"),
        ("Wir heiraten in drei Monaten", "2027-02"),
        ("Ich habe aufgehört vor zwei Jahren", "2024"),
    ],
)
def test_a_relative_time_has_its_date_beside_it(text: str, date: str) -> None:
    assert resolved(text, TOLD) == f"{text} ({date})"


def test_a_season_that_is_not_over_is_not_the_last_one() -> None:
    july, january = (int(datetime(year, month, 10, 12).timestamp() * 1e6) for year, month in ((2026, 7), (2027, 1)))
    assert resolved("We went to Rome last summer", july).endswith("(summer 2025)")
    assert resolved("I learn to ski this winter", january).endswith("(winter 2026)")
    assert resolved("I learn to ski next winter", january).endswith("(winter 2027)")


@pytest.mark.parametrize(
    "text",
    [
        "I live in Munich",
        "We finished it in two weeks",
        "Wir haben es in zwei Wochen gebaut",
        "I may move",
        "Piano on Mondays",
        "My exam is next March (2027-03)",
        "It was last May 2024",
        "",
    ],
)
def test_other_times_stay_as_they_are(text: str) -> None:
    assert resolved(text, TOLD) == text


@given(st.text(max_size=80), st.integers(0, 4 * 10**15))
def test_only_dates_are_added(text: str, said: int) -> None:
    found = resolved(text, said)
    assert len(found) >= len(text) and resolved(text, 0) == text


def test_since_when_something_lasts() -> None:
    assert lasting_since("I've worked there for three years", TOLD) == TOLD - 3 * 365 * _DAY
    assert lasting_since("Ich wohne seit zwei Wochen hier", TOLD) == TOLD - 14 * _DAY
    assert lasting_since("I'm away for two weeks", TOLD) == 0
