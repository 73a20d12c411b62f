"""Other inflected forms of the words of a question, in languages whose words are indexed by English stems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.querying.understand import understand
from contextd.text.inflections import inflected
from contextd.text.terms import terms_of
from contextd.values.query import Query, Reader, Scope


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [("de", "sicherungen", "sicherung"), ("fr", "préférées", "préféré"), ("es", "alquilado", "alquilar")],
)
def test_a_word_has_its_other_forms(language: str, word: str, other: str) -> None:
    assert set(terms_of(other)) <= inflected(word, language)
    assert not set(terms_of(word)) & inflected(word, language)


def test_english_and_unknown_languages_have_no_further_forms() -> None:
    assert not inflected("backups", "en") and not inflected("rybami", "pl")
    assert not understand(Query("Where are the backups made?", Scope((1,), Reader("owner")))).forms


def test_a_german_note_is_found_by_another_form_of_its_words(tmp_path: Path, make_project: Callable[..., Path]) -> None:
    root = make_project({"a.md": "Die Sicherung läuft nachts.\n", "b.md": "Der Drucker steht im Flur.\n"})
    session = open_session(root, home=tmp_path / "home")
    session.index()
    found = session.search("Wann laufen die Sicherungen?", min_score=0).hits
    assert [hit.chunk.text.strip() for hit in found][:1] == ["Die Sicherung läuft nachts."]
    session.close()
