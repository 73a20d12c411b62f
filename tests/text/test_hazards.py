"""Hazards: which limits a question touches, in six languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.querying.facets.limits import _TOUCHES
from contextd.text.hard_limits import is_limit, limit_domains, limit_log_odds, question_domains
from contextd.text.hazards import hazard_log_odds, warns
from contextd.text.wording import is_about_world

_ITEMS = Path(__file__).parent.parent / "querying/items/must_not_miss_3.json"
# Of each: a limit, a question that touches it, and one that does not.
TOUCHED = [
    ("one peanut and my throat closes", "snacks for the flight", "which wall plug for the curtain rail?"),
    ("I get panic attacks in lifts", "new office on the 14th floor, take it?", "what should I cook tonight"),
    ("von Latex krieg ich Blasen", "welche Putzhandschuhe soll ich nehmen?", "welcher Drucker ist gut?"),
    ("Der Mietvertrag verbietet das Bohren", "Wie hänge ich den Fernseher an die Wand?", "Rezept für Linsensuppe?"),
    ("si je mange du blé j'ai le ventre en vrac", "une idée pour le déjeuner de dimanche ?", "quel casque pour le bureau ?"),
    ("no sé nadar y el agua honda me aterra", "¿hacemos la excursión en kayak?", "¿qué portátil compro?"),
    ("虾蟹一进嘴浑身起大包", "周末涮火锅点啥", "这台电脑怎么装打印机"),
    ("高いところが本当にだめ", "スカイツリーに行こうかな", "カレーの作り方"),
]


@pytest.mark.parametrize(("limit", "touches", "other"), TOUCHED)
def test_a_question_touches_a_limit_and_another_does_not(limit: str, touches: str, other: str) -> None:
    assert hazard_log_odds(touches, [limit])[0] > hazard_log_odds(other, [limit])[0]


def test_questions_touch_limits_of_the_persons_that_the_weights_of_rules_were_fitted_on() -> None:
    needed, met, apart, out = 0, 0, 0, 0
    for person in json.loads(_ITEMS.read_text("utf-8"))["people"]:
        limits = {one["id"]: one["text"] for one in person["limits"]}
        places = {one: place for place, one in enumerate(limits)}
        for kind, wanted in (("questions", "needs"), ("elsewhere", "not")):
            for question in person[kind]:
                text = question["text"]
                odds = limit_log_odds(text, list(limits.values()), question_domains(text), about_world=is_about_world(text))
                found = [odds[places[one]] >= _TOUCHES for one in question[wanted]]
                if kind == "questions":
                    needed, met = needed + len(found), met + sum(found)
                else:
                    apart, out = apart + len(found), out + len(found) - sum(found)
    assert met >= 0.90 * needed, f"{met} of {needed}; a common domain finds .73"
    assert out >= 0.75 * apart, f"{out} of {apart}; a common domain leaves .78 out"


@pytest.mark.parametrize(
    "fact", ["My desk is 120 cm wide", "We have a cat called Miso", "Ich wohne in Köln", "J'aime le jazz", "我住在北京"]
)
def test_a_plain_fact_warns_of_nothing(fact: str) -> None:
    assert warns(fact) < 0.5 and not is_limit(fact)


def test_there_are_no_facts_and_no_words() -> None:
    assert hazard_log_odds("what should I cook", []).shape == (0,)
    assert warns("") < 0.5


def test_a_limit_that_no_rule_recognizes_is_shown(home: Path) -> None:
    """Regression: latex that gives blisters was no limit in German."""
    limit, question = (
        "von Latex krieg ich Blasen, Handschuhe, Pflaster, alles",
        "Hexenschuss, soll ich ein Wärmepflaster nehmen?",
    )
    assert not limit_domains(limit)
    session = open_session(None, home=home, environment={})
    for fact in (limit, "Mein Drucker ist von Brother", "Ich fahre mit dem Rad zur Arbeit"):
        session.remember(fact)
    answer = session.facets(question)
    assert "Must Be Respected" in answer.text and "Latex" in answer.text
    assert "Latex" not in session.facets("Welcher Drucker passt zu meinem Rechner?").text
    session.close()
