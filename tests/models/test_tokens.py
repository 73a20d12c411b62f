"""Counting tokens: the few lines for short texts count as the library does."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contextd.models import tokens

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
