"""Messages that can hold the answer come before messages that are only similar."""

from __future__ import annotations

from contextd.querying.weigh import weigh
from contextd.values.answer import Candidate
from contextd.values.document import ChunkId


def candidates(*scores: float, before: float = 0.0) -> list[Candidate]:
    return [Candidate(ChunkId(1, place), {"before chunk": before}, score) for place, score in enumerate(scores)]


def order(found: list[Candidate]) -> list[int]:
    return [one.chunk.ordinal for one in found]


def test_a_message_with_a_time_answers_when() -> None:
    texts = [("", "moving house is such a thing you know"), ("", "moving house happened late last week you know")]
    assert order(weigh(candidates(5.0, 5.0), texts, "When did Ann move house?")) == [1, 0]
    assert order(weigh(candidates(5.0, 5.0), texts, "What about moving house?")) == [0, 1], "ties keep the order of the chat"


def test_a_bare_question_comes_after_a_statement_of_the_same_length() -> None:
    texts = [("", "did you feed the dog?"), ("", "we did feed the dog")]
    assert order(weigh(candidates(5.0, 5.0), texts, "who fed the dog")) == [1, 0]


def test_the_reply_to_a_question_with_the_same_words_counts_more() -> None:
    texts = [
        ("that was fun", "the small one by the harbor"),
        ("which restaurant should we book?", "the small one by the harbor"),
    ]
    assert order(weigh(candidates(5.0, 5.0, before=3.0), texts, "restaurant to book")) == [1, 0]


def test_notes_and_messages_to_a_model_keep_their_place_beside_messages() -> None:
    texts = [("", ""), ("", "I bought a red bike in Bern"), ("", "I bought a red bike in Bern")]
    found = weigh(candidates(5.0, 5.0, 4.9), texts, "red bike")
    assert order(found) == [0, 1, 2]


def test_messages_that_are_not_read_stay_behind_those_that_are() -> None:
    found = weigh(candidates(5.0, 4.0, 3.9), [("", "you there?"), ("", "you there?")], "x")
    assert order(found) == [0, 1, 2]
    assert weigh([], [], "x") == []
