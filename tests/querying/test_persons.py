"""Facts of a person: what must not be missed, what a look-up gets, and how relevance depends on the number of facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.querying.compete import alone, likely_of, needed, standings
from contextd.querying.facets.judge import NAMES, answers, by_nearness, enough, evidence, odds_of, relevant
from contextd.querying.matter import of_needs
from contextd.text.aim import aim_of, aimed
from contextd.text.hard_limits import is_limit, limit_domains, question_domains
from contextd.text.needs import WORDS, needs_of, tier_of, wanted
from contextd.text.people import Mentions, mentions
from contextd.text.wording import asks_one_thing, is_about_world, subject_of
from contextd.values.answer import Retrieved, Spread
from contextd.values.document import ChunkId
from contextd.values.memory import Recall
from contextd.values.query import Facet, Narrow
from tests.conftest import new_home

LIMITS = json.loads((Path(__file__).parent / "items/must_not_miss.json").read_text("utf-8"))["people"]
_EATEN = """peanuts sesame celery kiwi mustard lupin soy eggs milk crab squid mango peaches walnuts cashews pistachios oats rye
honey garlic onions bananas cherries tomatoes""".split()
TOLD = """Allergic to peanuts
My sister Anna is vegan
Favorite cuisine: Thai
Shoe size EU 42
Ring size is 62
I live in Munich
I work as a data engineer
We deploy on Thursdays
My bike is a Specialized Sirrus
I save 600 pounds a month""".split("\n")


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Somebody who has told ten facts."""
    session = open_session(None, home=tmp_path_factory.mktemp("persons"))
    for fact in TOLD:
        session.remember(fact)
    return session


@pytest.mark.parametrize("person_of", LIMITS, ids=lambda one: one["language"])
def test_a_limit_shares_a_domain_with_every_question_that_needs_it(person_of: dict[str, list[dict[str, list[str]]]]) -> None:
    text = {str(limit["id"]): str(limit["text"]) for limit in person_of["limits"]}
    missed = [
        (question["text"], text[one])
        for question in person_of["questions"]
        for one in question["needs"]
        if is_about_world(str(question["text"])) or not question_domains(str(question["text"])) & limit_domains(text[one])
    ]
    assert not missed


@pytest.mark.parametrize("person_of", LIMITS, ids=lambda one: one["language"])
def test_limits_stay_out_of_questions_about_something_else(person_of: dict[str, list[dict[str, list[str]]]]) -> None:
    text = {str(limit["id"]): str(limit["text"]) for limit in person_of["limits"]}
    pairs = [(str(one["text"]), text[limit]) for one in person_of["elsewhere"] for limit in one["not"]]
    wrong = [one for one in pairs if not is_about_world(one[0]) and question_domains(one[0]) & limit_domains(one[1])]
    assert len(wrong) <= 0.05 * len(pairs)


def test_most_limits_of_twelve_further_persons_share_a_domain_with_the_questions_that_need_them() -> None:
    people = json.loads((Path(__file__).parent / "items/must_not_miss_2.json").read_text("utf-8"))["people"]
    needed, met, apart, out = 0, 0, 0, 0
    for one in people:
        domains = {limit["id"]: limit_domains(limit["text"]) for limit in one["limits"]}
        for question in one["questions"]:
            asked = frozenset() if is_about_world(question["text"]) else question_domains(question["text"])
            needed, met = needed + len(question["needs"]), met + sum(bool(asked & domains[two]) for two in question["needs"])
        for question in one["elsewhere"]:
            asked = frozenset() if is_about_world(question["text"]) else question_domains(question["text"])
            apart, out = apart + len(question["not"]), out + sum(not asked & domains[two] for two in question["not"])
    assert met >= 0.95 * needed, f"{met} of {needed}"
    assert out >= 0.98 * apart, f"{out} of {apart}"


@pytest.mark.parametrize(
    "fact",
    [
        "I like Thai food",
        "My desk is 120 cm wide",
        "We have a cat called Miso",
        "I prefer tea",
        "I lent Paul my drill",
        "Meal prep on Sundays",
    ],
)
def test_a_plain_fact_is_no_limit(fact: str) -> None:
    assert not limit_domains(fact)


def test_an_allergy_is_in_every_answer_about_food(person: Session) -> None:
    for question in (
        "What should I cook tonight?",
        "Recommend a restaurant for Friday",
        "snack ideas for the office",
        "What's for dinner tonight?",
    ):
        answer = person.facets(question)
        assert [hit.chunk.text for hit in answer.hits].count("Allergic to peanuts") == 1, question
        assert "Must Be Respected:\n" in answer.text
    assert "Allergic to peanuts" not in person.facets("which laptop should I buy?").text


def test_a_limit_is_shown_among_many_others(tmp_path: Path) -> None:
    session, allergies = open_session(None, home=tmp_path), [f"Allergic to {what}" for what in _EATEN]
    others = [f"Shelf {one} holds the folders of that year" for one in range(250)]
    session.memories.remember_all([session.memories.draft(fact) for fact in (*allergies, *others)])
    answer = session.facets("What should I cook tonight?", budget=1000)
    assert {hit.chunk.text for hit in answer.hits} >= set(allergies)


def test_a_question_in_another_language_leaves_out_no_limit_of_its_domain(tmp_path: Path) -> None:
    session = open_session(None, home=tmp_path)
    limit = "Höhenangst hab ich, schon bei einer Hängebrücke wird mir schwarz vor Augen"
    others = [f"Die Wohnung Nummer {one} im Dachgeschoss schauen wir uns an" for one in range(130)]
    session.memories.remember_all([session.memories.draft(fact) for fact in (limit, *others)])
    answer = session.facets("Welche Wohnung sollen wir uns anschauen, die im Dachgeschoss oder die im Parterre?")
    assert limit in {hit.chunk.text for hit in answer.hits}


def test_the_situation_of_a_question_tells_its_domains() -> None:
    assert not question_domains("Plan something for me and Aoife")
    assert question_domains("Plan something for me and Aoife", "outing") == {"travel", "venue"}
    assert not question_domains("Which countries share a border with Laos?", "trip")


def test_limits_of_others_count_if_the_question_concerns_them(person: Session) -> None:
    assert "My sister Anna is vegan" in person.facets("What should I cook for Anna?").text
    assert "My sister Anna is vegan" not in person.facets("a quick lunch for me today").text


def test_a_question_about_the_world_gets_nothing(person: Session) -> None:
    for question in ("Why is the sky blue?", "Who painted the Night Watch?", "How many calories are in an apple?"):
        assert not person.facets(question).hits and not person.recall(question).hits, question


def test_limits_come_first_when_the_budget_is_small(person: Session) -> None:
    answer = person.facets("What should I cook tonight?", budget=40)
    assert answer.tokens <= 40 and "peanuts" in answer.text


def test_the_standing_that_is_enough_grows_with_the_number_of_facts() -> None:
    assert needed(20) < needed(120) < needed(505) < needed(5000)
    assert needed(1) > needed(20), "a single fact is no answer to every question"


def test_the_same_cosine_counts_less_among_many_near_facts() -> None:
    chunks = (ChunkId(1, 0),)

    def standing(mean: float) -> float:
        arms = {"deep/a/384/1": np.array([0.3])}
        return float(standings(Retrieved(chunks, arms, spread={"deep/a/384/1": Spread(mean, 0.06, 500)}))[0])

    assert standing(0.0) > standing(0.2)


def test_a_look_up_is_answered_by_one_fact_if_that_is_clear() -> None:
    assert alone(np.array([4.0, 1.0, 3.9, 0.2]), 20) == [0, 2]
    assert alone(np.array([4.0, 1.0, 2.0]), 20) == [0]
    assert alone(np.array([0.5, 0.4]), 20) == []


def test_at_most_twelve_facts_are_relevant_best_first() -> None:
    found = relevant(np.linspace(5, 3, 40), 20)
    assert found == list(range(12))
    assert relevant(np.full(5, -4.0), 20) == []
    assert enough(20) > enough(120) > enough(505)


def test_the_relevance_is_at_most_the_chance_that_anything_matters() -> None:
    assert likely_of(np.array([9.0, 0.0]), 20, 0.25).max() == 0.25


def test_an_aimed_vector_has_length_one_and_another_model_is_left_alone() -> None:
    vector = aim_of("static").mean + 0.1
    assert np.isclose(np.linalg.norm(aimed(vector, "static/x/256/1")), 1, atol=1e-3)
    own = np.ones(3, np.float32)
    assert aimed(own, "static/mine/3/1") is own


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Kannst du mir ein Restaurant empfehlen?", "recommendation"),
        ("我想买一双鞋", "shopping"),
        ("旅行の計画を立てて", "planning"),
    ],
)
def test_the_subject_by_wording_alone(text: str, subject: str) -> None:
    assert subject_of(text) == subject


def test_advice_is_not_looked_up() -> None:
    assert asks_one_thing("When is Anna's birthday?") and asks_one_thing("Wie heißt mein Hund?")
    assert not asks_one_thing("What should I cook tonight?")


@pytest.mark.parametrize("tier", ["deep", "static", WORDS])
def test_a_trip_needs_the_passport_and_a_meal_does_not(tier: str, tmp_path: Path) -> None:
    from tests.conftest import WEIGHTS

    (tmp_path / "models").symlink_to(WEIGHTS.absolute())
    setup = open_session(None, home=tmp_path).setup
    embedder = {"deep": setup.deep(), "static": setup.static, WORDS: None}[tier]
    texts = ["My passport runs out in April", "I can't stand olives"]

    def vectors(texts: list[str]) -> NDArray[np.float32]:
        return (
            np.zeros((len(texts), 0), np.float32)
            if embedder is None
            else np.vstack([embedder.documents([one]) for one in texts])
        )

    def needed(question: str) -> NDArray[np.float64]:
        asked = wanted(needs_of(tier), question, vectors([question])[0])
        return asked.by_vectors(vectors(texts)) + asked.by_concepts(texts)

    trip, meal = needed("Plan a week abroad"), needed("What should I cook tonight?")
    assert trip[0] > trip[1] and meal[1] > meal[0]


def test_vectors_of_another_model_are_not_judged_by_our_weights() -> None:
    assert tier_of("static/potion", len(needs_of("static").fact.mean)) == "static"
    assert tier_of("static/mine", 3) == tier_of("server/mine", 384) == tier_of("", 0) == WORDS


def test_a_fact_without_a_vector_is_judged_by_its_concepts() -> None:
    needs = needs_of("static")
    size = len(needs.fact.mean)
    asked = wanted(needs, "Plan a week abroad", np.ones(size, np.float32))
    missing, constant = asked.by_vectors(np.zeros((1, size), np.float32)), needs.fact.weights[-1] @ asked.projected
    assert missing[0] == pytest.approx(constant, abs=1e-4)


def test_my_sister_means_the_sister_whose_name_a_fact_says() -> None:
    facts = ["My sister Bodil lives in Bergen", "Bodil hates surprises", "Torill snores", "Shoe size 39"]
    found = mentions("a present for my sister", facts, ["sister", "bodil", "torill", ""])
    assert found.meant.tolist() == [1, 1, 0, 0] and found.others.tolist() == [0, 0, 1, 0]
    assert mentions("something for Torill", facts, [""] * 4).named.tolist() == [0, 0, 1, 0]
    facts = [
        "Corinna is my younger sister",
        "Corinna is vegan",
        "Our son Pim is 4",
        "The kids hate fish",
        "Juno, our daughter, dances",
    ]
    found = mentions("dinner with my sister", facts, ["corinna", "corinna", "son", "kids", "juno"])
    assert found.meant.tolist() == [1, 1, 0, 0, 0] and found.outside.tolist() == [0, 0, 0, 0, 0]
    found = mentions("shoes for Pim", facts, ["corinna", "corinna", "son", "kids", "juno"])
    assert (found.named + found.meant).tolist() == [0, 0, 1, 1, 0], "the kids are meant, his sister is not"
    assert found.outside.tolist() == [1, 1, 0, 0, 0] and found.introduces.tolist() == [0, 0, 1, 0, 0]


def test_the_same_evidence_counts_less_among_more_facts() -> None:
    zero, one = np.zeros(1), np.ones(1)
    shared = {"parts": zero, "coverage": zero, "concepts": zero}
    nobody = Mentions(zero, zero, zero, zero, zero)

    def odds(near: float, size: int) -> float:
        columns = evidence({"static": near * one, "deep": near * one}, shared, -one, zero, nobody, size)
        return float(odds_of(columns, "deep")[0])

    assert odds(3, 20) > odds(3, 120) > odds(3, 505)
    assert odds(3, 120) > odds(1, 120)


def test_a_fact_is_less_likely_if_many_others_are_likely() -> None:
    alone, crowd = (np.array([1.0, *others]) for others in ([-6.0] * 20, [1.0] * 20))
    columns = [{name: odds if name == "near" else np.zeros(21) for name in NAMES} for odds in (alone, crowd)]
    first, second = (float(odds_of(one, "deep")[0]) for one in columns)
    assert first > second


def test_a_look_up_is_answered_by_the_likely_facts_unless_they_are_many() -> None:
    assert answers(np.array([-5.0, 2.0, 1.5, -1.0])) == [1, 2]
    assert answers(np.array([-5.0, 0.0, -1.2])) == [1]
    assert not answers(np.array([2.0, 1.9, 1.8, 1.7])) and not answers(np.array([-2.0, -3.0])) and not answers(np.array([]))


def test_a_look_up_shows_a_newer_value_of_what_it_answers_with(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    for fact in ("I live in Bremen, in the Steintor quarter", "My shoe size is EU 42", "I moved to Oldenburg", "I like tea"):
        session.remember(fact)
    assert "Oldenburg" in session.facets("where do i live").text
    session.close()


def test_a_look_up_of_ones_own_is_not_answered_by_others(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    for fact in ("My shoe size is EU 42", "My son's shoe size is EU 35", "Anna's birthday is 3 June", "My birthday is 1 July"):
        session.remember(fact)
    assert [hit.chunk.text for hit in session.facets("what's my shoe size").hits] == ["My shoe size is EU 42"]
    assert [hit.chunk.text for hit in session.facets("when is Anna's birthday").hits] == ["Anna's birthday is 3 June"]
    assert [hit.chunk.text for hit in session.facets("when is my birthday").hits] == ["My birthday is 1 July"]
    session.close()


def test_something_matters_if_some_fact_is_needed() -> None:
    none, one = (of_needs(np.array([-6.0, -5.0, best, -7.0])) for best in (-5.5, 2.0))
    assert one[0] == 2.0 and none[0] == -5.0 and one[1] == none[1] == -6.0 and one[2] > none[2]


def test_in_a_crowd_the_nearest_facts_matter_most() -> None:
    odds, near = np.full(30, 2.0), np.linspace(3, 0, 30)
    gained = by_nearness(odds, near)
    assert gained[0] > 0 > gained[-1] and not by_nearness(odds[:5], near[:5]).any()


@pytest.mark.parametrize(
    "question",
    [
        "What strength are my contact lenses",
        "Which insulin do I take at night?",
        "Price of the dentistry course?",
        "Anna's ring size?",
        "whats my shoe size",
        "gate code",
        "our wedding anniversary is when",
    ],
)
def test_a_look_up_is_known_by_its_wording(question: str) -> None:
    assert asks_one_thing(question)


_INSTRUCTIONS = (
    "find a code", "review my code", "exercises for grip strength", "plan around the deadline", "reduce churn rate",
    "cancel my phone number", "compare my electricity tariff", "shoe size chart for kids",
)  # fmt: skip


@pytest.mark.parametrize(
    "question", ["gift for Aisling's birthday", "Set up this week's training", "which shoes should I buy", *_INSTRUCTIONS]
)
def test_a_request_is_no_look_up(question: str) -> None:
    assert not asks_one_thing(question)


def test_a_look_up_is_answered_by_one_fact(person: Session) -> None:
    assert [hit.chunk.text for hit in person.facets("What's my ring size?").hits] == ["Ring size is 62"]


@pytest.mark.parametrize(
    "fact", ["Diabetes review on 11 March", "Dinner at ours is never before nine", "My friend runs the pharmacy"]
)
def test_appointments_and_habits_are_no_limits(fact: str) -> None:
    assert not limit_domains(fact)


def test_limits_of_the_household_count_in_every_language(tmp_path: Path) -> None:
    session = open_session(None, home=tmp_path)
    told = {
        "Our youngest Mia must not eat eggs": "What's for dinner tonight?",
        "Meine Tochter Lena verträgt keine Milch": "Was koche ich heute Abend?",
        "Mon mari Luc est allergique aux noix": "Que cuisiner ce soir pour moi ?",
        "Mi hijo Pablo es celíaco": "¿Qué cocino esta noche?",
        "老公有痛风": "今晚吃什么?",
        "娘は卵アレルギー": "今夜の夕飯は何にしよう?",
    }
    for fact in told:
        session.remember(fact)
    missed = [fact for fact, question in told.items() if fact not in {hit.chunk.text for hit in session.facets(question).hits}]
    assert not missed


NEAR = [
    json.loads(line) for line in (Path(__file__).parents[2] / "benchmarks/examples/near.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module", params=[0, 5])
def told_much(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, weights: Path | None
) -> tuple[Session, int]:
    """Somebody whose facts have words that questions about the world have, too. With all models."""
    if weights is None:
        pytest.skip("no weights here")
    session = open_session(None, home=new_home(tmp_path_factory.mktemp("near") / "home", weights), environment={})
    session.memories.remember_all([session.memories.draft(fact) for fact in NEAR[request.param]["facts"]])
    return session, request.param


def test_questions_about_the_world_in_the_words_of_facts_mostly_get_nothing(told_much: tuple[Session, int]) -> None:
    """And terse ones about oneself get something."""
    session, number = told_much
    for ask in (session.facets, session.recall):
        shown = {kind: sum(bool(ask(text).hits) for text in NEAR[number][kind]) for kind in ("near", "own")}
        assert shown["near"] <= 4 and shown["own"] >= 18, f"{ask.__name__}: {shown} of 20"


def test_a_budget_is_shown_in_its_facet_and_not_for_another_thing(home: Path) -> None:
    session, budget = open_session(None, home=home, environment={}), "Grocery budget: 90 pounds a week"
    for fact in (budget, "Allergic to walnuts", "I drive a Skoda Octavia", "Shoe size EU 41"):
        session.remember(fact)
    bought = [(hit.chunk.text, hit.facet) for hit in session.facets("plan the groceries for the week").hits]
    assert any(text == budget and facet != "must" for text, facet in bought)
    assert budget not in [hit.chunk.text for hit in session.facets("help me find running shoes").hits]
    session.close()


def test_a_filter_that_fits_nothing_finds_nothing(told_much: tuple[Session, int]) -> None:
    """Regression: the question was compared with no vectors at all."""
    assert not told_much[0].recall("what is my shoe size", narrow=Narrow(recall=Recall(topics=frozenset({"sailing"})))).hits


@pytest.mark.parametrize(
    ("limit", "question"),
    [
        ("Hausstauballergie", "Teppich oder Parkett fürs Schlafzimmer?"),  # few words of the language: not judged as English
        ("Mon fils Ilyès est asthmatique", "Ilyès veut s'inscrire au cross du collège, on fait comment ?"),
        ("Mi hijo es alérgico al marisco", "what should I cook for my son tonight"),  # a fact that English models hardly know
    ],
)
def test_limits_in_other_languages_are_shown_with_all_models(home: Path, limit: str, question: str) -> None:
    session = open_session(None, home=home, environment={})
    for fact in (limit, "I drive a Skoda Octavia", "My shoe size is EU 41"):
        session.remember(fact)
    assert limit in [hit.chunk.text for hit in session.facets(question).hits]
    session.close()


@pytest.mark.parametrize(
    "fact",
    [
        "Allergic to peanuts, but not allergic to almonds",
        "I stopped taking ibuprofen because I'm allergic to it",
        "No known allergies except penicillin",
        "My daughter is pregnant, not diabetic",
        "Keine Allergien außer gegen Nüsse",
        "Je ne suis pas allergique au lait, mais au soja oui, allergie sévère",
    ],
)
def test_denying_one_limit_deleted_another(fact: str) -> None:
    """Regression: "not allergic to almonds" made the peanuts no limit."""
    assert is_limit(fact) and limit_domains(fact)


@pytest.mark.parametrize(
    "fact",
    [
        "I am no longer allergic to penicillin",
        "Daniel isn't afraid of anything",
        "I stopped taking levothyroxine",
        "Keine Allergien",
    ],
)
def test_what_is_over_is_no_limit(fact: str) -> None:
    assert not is_limit(fact) and is_limit("I am allergic to penicillin") and is_limit("I no longer eat pork")


SMALL_TALK = ["ok", "thanks", "danke", "谢谢", "ありがとう", "好的", "mach das", "commit this", "LGTM", "?"]


@pytest.mark.parametrize("models", ["all", "none"])
def test_small_talk_was_told_what_must_be_respected(tmp_path: Path, weights: Path | None, models: str) -> None:
    """Regression: a pregnancy warns of so much that any message touched it."""
    session = open_session(None, home=new_home(tmp_path / "home", weights if models == "all" else None), environment={})
    for fact in ("My wife Ina is 34 weeks pregnant", "I take warfarin every evening", "Allergic to peanuts", "I drive a Skoda"):
        session.remember(fact)
    assert [text for text in SMALL_TALK if session.facets(text).hits] == []
    assert "peanuts" in session.facets("what should I cook tonight?").text
    session.close()


def test_own_facets_changed_which_limits_are_shown(home: Path) -> None:
    """Regression: with the caller's own facets, limits were chosen by similarity alone."""
    session = open_session(None, home=home, environment={})
    for fact in (
        "My wife Ina is 34 weeks pregnant",
        "Our lease forbids drilling",
        "I'm afraid of heights",
        "Allergic to peanuts",
    ):
        session.remember(fact)
    question, own = "what should I cook for dinner", [Facet("style", "Style", "Which style of cooking is liked?")]
    shown = {
        bool(facets): {hit.chunk.text for hit in session.facets(question, own=facets).hits if hit.facet == "must"}
        for facets in ([], own)
    }
    assert shown[True] == shown[False] >= {"Allergic to peanuts"}
    session.close()


def test_a_party_of_somebody_is_no_look_up_of_their_birthday(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    for fact in (
        "Dhruv's birthday is 23 July",
        "Dhruv is allergic to cashew and pistachio",
        "I drive a Skoda",
        "Shoe size EU 41",
    ):
        session.remember(fact)
    assert "cashew" in session.facets("Dhruv's birthday party at the gym").text
    assert [hit.chunk.text for hit in session.facets("Dhruv's birthday").hits][:1] == ["Dhruv's birthday is 23 July"]
    session.close()


def test_limits_of_a_family_that_a_question_does_not_name_were_left_out(home: Path) -> None:
    """Regression: those of other people were shown only if they were named, or "we" was said."""
    session = open_session(None, home=home, environment={})
    for fact in (
        "My daughter Mele is allergic to seafood",
        "My husband Tavita chokes on dry food, soft food only",
        "I drive a van",
    ):
        session.remember(fact)
    assert "seafood" in session.facets("what do I feed the family this Sunday").text
    assert "seafood" not in session.facets("lunch for me, quick ideas").text
    session.close()


def test_a_budget_was_kept_from_a_question_about_it(home: Path) -> None:
    """Regression: what is spent on food had nothing to do with groceries."""
    session, budget = open_session(None, home=home, environment={}), "Grocery budget: 90 pounds a week"
    for fact in (budget, "I drive a Skoda Octavia", "Shoe size EU 41"):
        session.remember(fact)
    assert budget in [hit.chunk.text for hit in session.facets("How much can I spend on food per week?").hits]
    session.close()


@pytest.fixture
def told_facts(home: Path) -> Iterator[Callable[..., Session]]:
    """Opens a session of somebody who has told some facts, with all models."""
    session = open_session(None, home=home, environment={})

    def told(*facts: str) -> Session:
        session.memories.remember_all([session.memories.draft(fact) for fact in facts])
        return session

    yield told
    session.close()


def test_who_somebody_is_is_told_by_the_facts_that_introduce_them(told_facts: Callable[..., Session]) -> None:
    person = told_facts(
        "My name is Miriam, I'm 41 and live in Utrecht with my wife Noor", "Noor wears size S", "Noor speaks Arabic and French",
        "My wife Noor is a midwife", "Noor loves sailing", "We have a cat called Bram", "My ring size is 54", "I wear a size M in tops",
        "Our daughter Juno was born on 14 March 2017", "Juno's birthday party is at the climbing hall on Saturday",
    )  # fmt: skip
    assert _texts(person, "who is Noor?") == {
        "My wife Noor is a midwife",
        "My name is Miriam, I'm 41 and live in Utrecht with my wife Noor",
    }
    assert _texts(person, "what is my cat called") == {"We have a cat called Bram"}
    assert "Our daughter Juno was born on 14 March 2017" in _texts(person, "when is Juno's birthday")
    assert "My ring size is 54" in _texts(person, "what's my ring size")


def test_sizes_of_other_people_and_things_do_not_fill_a_purchase(told_facts: Callable[..., Session]) -> None:
    person = told_facts(
        "Our son Pim is 4", "Pim wears shoe size 28", "Juno wears shoe size 34", "My ring size is 54", "I wear EU 41 shoes",
        "My favourite colour is dark green", "I prefer leather shoes",
    )  # fmt: skip
    assert "Pim wears shoe size 28" in _texts(person, "shoes for Pim for winter")
    assert "My ring size is 54" not in _texts(person, "which shoes should I buy for the hike")


@pytest.mark.parametrize("text", ["give me the next step", "what's next?", "make it shorter", "repeat that"])
def test_what_only_keeps_a_talk_going_gets_nothing(told_facts: Callable[..., Session], text: str) -> None:
    assert not _texts(told_facts("I take levothyroxine 75 µg every morning", "I'm in the works council"), text)


def _texts(person: Session, question: str) -> set[str]:
    return {hit.chunk.text for hit in person.facets(question).hits}
