"""What a question asks for, and what a message states."""

from __future__ import annotations

import pytest

from contextd.text.answer_types import asks_for, names_in, only_asks, speaks_of_oneself, states_number, states_time


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Ann move?", ("time",)), ("when did Ann move", ("time",)), ("Wann ist Anna umgezogen?", ("time",)),
        ("Quand est-elle partie ?", ("time",)), ("¿Cuándo se mudó?", ("time",)), ("她什么时候搬家？", ("time",)), ("いつ引っ越した", ("time",)),
        ("How many dogs does Bob have?", ("number",)), ("Wie viele Hunde hat Bob?", ("number",)), ("Combien de chiens ?", ("number",)),
        ("¿Cuántos perros tiene?", ("number",)), ("他有多少只狗", ("number",)), ("犬は何人", ("number",)),
        ("Where does Ann live?", ("place",)), ("Which cities has she seen?", ("place",)), ("Wo wohnt Anna?", ("place",)),
        ("Où habite-t-elle ?", ("place",)), ("¿Dónde vive?", ("place",)), ("她住在哪里", ("place",)), ("どこに住んでいる", ("place",)),
        ("What does Bob like?", ()), ("tell me about the workshop", ()),
    ],
)  # fmt: skip
def test_a_question_asks_for_one_kind_of_answer(question: str, expected: tuple[str, ...]) -> None:
    assert asks_for(question) == expected


@pytest.mark.parametrize(
    "text", ["I moved last Tuesday", "LAST TUESDAY", "am 3. Mai", "hace dos años", "la semaine dernière", "我昨天搬家"]
)
def test_a_text_states_a_time(text: str) -> None:
    assert states_time(text)


def test_a_text_without_a_time_a_number_or_a_name_states_none() -> None:
    text = "that sounds like a lot of fun, really"
    assert not states_time(text) and not states_number(text) and not names_in(text) and not speaks_of_oneself(text)


def test_names_are_counted_inside_sentences_and_up_to_three() -> None:
    assert names_in("We saw Rome") == pytest.approx(1 / 3)
    assert names_in("Nice. Great. Fine.") == 0
    assert names_in("we saw Rome and Paris and Bern and Oslo") == 1


@pytest.mark.parametrize(
    ("text", "expected"), [("How are you?", True), ("I am fine. And you?", False), ("fine", False), ("你好吗\uff1f", True)]
)
def test_a_message_that_only_asks_is_told_from_one_that_also_answers(text: str, expected: bool) -> None:
    assert only_asks(text) is expected


@pytest.mark.parametrize(
    "text", ["I'm home", "I\u2019m home", "das ist mein Hund", "c'est mon chien", "es mi perro", "我有一只狗"]
)
def test_people_speak_of_themselves_in_every_language(text: str) -> None:
    assert speaks_of_oneself(text)
