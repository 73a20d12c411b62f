"""Values by examples: what no pattern fits, what is read off, and what it may not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.models.fact_layers import FactTagger
from contextd.ports.world import fact_tagger
from contextd.remembering.attributes import Stated, stated
from contextd.remembering.values import PARTS, read, tagged_by, valued, words_of

ITEMS = Path(__file__).parent / "items"


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("Gym Mon/Wed/Fri 7am", "Mon/Wed/Fri 7am", ""),
        ("I drink four cups of tea a day", "four", "cups/day"),
        ("Dr. Aydin is my dentist", "Dr. Aydin", ""),
        ("We play chess on Thursdays", "Thursdays", ""),
    ],
)
def test_a_value_is_found_where_no_pattern_fits(text: str, value: str, unit: str) -> None:
    assert stated(text).value != value
    assert valued(text)[2:4] == (value, unit)


@pytest.mark.parametrize("text", ["Budget for shoes: max 150€", "Shoe size: EU 42", "I work as a nurse", "I run 3x a week"])
def test_a_pattern_that_fits_exactly_is_left_alone(text: str) -> None:
    assert valued(text) == stated(text)


@pytest.mark.parametrize("text", ["", " ", ".", "日本語を勉強しています", "word " * 61, "w" * 90_000])
def test_no_words_or_too_many_have_no_value(text: str) -> None:
    assert valued(text) == Stated()


_WORDS = sorted({word for one in json.loads((ITEMS / "facts.json").read_text("utf-8")) for word in one["text"].split()})


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)))
def test_any_text_is_read_and_a_value_is_made_of_its_words(text: str) -> None:
    found = valued(text)
    assert not found.unit or found.value
    if found.loose and found.unit.split("/")[0] != "times":
        for part in found.value.removeprefix("≤ ").removeprefix("≥ ").split(", "):
            assert part.casefold() in " ".join(text.casefold().split())


def test_examples_give_no_names_and_a_loose_pattern_keeps_its_own() -> None:
    assert valued("Tom likes tea") == ("tom", "", "tea", "", True)
    assert valued("Password manager: Bitwarden")[1:3] == ("password_manager", "Bitwarden")
    assert valued("Mein Auto ist rot")[2] == "rot"


def test_parts_of_a_list_are_joined_and_others_are_not() -> None:
    text = "tea and coffee since the flood"
    none, value = PARTS.index("none"), PARTS.index("value")
    assert read(text, words_of(text), [value, none, value, none, none, value]) == ("tea, coffee", "")


def test_what_examples_suggest_ends_nothing(home: Path) -> None:
    person = open_session(None, home=home, environment={})
    told = [
        "we use PostgreSQL",
        "we use MySQL",
        "We use 5 GB",
        "I drink tea",
        "I drink 2 l a day",
        "Piano on Mondays",
        "Piano: Steinway",
    ]
    for text in [*told, *reversed(told)]:
        assert person.remember(text).replaced == ()
    assert person.memories.get(person.remember("we use MySQL").memory.id).value == "MySQL"


def test_most_values_of_the_items_are_exactly_right() -> None:
    known = [one for one in json.loads((ITEMS / "facts.json").read_text("utf-8")) if one["attribute"]]
    right = sum(valued(one["text"])[2:4] == (one["value"], one["unit"] or "") for one in known)
    assert right / len(known) > 0.58


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("My desk is 160 cm wide", "160", "cm"),
        ("I can spend between 80 and 120 dollars on a jacket", "80-120", "dollars"),
        ("Favorite colors for clothes: white or neutral tones", "white or neutral tones", ""),
        ("We use Postgres 17", "17", ""),
        ("Screen time for the kids: one hour tops", "≤ one", "hour"),
    ],
)
def test_a_value_is_whole_and_a_plain_measure_is_no_limit(text: str, value: str, unit: str) -> None:
    found = valued(text)
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("The shop is closed on Mondays", "shop_closed", "Mondays"),
        ("What is my shoe size?", "", ""),
        ("I'm 1.79 m tall and weigh 74 kg", "height", "1.79"),
        ("The mortgage payment went up to 1,260 €", "mortgage_payment", "1,260"),
        ("I take levothyroxine 75 µg every morning", "dose_levothyroxine", "75"),
        ("I'm on metformin 500mg twice a day", "dose_metformin", "500"),
        ("Our daughter Juno was born on 14 March 2017", "birthday", "14 March 2017"),
        ("My sister is visiting on Friday", "sister_visiting", "Friday"),
    ],
)
def test_an_attribute_has_the_words_between_it_and_its_value(text: str, attribute: str, value: str) -> None:
    assert valued(text)[1:3] == (attribute, value)


@pytest.mark.parametrize(
    ("text", "kind", "value", "unit"),
    [
        ("I usually get up around half past six", "activity", "half past six", ""),
        ("My sister's kids are 4 and 7", "characteristic", "4 and 7", ""),
        ("Not more than 1500 mg of salt a day, doctor's orders", "constraint", "≤ 1500", "mg/day"),
        ("We decided to stay with Postgres", "decision", "Postgres", ""),
    ],
)
def test_a_fact_is_tagged_when_it_is_saved(home: Path, text: str, kind: str, value: str, unit: str) -> None:
    session = open_session(None, home=home, environment={})
    if fact_tagger(session.setup.record_deep()) is None:
        pytest.skip("the deep model is not installed")
    saved = session.remember(text).memory
    assert (saved.kind, saved.value, saved.unit) == (kind, value, unit)
    session.close()


def test_a_fact_in_another_language_or_too_long_is_not_tagged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(None, home=home, environment={})
    tagger = fact_tagger(session.setup.record_deep())
    if tagger is None:
        pytest.skip("the deep model is not installed")
    assert tagged_by(tagger, "word " * 61) is None and tagged_by(tagger, "") is None
    assert tagged_by(tagger, "antidisestablishmentarianism " * 60) is None  # beyond what the tagger reads
    asked = list[str]()
    monkeypatch.setattr(FactTagger, "tag", lambda _, text, starts: asked.append(text))
    assert session.remember("我的鞋码是42").memory.language == "zh" and not asked
    session.close()


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("Allergies: nuts and shellfish", "allergies", "nuts, shellfish"),
        ("Favorite colors for clothes: white and neutral tones", "favorite_colors_clothes", "white, neutral tones"),
        ("Pets: two cats and a dog", "pets", "two cats, a dog"),
    ],
)
def test_the_tagger_cut_lists_and_lost_their_attribute(home: Path, text: str, attribute: str, value: str) -> None:
    session = open_session(None, home=home, environment={})
    found = session.remember(text).memory
    session.close()
    assert (found.attribute, found.value) == (attribute, value)
