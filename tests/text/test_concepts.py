"""The thesaurus of everyday life: what words are about, in six languages."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.text.natural_language import is_foreign
from contextd.text.thesaurus import concepts_of, widened

LANGUAGES = {"en", "de", "fr", "es", "zh", "ja"}


@pytest.mark.parametrize(
    "text", ["Where do I live?", "Ich wohne in Hamburg", "J'habite à Lyon", "¿Dónde vivo?", "我住在上海", "東京に住んでいます"]
)
def test_the_same_thing_is_known_in_six_languages(text: str) -> None:
    assert "live_home" in concepts_of(text)


def test_stems_whole_words_and_compounds() -> None:
    assert "allergy" in concepts_of("ALLERGIC")
    assert "tea" in concepts_of("a cup of tea") and "tea" not in concepts_of("the teaspoon and my teammate")
    assert {"shoes", "size"} <= concepts_of("Schuhgröße 42")
    assert {"jewelry_watch", "size"} <= concepts_of("Ringgröße 54") and "size" not in concepts_of("grossartige Dinge")
    assert concepts_of("") == concepts_of("42 % xyzzy") == concepts_of("allergic" * 9000) == frozenset()
    assert concepts_of("Schuhgro\u0308ße") == concepts_of("Schuhgröße")


def test_what_is_told_is_part_of_something_wider() -> None:
    assert "sport" in widened(concepts_of("I swim on Mondays"))
    assert "sport" not in concepts_of("When do I swim?")


@given(st.text(max_size=60))
def test_any_text_has_concepts_of_the_thesaurus_only(text: str) -> None:
    told = json.loads(files("contextd.text").joinpath("learned", "concepts.json").read_text("utf-8"))
    assert widened(concepts_of(text)) <= set(told)


def test_the_thesaurus_is_whole() -> None:
    told = json.loads(files("contextd.text").joinpath("learned", "concepts.json").read_text("utf-8"))
    for concept, entry in told.items():
        assert set(entry) - {"is"} == LANGUAGES, concept
        assert set(entry.get("is", ())) <= set(told), concept
        for language in LANGUAGES:
            assert all(word == word.casefold() for word in entry[language]), concept
            assert language in {"zh", "ja"} or all(len(word) >= 4 or word.endswith("$") for word in entry[language]), concept


def test_a_question_meets_a_fact_in_another_language(home: Path) -> None:
    person = open_session(None, home=home, environment={})
    facts = {
        "Where do I live?": "Ich wohne seit Mai in Leipzig",
        "Was arbeite ich?": "Je suis infirmière à l'hôpital",
        "¿Cómo se llama mi gato?": "My cat is called Minka",
        "我对什么过敏？": "I'm allergic to peanuts",
    }
    for fact in facts.values():
        person.remember(fact)
    for question, fact in facts.items():
        assert person.recall(question).hits[0].chunk.text == fact


@pytest.mark.parametrize(
    "text",
    [
        "non-profit donations per month",
        "e-mail per day",
        "a la carte restaurant",
        "la la land",
        "Müller Köln phone",
        "CI per se",
    ],
)
def test_a_few_foreign_words_make_no_foreign_question(text: str) -> None:
    assert not is_foreign(text)
    assert is_foreign("Wo wohne ich?") and is_foreign("¿Dónde vivo?") and is_foreign("我住在哪里")


def test_words_of_hiragana_are_words(home: Path) -> None:
    person = open_session(None, home=home, environment={})
    for fact in ("うどんが苦手です", "さくらが好きです", "寿司が好きです"):
        person.remember(fact)
    assert person.recall("うどんはどうですか？").hits[0].chunk.text == "うどんが苦手です"


def test_a_question_in_chinese_or_japanese_is_answered_without_asking_for_less(home: Path) -> None:
    person = open_session(None, home=home, environment={})
    for fact in ("我每个星期三晚上去游泳", "私は経理の仕事をしています", "我的狗叫小白"):
        person.remember(fact)
    assert person.recall("我什么时候去游泳？").hits[0].chunk.text == "我每个星期三晚上去游泳"
    assert person.recall("私の仕事は何ですか？").hits[0].chunk.text == "私は経理の仕事をしています"
    assert person.recall("Wie hoch ist der Eiffelturm?").hits == []
