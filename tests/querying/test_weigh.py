"""Messages that can hold the answer come before messages that are only similar."""

from __future__ import annotations

from contextd.querying.messages import Utterance
from contextd.querying.weigh import weigh
from contextd.values.answer import Candidate
from contextd.values.document import ChunkId


def candidates(*scores: float, before: float = 0.0) -> list[Candidate]:
    return [Candidate(ChunkId(1, place), {"before chunk": before}, score) for place, score in enumerate(scores)]


def order(found: list[Candidate]) -> list[int]:
    return [one.chunk.ordinal for one in found]


def test_a_message_with_a_time_answers_when() -> None:
    texts = [
        Utterance("", "moving house is such a thing you know"),
        Utterance("", "moving house happened late last week you know"),
    ]
    assert order(weigh(candidates(5.0, 5.0), texts, "When did Ann move house?")) == [1, 0]
    assert order(weigh(candidates(5.0, 5.0), texts, "What about moving house?")) == [0, 1], "ties keep the order of the chat"


def test_a_bare_question_comes_after_a_statement_of_the_same_length() -> None:
    texts = [Utterance("", "did you feed the dog?"), Utterance("", "we did feed the dog")]
    assert order(weigh(candidates(5.0, 5.0), texts, "who fed the dog")) == [1, 0]


def test_the_reply_to_a_question_with_the_same_words_counts_more() -> None:
    texts = [
        Utterance("that was fun", "the small one by the harbor"),
        Utterance("which restaurant should we book?", "the small one by the harbor"),
    ]
    assert order(weigh(candidates(5.0, 5.0, before=3.0), texts, "restaurant to book")) == [1, 0]


def test_notes_and_messages_of_a_model_keep_their_place_beside_messages() -> None:
    texts = [Utterance("", ""), Utterance("", "I bought a red bike in Bern"), Utterance("", "I bought a red bike in Bern")]
    found = weigh(candidates(5.0, 5.0, 4.9), texts, "red bike")
    assert order(found) == [0, 1, 2]


def test_messages_that_are_not_read_stay_behind_those_that_are() -> None:
    found = weigh(candidates(5.0, 4.0, 3.9), [Utterance("", "you there?"), Utterance("", "you there?")], "x")
    assert order(found) == [0, 1, 2]
    assert weigh([], [], "x") == []


def test_a_message_with_the_concepts_of_the_question_in_other_words_comes_first() -> None:
    texts = [Utterance("", "we did have such a long day out there"), Utterance("", "we did have such a good sushi out there")]
    assert order(weigh(candidates(5.0, 5.0), texts, "Which food did they have?")) == [1, 0]
    to_model = [one._replace(to_model=True) for one in texts]
    assert order(weigh(candidates(5.0, 5.0), to_model, "Which food did they have?")) == [1, 0], "also said to a model"


def test_the_messages_of_a_session_with_a_model_count_together() -> None:
    one = Candidate(ChunkId(1, 0), {"own": 1.0}, 5.0)
    several = [Candidate(ChunkId(2, place), {"own": 1.0}, 4.8) for place in range(3)]
    texts = [Utterance("", "so it was", to_model=True)] * 4
    assert [hit.chunk.document for hit in weigh([one, *several], texts, "x")] == [2, 2, 2, 1]
    people = [Candidate(hit.chunk, {"own": 0.0}, hit.score) for hit in (one, *several)]
    assert weigh(people, [Utterance("", "so it was")] * 4, "x")[0].chunk.document == 1, (
        "messages between people count one by one"
    )
