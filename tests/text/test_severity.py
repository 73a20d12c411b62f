"""Which facts are hard limits, rather than tastes, habits or measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contextd.app.assemble import open_session
from contextd.ports.world import fact_embedder
from contextd.querying.facets.limits import LIMITS
from contextd.text.severity import LIMIT, SEVERE, severities

HARD = """Allergic to peanuts
I take warfarin every evening at 8, so no ibuprofen and no aspirin
My son can't swim and is scared of deep water
Our lease doesn't allow drilling into the walls
I've been sober for three years
My wife is 34 weeks pregnant""".split("\n")
SOFT = """Swimming Tuesday and Friday at 7 in the morning
Retired in June 2023 after 36 years of teaching navigation
We married on 8 August 1981
Knitting club meets on the first Thursday evening of the month
Reading glasses: +2.5
FaceTime with Eirik on Sundays at 19:00
Lapsang in the morning, rooibos at night
My landlord is a very kind man""".split("\n")


def without_vectors(facts: list[str]) -> list[float]:
    return severities(facts, np.zeros((len(facts), 1), np.float32)).tolist()


def test_words_alone_tell_hard_limits_from_habits() -> None:
    assert min(without_vectors(HARD)) >= LIMIT
    assert np.mean([one >= LIMIT for one in without_vectors(SOFT)]) <= 0.25


@pytest.mark.parametrize(
    "fact",
    ["Allergie aux arachides", "Bin schwanger, 34. Woche", "Soy celíaca", "我对花生过敏", "エビとカニのアレルギーがある"],
)
def test_words_tell_hard_limits_in_other_languages(fact: str) -> None:
    assert without_vectors([fact])[0] >= LIMIT


def test_vectors_for_facts_make_it_surer(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    embedder = fact_embedder(session.setup.deep())
    assert embedder is not None
    hard, soft = (severities(facts, embedder.documents(facts)) for facts in (HARD, SOFT))
    session.close()
    assert hard.min() >= LIMIT and (hard >= SEVERE).mean() >= 0.8
    assert soft.max() < LIMIT


def test_a_missing_vector_and_another_language_leave_it_to_the_words(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    embedder = fact_embedder(session.setup.deep())
    assert embedder is not None
    facts = ["Allergic to peanuts", "Die Hausverwaltung erlaubt keine Hunde im Haus und keine Katzen"]
    vectors = embedder.documents(facts)
    session.close()
    assert severities(facts, vectors)[1] == pytest.approx(without_vectors(facts)[1])
    vectors[0] = 0
    assert severities(facts, vectors).tolist() == pytest.approx(without_vectors(facts))


def test_there_are_no_facts() -> None:
    assert severities([], np.zeros((0, 1), np.float32)).shape == (0,)


def test_habits_were_shown_as_what_must_be_respected(home: Path) -> None:
    """Regression: a weekly plan was told blood pressure and a retirement, under the limit for allergies."""
    session = open_session(None, home=home, environment={})
    for fact in (*HARD, *SOFT):
        session.remember(fact)
    for question in ("Recommend an audiobook for the dark evenings", "choose a restaurant for Friday evening with Torill"):
        must = [hit.chunk.text for hit in session.facets(question).hits if hit.facet == LIMITS.name]
        assert not set(must) & set(SOFT), question
    assert "peanuts" in session.facets("what could I cook tonight?").text
    session.close()
