"""Counting tokens: the few lines for short texts count as the library does."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextd.models import tokens, wordpiece

LIGHT, LIBRARY = tokens._Vocabulary(), tokens._Vocabulary()
LIGHT.count("ranks")
LIBRARY._left = -1
LIBRARY.count("loaded")
SIGNS = st.sampled_from(
    [*"aAzZ09'sSlLrRvVeEtTmMdD \t\n\r/_-.()#\x0b\x1c\x00", "'ll", "\r\n", "    ", "return self.", "HTTPServer"]
)


@given(st.one_of(st.lists(SIGNS, max_size=40).map("".join), st.text(st.characters(max_codepoint=127), max_size=80)))
def test_counts_without_the_library_are_exact(text: str) -> None:
    assume(not tokens._LONG.search(text))
    assert _light(text) == LIBRARY.count(text)


def test_the_library_counts_what_is_long_or_of_other_scripts() -> None:
    for text in ("Größe", "x" * 64, "-" * 96, "word " * (tokens._FEW // 5 + 1)):
        fresh = tokens._Vocabulary()
        assert fresh.count("a b") == 2 and fresh._library is None
        fresh._library = LIBRARY._library
        assert fresh.count(text) == LIBRARY.count(text)
        assert not tokens._Vocabulary()._is_light(text)


@pytest.mark.parametrize(
    "text", ["def load_user(name):\n    return None\n", "it'S 'LL don'T", "  \n \n/ x)\n/y", "\x1c\x1d \x1e  x"]
)
def test_counts_of_lines_are_exact(text: str) -> None:
    assert _light(text) == LIBRARY.count(text)


def _light(text: str) -> int:
    LIGHT._left = tokens._FEW
    count = LIGHT.count(text)
    assert LIGHT._library is None
    return count


@given(st.text(alphabet=st.sampled_from("aB9 é€漢ひ'_-:.,ß\t\n"), max_size=30))
def test_words_have_the_places_where_they_stand(text: str) -> None:
    assert wordpiece._PLACED.findall(text) == wordpiece.words_of(text)


def test_the_first_piece_of_a_word_is_found_in_its_place() -> None:
    pieces = wordpiece.Pieces({"budget": 5, "shoe": 6, "##s": 7, "150": 8, "€": 9, ":": 10})
    text = "Budget: shoes 150€ unknown"
    places = {text[first:last]: (first, last) for first, last in ((0, 6), (6, 7), (8, 13), (14, 17), (17, 18), (19, 26))}
    found = wordpiece.places_of(text, [first for first, _ in places.values()], pieces)
    assert dict(zip(places, found, strict=True)) == {"Budget": 1, ":": 2, "shoes": 3, "150": 5, "€": 6, "unknown": 7}
    assert wordpiece.places_of("", [], pieces) == []
