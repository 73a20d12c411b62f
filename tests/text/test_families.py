"""Words of one family are found by each other where code names things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.text.terms import terms_of
from contextd.text.word_families import family


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("parsing", "parser"), ("parser", "parse"), ("routes", "router"), ("logging", "logger"), ("logger", "log"),
        ("resolution", "resolve"), ("conversion", "convert"), ("indices", "index"), ("children", "child"),
        ("configuration", "config"), ("config", "configuration"), ("parameters", "param"), ("errors", "err"),
    ],
)  # fmt: skip
def test_words_of_one_family_know_each_other(word: str, other: str) -> None:
    assert set(terms_of(other)) <= family(word) | set(terms_of(word))


@pytest.mark.parametrize("word", ["the", "user", "öl", "x1", "ok", "", "class"])
def test_short_and_foreign_words_stay_themselves(word: str) -> None:
    assert not family(word) & {"use", "us", "the", "clas"} and not set(terms_of(word)) & family(word)


def test_a_file_is_found_by_another_word_of_its_family(make_project: Callable[..., Path], home: Path) -> None:
    files = {f"src/part{n}.py": f"def step{n}(value):\n    return dispatch(value, {n})\n" for n in range(12)}
    files["src/parser.py"] = "def tokens(text):\n    return [one for one in text.split()]\n"
    session = open_session(make_project(files), home=home, environment={}, flags={"embedding.deep_model": "none"})
    session.index()
    assert session.search("where does parsing happen", k=1, min_score=0.0).hits[0].chunk.uri == "src/parser.py"
