from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.text import terms
from contextd.text.terms import FOLDER, NAME, STEM, defined_names, encode, encode_path, key, split, terms_of


def test_an_identifier_counts_whole_and_by_its_parts() -> None:
    assert terms_of("getUserName") == ("getusername", "get", "user", "name")
    assert terms_of("load_user") == ("load_user", "load", "user")
    assert terms_of("HTTPServer") == ("httpserver", "http", "server")


def test_words_are_stemmed_and_case_does_not_matter() -> None:
    assert terms_of("Running") == terms_of("runs") == ("run",)


def test_terms_people_use_survive() -> None:
    assert {"c#", "c++", "€", "42", "k8s"} <= set(split("C# and C++ on k8s for 42€"))


def test_other_scripts_are_found_by_pairs_of_letters() -> None:
    assert "日本" in split("日本語のテスト")


def test_names_do_not_lengthen_the_text() -> None:
    data = encode("load the user", ["load_user"])
    keys, counts = array("Q", data[: len(data) // 9 * 8]), data[len(data) // 9 * 8 :]
    assert dict(zip(keys, counts, strict=True))[key("load_user", NAME)] == 0
    assert sum(counts) == 3


def test_a_path_is_words_of_its_stem_and_of_its_folders() -> None:
    keys = set(array("Q", encode_path("src/auth/UserSession.py")))
    assert {key("session", STEM), key("usersession", STEM), key("auth", FOLDER)} <= keys
    assert key("auth", STEM) not in keys


def test_a_method_is_known_by_both_names() -> None:
    assert defined_names("Router.match") == ["router.match", "match"]


@given(st.text())
def test_any_text_has_terms_without_an_error(text: str) -> None:
    assert len(encode(text)) % 9 == 0


def test_counts_are_the_same_when_the_table_of_tokens_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "getUserName C# c++ plain words, 12 € and user_name again and again"
    whole = terms.encode(text, ["Class.getUserName"])
    monkeypatch.setattr(terms, "_MOST_TOKENS", 2)
    assert terms.encode(text, ["Class.getUserName"]) == whole
    kept = dict(zip(array("Q", whole[: len(whole) // 9 * 8]), whole[len(whole) // 9 * 8 :], strict=True))
    assert kept[terms.key("again")] == 2 and kept[terms.key("c#")] == kept[terms.key("€")] == 1
