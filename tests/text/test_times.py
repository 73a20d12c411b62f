"""When a question speaks of: windows, never a filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.querying.understand import understand
from contextd.text.times import moment, windows, without_times
from contextd.values.query import Query, Reader, Scope

NOW = int(datetime(2024, 6, 12, 15, 30, tzinfo=UTC).timestamp() * 1e6)  # a Wednesday


def days(text: str) -> list[tuple[str, str]]:
    return [tuple(datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d") for at in one) for one in windows(text, NOW)]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did we say last Tuesday?", ("2024-06-11", "2024-06-11")),
        ("what was decided on Wednesday", ("2024-06-05", "2024-06-05")),
        ("Where did Ann go in May 2023?", ("2023-05-01", "2023-05-31")),
        ("the trip in August", ("2023-08-01", "2023-08-31")),
        ("what happened in December 2023", ("2023-12-01", "2023-12-31")),
        ("which film did I see four weeks ago", ("2024-05-11", "2024-05-19")),
        ("2 days ago", ("2024-06-09", "2024-06-11")),
        ("what did I do yesterday", ("2024-06-11", "2024-06-11")),
        ("meetings last week", ("2024-06-03", "2024-06-09")),
        ("what changed last month", ("2024-05-01", "2024-05-31")),
        ("over the past 10 days", ("2024-06-02", "2024-06-12")),
        ("on 8 May 2023", ("2023-05-08", "2023-05-08")),
        ("on May 8th, 2023", ("2023-05-08", "2023-05-08")),
        ("since 2022", ("2022-01-01", "2024-06-12")),
        ("since March", ("2024-03-01", "2024-06-12")),
        ("seit März 2023", ("2023-03-01", "2024-06-12")),
        ("on 2023-07-04", ("2023-07-04", "2023-07-04")),
        ("am 4.7.2023", ("2023-07-04", "2023-07-04")),
        ("was war vor drei Wochen", ("2024-05-18", "2024-05-26")),
        ("im Mai 2023", ("2023-05-01", "2023-05-31")),
        ("letzten Montag", ("2024-06-10", "2024-06-10")),
        ("last summer", ("2023-06-01", "2023-08-31")),
        ("this week", ("2024-06-10", "2024-06-12")),
        ("In March last year", ("2023-03-01", "2023-03-31")),
        ("the trip in March of last year", ("2023-03-01", "2023-03-31")),
        ("last year in March", ("2023-03-01", "2023-03-31")),
        ("in May two years ago", ("2022-05-01", "2022-05-31")),
        ("in March this year", ("2024-03-01", "2024-03-31")),
        ("im März letzten Jahres", ("2023-03-01", "2023-03-31")),
        ("letztes Jahr im März", ("2023-03-01", "2023-03-31")),
        ("May 2022", ("2022-05-01", "2022-05-31")),
        ("May of 2022", ("2022-05-01", "2022-05-31")),
        ("2022-05", ("2022-05-01", "2022-05-31")),
        ("in the month of February", ("2024-02-01", "2024-02-29")),
        ("this March", ("2024-03-01", "2024-03-31")),
        ("Ende August", ("2023-08-01", "2023-08-31")),
        ("between March and May 2022", ("2022-03-01", "2022-05-31")),
        ("from November to February", ("2023-11-01", "2024-02-29")),
        ("from November 2021 to February 2022", ("2021-11-01", "2022-02-28")),
        ("summer 2022", ("2022-06-01", "2022-08-31")),
        ("in the summer of last year", ("2023-06-01", "2023-08-31")),
        ("the winter of 2022", ("2022-12-01", "2023-02-28")),
        ("last winter", ("2023-12-01", "2024-02-29")),
        ("this spring", ("2024-03-01", "2024-05-31")),
        ("im Frühjahr 2023", ("2023-03-01", "2023-05-31")),
        ("last weekend", ("2024-06-08", "2024-06-09")),
        ("letztes Wochenende", ("2024-06-08", "2024-06-09")),
        ("this weekend", ("2024-06-15", "2024-06-16")),
        ("on Valentine's Day", ("2024-02-14", "2024-02-14")),
        ("last Christmas", ("2023-12-24", "2023-12-26")),
        ("an Silvester 2022", ("2022-12-31", "2022-12-31")),
    ],
)
def test_expressions_are_the_days_they_mean(text: str, expected: tuple[str, str]) -> None:
    assert days(text) == [expected]


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.capitalize])
@pytest.mark.parametrize(
    "text",
    ["last tuesday", "on friday", "in may", "in march 2023", "early june", "8 may 2023", "may 8th, 2023", "yesterday",
     "three weeks ago", "last summer", "this month", "over the past 10 days", "letzten montag", "am freitag", "im mai",
     "vor drei wochen", "gestern", "letzte woche", "im sommer 2023", "dieses jahr", "in march last year", "may of 2022",
     "in may two years ago", "between march and may 2022", "since march", "this winter", "in the summer of last year",
     "last weekend", "last christmas", "im märz letzten jahres"],
)  # fmt: skip
def test_a_time_is_the_same_in_any_case_and_names_nobody(text: str, change: Callable[[str], str]) -> None:
    assert days(change(text)) == days(text) != []
    assert not without_times(change(text)).strip(" ,")
    asked = f"What did Ann say {change(text)}?"
    plan = understand(Query(asked, Scope((1,), Reader("owner")), now=NOW))
    assert plan.entities == ("Ann",) and plan.bare and len(plan.windows) == 1


@pytest.mark.parametrize(
    "text",
    ["how does login work", "may I ask something", "version 3.14.2 of python", "31 February 2023", "the last one", "room 2023",
     "march to the beat of the second drum", "I may fall", "spring boot 2022", "2023-13", "0000-00-00", "9999999 years ago", "99.99.9999"],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert days(text) == []


def test_several_times_are_several_windows() -> None:
    assert len(days("between 3 May 2023 and 5 June 2023")) == 2


@given(
    st.text(max_size=60)
    | st.from_regex(r"(in|on|since|vor|last) [0-9]{1,4}[-. ][0-9a-z]{1,9}[-. ,][0-9]{1,5}", fullmatch=True),
    st.integers(0, 4 * 10**15),
)
def test_no_text_and_no_moment_breaks_it(text: str, now: int) -> None:
    assert all(first <= last for first, last in windows(text, now))
    windows(f"valid_to = 9999-12-31 {text}", now)


@given(st.integers(10**8, 10**11 - 1), st.integers(0, 999_999))
def test_a_timestamp_means_the_same_in_every_unit(seconds: int, rest: int) -> None:
    at = seconds * 1_000_000 + rest
    assert moment(at * 1000) == at, "nanoseconds"
    assert moment(at) == at, "microseconds"
    assert moment(at // 1000) == at // 1000 * 1000, "milliseconds"
    assert moment(seconds) == moment(str(seconds)) == moment(float(seconds)) == seconds * 1_000_000
    assert abs(moment(at / 1e6) - at) < 100 and abs(moment(f"{seconds}.{rest:06}") - at) < 100


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)))
def test_a_date_is_taken_as_it_is_written(at: datetime) -> None:
    assert moment(at.isoformat()) == moment(at.isoformat() + "Z") == (at - datetime(1970, 1, 1)) // timedelta(microseconds=1)


_ANYTHING = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(), st.text(), st.booleans(), st.lists(st.integers()), st.none(),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e308, -1, 10**400, "NaN", "Infinity", "1e308", "9" * 5000]),
)  # fmt: skip


@given(_ANYTHING)
def test_what_is_no_time_is_refused_and_what_is_one_can_be_stored(value: object) -> None:
    try:
        at = moment(value)
    except ValueError:
        return
    assert isinstance(at, int) and 0 <= at < 2**62


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -1, -1e13, 1e308, 10**400, "NaN", "soon", True, [1], "1960-01-01"]
)
def test_nonsense_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match="not a time"):
        moment(value)
