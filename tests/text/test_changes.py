"""Sentences that say that something is over."""

from __future__ import annotations

import pytest

from contextd.text.changes import change_of, speaks_of


@pytest.mark.parametrize(
    ("text", "old", "moved"),
    [
        ("I switched from Neovim to Zed", "My editor is Neovim", False),
        ("Sold the Corolla, got a Kia instead", "I drive a 2012 Corolla", False),
        ("I gave up smoking in January", "I smoke ten a day", False),
        ("I don't play tennis any more", "I play tennis on Mondays", False),
        ("Vendí la moto, ahora voy en bici", "Voy en moto al trabajo", False),
        ("Ich bin von der TK zur AOK gewechselt", "Meine Krankenkasse ist die TK", False),
        ("Wir sind vom Gas auf eine Wärmepumpe umgestiegen", "Wir heizen mit Gas", False),
        ("ジムはやめた", "ジムは水曜日に通っている", False),
        ("Rent went up to 1,010 euros", "My rent is 950 euros", True),
        ("Standup has been pushed to 10:15", "Standup is at 9:30", True),
    ],
)
def test_the_thing_that_is_over_is_known(text: str, old: str, moved: bool) -> None:
    change = change_of(text)
    assert change is not None and change.moved is moved
    assert speaks_of(change.thing, old)
    assert not speaks_of(change.thing, "My sister lives in Lyon")


@pytest.mark.parametrize(
    "text", ["I like tea", "My rent is 950 euros", "We moved to Bonn", "I stop at the bakery every morning"]
)
def test_a_plain_fact_ends_nothing(text: str) -> None:
    assert change_of(text) is None
