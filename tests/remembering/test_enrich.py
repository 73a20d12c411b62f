"""What is guessed of a fact: attributes by patterns, language by small words, kinds by examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from contextd.app.assemble import open_session
from contextd.remembering.attributes import stated
from contextd.remembering.owners import whose
from contextd.text.classifiers import guess
from contextd.text.natural_language import language_of
from contextd.values.memory import UNKNOWN
from tests.conftest import Run, with_setup

ITEMS = Path(__file__).parent / "items"


@pytest.mark.parametrize(
    ("text", "attribute", "value", "unit"),
    [
        ("Budget for shoes: max 150€", "budget_shoes", "≤ 150", "€"),
        ("I can spend up to $80 on groceries", "budget_groceries", "≤ 80", "$"),
        ("Sneaker budget: 100-150€", "budget_sneaker", "100-150", "€"),
        ("Shoe size: EU 42", "shoe_size", "42", "EU"),
        ("I run 3x a week", "run_frequency", "3", "times/week"),
        ("I swim every day", "swim_frequency", "1", "times/day"),
        ("allergic to peanuts and shellfish", "allergy", "peanuts, shellfish", ""),
        ("I'm lactose intolerant", "intolerance", "lactose", ""),
        ("I weigh 78 kg", "weight", "78", "kg"),
        ("My favorite color is teal", "favorite_color", "teal", ""),
        ("I work as a nurse", "job", "nurse", ""),
        ("The API listens on port 8443", "port", "8443", ""),
        ("Rent: 1,250 € per month", "rent", "1,250", "€/month"),
        ("We decided to use PostgreSQL for the database", "database", "PostgreSQL", ""),
        ("I love hiking in the Alps", "", "", ""),
        ("Never: .", "", "", ""),
        ("no pets over 10 kilos", "no_pets", "≤ 10", "kilos"),
        ("I want to weigh 70 kg", "", "", ""),
        ("My birthday is 3 May", "birthday", "3 May", ""),
        ("Meine Ringgröße ist 54", "ring_size", "54", ""),
        ("Pointure 39", "shoe_size", "39", ""),
        ("Talla de camisa M", "shirt_size", "M", ""),
        ("Meine Größe ist 180 cm", "grösse", "180", "cm"),
        ("Meine Tochter ist 5", "age", "5", ""),
        ("Our Lily is 9", "age", "9", ""),
        ("My gate is 12", "gate", "12", ""),
        ("Hausnummer ist 12", "hausnummer", "12", ""),
    ],
)
def test_attribute_value_and_unit(text: str, attribute: str, value: str, unit: str) -> None:
    assert stated(text)[1:4] == (attribute, value, unit)


def test_whose_fact_it_is() -> None:
    assert stated("Tom's shoe size is 39")[:3] == ("tom", "shoe_size", "39")
    assert stated("My wife is allergic to nuts")[:3] == ("wife", "allergy", "nuts")
    assert stated("Biscuit is a beagle").about == "biscuit" and stated("Standup is at 10").about == ""


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Lena trägt jetzt Schuhgröße 35", "lena"),
        ("Meine Schwester verträgt keine Laktose", "schwester"),
        ("Unser kleiner Sohn isst keinen Fisch", "sohn"),
        ("Hugo n'aime pas les champignons", "hugo"),
        ("Ma mère habite à Lyon", "mère"),
        ("Mi hermano trabaja en Sevilla", "hermano"),
        ("Carmen tiene alergia al polen", "carmen"),
        ("Schuhgröße ist 42", ""),
        ("Fobia a las alturas", ""),
        ("Sensibilité a disparu", ""),
        ("Picante no, gracias", ""),
        ("Meine Wohnung hat zwei Zimmer", ""),
        ("Mon vélo est bleu", ""),
        ("Ich trage Schuhgröße 42", ""),
        ("Mittwochs geht nichts", ""),
    ],
)
def test_whose_fact_it_is_in_other_languages(text: str, about: str) -> None:
    assert whose(text)[0] == about


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("Für einen neuen Laptop höchstens 900 €", "budget_laptop"),
        ("Budget für meine Wanderschuhe: maximal 150 Euro", "budget_wanderschuhe"),
        ("Pour un nouveau vélo, pas plus de 600 €", "budget_vélo"),
        ("Máximo 40 € para una mochila", "budget_mochila"),
        ("Monthly grocery budget: 650€", "budget_grocery"),
    ],
)
def test_a_budget_is_named_after_the_thing(text: str, attribute: str) -> None:
    assert stated(text).attribute == attribute


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The office is in Lisbon", "en"),
        ("Ich wohne in Hamburg", "de"),
        ("Je préfère le thé au café", "fr"),
        ("Me gusta el café por la mañana", "es"),
        ("我住在上海", "zh"),
        ("東京に住んでいます", "ja"),
        ("42", ""),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_guesses_are_right_as_often_as_the_benchmarks_say(home: Path) -> None:
    """The shipped weights on a sample of the items; the benchmarks page has all of them."""
    session = open_session(None, home=home, environment={})
    assert session.setup.static is not None
    for what, name, least in (("kind", "facts", 0.7), ("act", "questions", 0.85), ("subject", "questions", 0.8)):
        known = json.loads((ITEMS / f"{name}.json").read_text("utf-8"))
        vectors = session.setup.static.documents([one["text"] for one in known])
        guesses = [guess(what, one["text"], {session.setup.static.space: v}) for one, v in zip(known, vectors, strict=True)]
        right = [found is not None and found.label == str(one[what]) for found, one in zip(guesses, known, strict=True)]
        assert sum(right) / len(right) >= least
    assert guess("kind", "anything", {}) is None


def test_other_languages_find_inflected_and_compound_words(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    for fact in (
        "Ich habe eine Nussallergie",
        "Mein Sohn spielt Fußball",
        "我对花生过敏",
        "我住在上海",
        "Je suis végétarienne",
    ):
        session.remember(fact)
    for question, fact in (
        ("Welche Nüsse vertrage ich nicht?", "Ich habe eine Nussallergie"),
        ("我能吃花生吗", "我对花生过敏"),
        ("Un menu pour une personne vegetarienne", "Je suis végétarienne"),
    ):
        assert session.recall(question, min_score=0, k=1).hits[0].chunk.text == fact


def test_a_size_in_another_language_is_found_by_its_english_name(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    for fact in ("Ringgröße: 54", "Mein Fahrrad ist rot", "My laptop is a ThinkPad", "Ich wohne in Hamburg"):
        session.remember(fact)
    assert session.recall("ring size").hits[0].chunk.text == "Ringgröße: 54"


class Noting:
    """An embedder that notes what it embeds."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.space, self.dimension = inner, inner.space, inner.dimension
        self.embedded: list[str] = []

    def documents(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return self.inner.documents(texts)

    def query(self, text: str) -> Any:
        return self.inner.query(text)


def test_a_new_fact_does_not_embed_the_facts_that_teach_again(home: Path) -> None:
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": "none"})
    for day in ("Monday", "Tuesday", "Wednesday"):
        session.remember(f"Standup with the platform team on {day} at nine", kind="commitment")
    noting = Noting(session.setup.static)
    session = with_setup(session, static=noting)
    kept = session.remember("Standup with the platform team on Friday at nine").memory
    assert kept.kind == "commitment", "it is taught by the others"
    assert not any("Monday" in text for text in noting.embedded)
    session.close()


def test_what_was_told_without_models_is_enriched_once_they_are_there(home: Path) -> None:
    session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": "none"})
    bare = with_setup(session, static=None)
    told = [bare.remember(text).memory for text in ("Budget for shoes: max 150€", "I am allergic to peanuts")]
    assert {one.kind for one in told} == {"constraint"}, "by the wording"
    bare.memories.enrich()
    session.remember("我住在上海")  # the static model has no vector for it
    (warning,) = session.recall("shoes").trace.warnings
    assert warning.startswith("2 memories have no vectors yet") and "`contextd memories enrich`" in warning
    noting = Noting(session.setup.static)
    with_setup(session, static=noting).memories.enrich()
    assert UNKNOWN not in {session.memories.get(one.id).kind for one in told} and not session.recall("shoes").trace.warnings
    noting.embedded.clear()
    with_setup(session, static=noting).memories.enrich()
    assert not noting.embedded, "nothing is missing any more"


def test_without_weights_a_query_warns_once_and_fetching_them_says_what_to_do(
    contextd: Callable[..., Run], home: Path, tmp_path: Path
) -> None:
    bare = {"CONTEXTD_HOME": str(tmp_path / "bare")}
    contextd("remember", "Budget for shoes: max 150€", **bare)
    for command in (["recall", "shoes"], ["facets", "which shoes"], ["search", "shoes", "-p", str(tmp_path)]):
        err = contextd(*command, **bare).err
        assert err.count("keywords only") == 1 and "is not installed" in err, command
    fetched = contextd("models", "fetch", "potion-base-8M", "--from", str(home), **bare)
    assert "`contextd memories enrich`" in fetched.err
    assert "1 memory has no vectors yet" in contextd("recall", "shoes", **bare).err
    assert "enrich" not in contextd("models", "fetch", "potion-base-8M", "--from", str(home), **bare).err
    assert contextd("memories", "enrich", **bare).code == 0 and "constraint" in contextd("memories", **bare).out


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("She never eats pork", "constraint"),
        ("Lactose-free", "constraint"),
        ("I want to run a marathon", "goal"),
        ("I prefer tea", "preference"),
    ],
)
def test_without_weights_the_wording_gives_a_kind(tmp_path: Path, text: str, kind: str) -> None:
    session = open_session(None, home=tmp_path)
    assert session.setup.static is None
    assert session.remember(text).memory.kind == kind


@pytest.mark.parametrize(
    ("text", "language"),
    [("Shoe size: EU 42", "en"), ("Schuhgröße 42", "de"), ("Allergique aux noix", "fr"), ("Talla de camisa M", "es")],
)
def test_the_language_of_a_short_fact(text: str, language: str) -> None:
    assert language_of(text) == language
