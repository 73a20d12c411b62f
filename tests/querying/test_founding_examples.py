"""The worked examples of the founding document on personal facts: questions with their answers.

Where the specification departs, a comment says so. The budget is a sign and a number here (`≤ 150 €`, not "max 150€"), values of
one attribute are separated by commas, and relevance is a calibrated probability.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.querying.facets.allot import shares
from contextd.querying.facets.assign import BOOSTS
from contextd.querying.facets.compress import compress
from contextd.querying.facets.facet_table import SIDES
from contextd.values.answer import Hit
from contextd.values.document import Chunk, ChunkId

TOLD = """Budget for shoes: max 150€
Sneaker budget: 100-150€
Prefer spending 120€ on shoes
Style: casual, comfortable
Color: white or neutral tones
Shoe size: EU 42
Fit: wide toe box
Brands: Adidas, Nike
Runs 3x/week outdoors
Cuisine: Mediterranean, Italian
Ambiance: cozy, authentic
Dietary: lactose-free
Budget for groceries: 400€ a month
I live in Munich
I work as a data engineer
Dentist appointment on 3 March 2026""".split("\n")


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Somebody who told the facts of the founding document, and some more."""
    from tests.conftest import WEIGHTS

    home = tmp_path_factory.mktemp("home")
    (home / "models").symlink_to(WEIGHTS.absolute())
    session = open_session(None, home=home, environment={})
    for fact in TOLD:
        session.remember(fact)
    return session


def blocks(session: Session, question: str) -> dict[str, str]:
    text = session.facets(question, budget=500).text.strip()
    return dict(part.split(":\n", 1) for part in text.split("\n\n")[1:])


def test_casual_sneakers_under_150_euros(person: Session) -> None:
    """Section 3.1: the blocks that go to the chat."""
    found = blocks(person, "Help me find casual sneakers under 150€")
    names, value = found["Budget & Constraints"].removeprefix("@budget_").split(" ", 1)
    assert set(names.split("/")) == {"shoes", "sneaker"} and value == "100\u2013150 €, prefer 120 €"
    style = found["Style Preferences"].split("; ")
    assert sorted(style) == ["@color white or neutral tones", "@style casual, comfortable"]
    assert sorted(found["Size & Fit"].split("; ")) == ["@fit wide toe box", "@shoe_size 42 EU"]
    assert found["Brand Preferences"] == "@brands Adidas, Nike"
    assert "Runs 3x/week outdoors" in found["Usage Context"]


def test_facets_and_their_importance(person: Session) -> None:
    """Sections 3.1 and 7.4: five sub-questions; constraints 0.9 to 1, preferences 0.7 to 0.9, context 0.3 to 0.5."""
    facets = person.facets("Find me sneakers").plan.facets
    assert [facet.title for facet in facets] == [
        "Budget & Constraints", "Style Preferences", "Size & Fit", "Brand Preferences", "Usage Context",
    ]  # fmt: skip
    assert facets[0].question.startswith("What is my budget for sneakers")
    weights = [facet.weight for facet in facets]
    assert weights[0] == 1.0 and 0.7 <= weights[1] <= 0.9 and weights[2] == 0.7 and weights[3:] == [0.5, 0.4]
    assert all("Fashion" in facet.topics and len(facet.topics) <= 3 for facet in facets)
    assert "Fitness" in facets[4].topics, "the context of use reaches into other topics"


@pytest.mark.parametrize(
    ("question", "subject", "domain"),
    [
        ("Find me sneakers", "shopping", "Fashion"),
        ("Recommend a café", "recommendation", "Nutrition"),
        ("Plan my workout", "planning", "Fitness"),
        ("Buy groceries", "shopping", "Nutrition"),
        ("What is React?", "", ""),  # a question about the world has no subject here, and gets no facts
    ],
)
def test_subject_and_domain_of_a_question(person: Session, question: str, subject: str, domain: str) -> None:
    """Section 7.1."""
    plan = person.facets(question).plan
    assert (plan.subject, plan.domain) == (subject, domain)


def test_groceries_and_a_cafe(person: Session) -> None:
    """Sections 7.1 and 7.6: the budget is that of the groceries, and what one may not eat is always there."""
    groceries = blocks(person, "Buy groceries")
    assert groceries["Must Be Respected"] == "@dietary lactose-free"
    assert "@budget_groceries 400 €/month" in groceries["Budget & Constraints"]
    assert "150" not in str(groceries) and "42" not in str(groceries)
    cafe = blocks(person, "Recommend a café")
    assert cafe["Must Be Respected"] == "@dietary lactose-free"
    assert "@cuisine Mediterranean, Italian" in cafe["Tastes"]


def test_a_question_about_the_world_gets_no_facts(person: Session) -> None:
    assert person.facets("What is React?").text == ""


def fact(text: str, label: str, value: str) -> Hit:
    number = abs(hash(text)) % 10**9
    chunk = Chunk(
        ChunkId(number, 0),
        1,
        f"memory:{number}",
        "memory",
        "constraint",
        label,
        (),
        text,
        1,
        1,
        0,
        len(text),
        9,
        0,
        value=value,
    )
    return Hit(chunk, 0.9, 0.9, {}, "budget")


BUDGETS = (
    fact("Budget for shoes: max 150€", "budget_shoes", "≤ 150 €"),
    fact("Sneaker budget: 100-150€", "budget_sneaker", "100-150 €"),
    fact("Prefer spending 120€ on shoes", "budget_shoes", "120 €"),
)


def test_limits_of_one_thing_are_joined() -> None:
    """Sections 3.1 (two facts) and 4.1.6 (three)."""
    assert [str(one) for one in compress(BUDGETS[:2])] == ["@budget_shoes/sneaker 100\u2013150 €"]
    assert [str(one) for one in compress(BUDGETS)] == ["@budget_shoes/sneaker 100\u2013150 €, prefer 120 €"]


def test_several_values_of_an_attribute_are_combined() -> None:
    """Section 7.6, rule 7."""
    told = [fact(f"Color: {color}", "color", color) for color in ("white", "beige", "neutral", "white")]
    assert [str(one) for one in compress(told)] == ["@color white, beige, neutral"]


def test_things_with_limits_of_their_own_are_not_joined() -> None:
    hotels = fact("Budget for hotels: max 100€", "budget_hotels", "≤ 100 €")
    hostel = fact("Hostel budget: max 40€", "budget_hostel", "≤ 40 €")
    assert [str(one) for one in compress([hotels, hostel])] == ["@budget_hotels ≤ 100 €", "@budget_hostel ≤ 40 €"]
    times = [fact("Wake-up time: around 7", "wake_up_time", "7"), fact("Bedtime: around 11", "bedtime", "11")]
    assert [str(one) for one in compress(times)] == ["@wake_up_time ~ 7", "@bedtime ~ 11"]
    dear = [fact("Budget for trainers: max 90€", "budget_trainers", "≤ 90 €"), BUDGETS[0]]
    assert len(compress(dear)) == 2, "two ends that differ stay two"


def test_the_budget_is_divided_by_importance() -> None:
    """Sections 4.2.4 and 8.5: floors, and the remainder to the heaviest. The document's own table rounds 55.7 and 44.6."""
    assert shares([1.0, 0.9, 0.7, 0.5, 0.4], 500 - 110) == [113, 100, 78, 55, 44]


def test_kinds_count_by_subject() -> None:
    """Sections 4.1.4 and 4.1.5."""
    assert list(BOOSTS["shopping"].values()) == [0.15, 0.10, 0.05, 0.03, 0.01]
    assert BOOSTS["recommendation"]["preference"] == 0.12 and BOOSTS["planning"]["goal"] == 0.10
    assert BOOSTS["information"]["characteristic"] == 0.08
    first = {subject: sides[0].name for subject, sides in SIDES.items()}
    assert (first["shopping"], first["recommendation"], first["planning"]) == ("budget", "likes", "goal")


def test_without_models_the_words_still_answer(tmp_path: Path) -> None:
    """Appendix D, scenarios 1 and 5: the wording gives act, subject and facets; keywords alone find the facts."""
    session = open_session(None, home=tmp_path, environment={})
    assert session.setup.static is None and session.setup.deep() is None
    for text in TOLD:
        session.remember(text)
    answer = session.facets("Help me find casual shoes under 150€")
    assert (answer.plan.act, answer.plan.subject) == ("task", "shopping")
    assert [facet.name for facet in answer.plan.facets] == ["budget", "style", "size", "brand", "usage"]
    assert "150" in answer.text and any("keywords only" in one for one in answer.trace.warnings)
