"""Rankers, reranking, questions that are vectors, templates of one's own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.errors import InvalidInput, Unavailable
from contextd.querying.calibrate import falling
from contextd.querying.rank import RANKERS, rank
from contextd.querying.rerank import rerank
from contextd.values.answer import Candidate, Hit
from contextd.values.conversation import Conversation, Message
from contextd.values.document import Chunk, ChunkId
from tests.conftest import with_setup

DAY = 86_400_000_000
NOW = 1_700_000_000_000_000


@pytest.fixture
def person(home: Path) -> Session:
    """A session without a project."""
    return open_session(None, home=home, environment={})


def hit(number: int, score: float, *, days: int = 0, confidence: float = 1.0, **why: float) -> Hit:
    chunk = Chunk(ChunkId(number, 0), 1, f"memory:{number}", "memory", "fact", "", (), "x", 1, 1, 0, 1, 1, NOW - days * DAY,
                  confidence=confidence)  # fmt: skip
    return Hit(chunk, score, score, why)


def order(hits: Sequence[Hit], name: str) -> list[int]:
    return [one.chunk.id.document for one in rank(hits, RANKERS[name], NOW)]


def test_every_ranker_orders_by_what_it_is_called_after() -> None:
    hits = [
        hit(1, 0.9, days=400, confidence=0.5, deep=0.7),
        hit(2, 0.8, days=1, confidence=0.6, deep=0.9),
        hit(3, 0.2, confidence=0.9),
    ]
    assert order(hits, "recency") == [3, 2, 1] and order(hits, "confidence") == [3, 2, 1]
    assert order(hits, "similarity") == [2, 1, 3]
    assert order(hits, "default") == [2, 1, 3], "as relevant, and much newer"
    assert order([hit(1, 0.5), hit(2, 0.5)], "default") == [1, 2], "equals stay as they were"


def test_rankers_and_templates_of_ones_own(person: Session) -> None:
    for text in ("the long story of the harbor", "the harbor"):
        person.remember(text)
    person.register_ranker("short", lambda one, now: -len(one.chunk.text))
    assert person.recall("harbor", ranker="short", min_score=0).hits[0].chunk.text == "the harbor"
    person.register_template("lined", "<{{content}}>", header="[", separator="|", footer="]")
    text = person.context("harbor", template="lined", ranker="short", min_score=0).text
    assert text == "[<the harbor>|<the long story of the harbor>]"
    for wrong in (
        lambda: person.register_ranker("recency", lambda one, now: 0.0),
        lambda: person.register_template("chat", "x"),
    ):
        with pytest.raises(InvalidInput, match="already"):
            wrong()
    with pytest.raises(InvalidInput, match="no such ranker: 'nonsense'"):
        person.recall("harbor", ranker="nonsense")


def test_looking_at_an_answer_before_it_is_used(person: Session) -> None:
    kept = person.remember("the harbor is closed on Mondays").memory
    first, second = (person.context("harbor on Mondays", budget=200, template="chat", min_score=0) for _ in range(2))
    assert first.text == second.text and first.ids == (kept.id,) and not first.truncated
    assert first.budget_used == pytest.approx(100 * first.tokens / 200) and first.hits[0].rank_score > 0


def test_a_question_may_be_a_vector(person: Session) -> None:
    assert person.setup.static is not None
    person.remember("the harbor is closed on Mondays")
    person.remember("sourdough needs a warm kitchen")
    vector = person.setup.static.query("bread baking")
    found = person.search("", vector=vector.tolist(), min_score=0)
    assert found.hits[0].chunk.text == "sourdough needs a warm kitchen" and not found.trace.warnings
    assert "sourdough" in person.context("", vector=(3 * vector).tolist(), min_score=0, k=1).text, "its length does not matter"
    for wrong, message in (
        ([1.0, 2.0], "no vector space has 2 dimensions"),
        ([0.0] * 256, "not all zero"),
        ([float("nan")] * 256, "finite"),
    ):
        with pytest.raises(InvalidInput, match=message):
            person.search("", vector=wrong)


def test_without_vectors_a_search_by_vector_says_so(home: Path) -> None:
    person = open_session(None, home=home, environment={}, flags={"embedding.model": "none", "embedding.deep_model": "none"})
    person.remember("the harbor is closed on Mondays")
    with pytest.raises(Unavailable, match="the index has no vectors"):
        person.search("", vector=[1.0] * 256)


class Reads:
    """A reranker that likes what contains a word, and can be slow or broken."""

    def __init__(self, word: str, seconds: float = 0.0, broken: bool = False) -> None:
        self.word, self.seconds, self.broken, self.read = word, seconds, broken, 0

    def scores(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        if self.broken:
            raise Unavailable("out of order")
        found = []
        for text in texts:
            if deadline is not None and time.monotonic() > deadline:
                break
            time.sleep(self.seconds)
            self.read += 1
            found.append(float(self.word in text))
        return found


def candidates(count: int) -> list[Candidate]:
    return [Candidate(ChunkId(number, 0), {}, 1 - number / 100) for number in range(count)]


def test_what_was_not_read_keeps_its_order_behind_what_was() -> None:
    texts = [f"text {number}" for number in range(10)]
    best = rerank(candidates(10), texts, "q", Reads("text 7"), None)
    assert best[0].chunk.document == 7 and [one.chunk.document for one in best[1:]] == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    slow = Reads("text 7", seconds=0.03)
    early = rerank(candidates(10), texts, "q", slow, time.monotonic() + 0.05)
    assert 0 < slow.read < 7 and [one.chunk.document for one in early] == list(range(10))
    assert [one.chunk.document for one in rerank(candidates(3), [], "q", Reads(""), None)] == [0, 1, 2]


def test_reranking_is_for_chats_and_memories_and_may_fail(person: Session) -> None:
    said = [Message("Ann", f"we spoke about the harbor again, {word}", NOW) for word in ("one", "two", "three")]
    person.chats().take([Conversation("t/1", "", said)])
    plain = [one.chunk.text for one in person.search("harbor", min_score=0).hits]
    reads = Reads("three")
    person = with_setup(person, reranker=lambda: reads)
    found = person.search("harbor", min_score=0, rerank=True)
    assert found.hits[0].chunk.text.strip().endswith("three") and reads.read == 3
    person = with_setup(person, reranker=lambda: Reads("", broken=True))
    found = person.search("harbor", min_score=0, rerank=True)
    assert [one.chunk.text for one in found.hits] == plain and any("out of order" in one for one in found.trace.warnings)
    person = with_setup(person, reranker=lambda: None)
    assert any("models fetch" in one for one in person.search("harbor", rerank=True).trace.warnings)


def test_the_cross_encoder_knows_an_answer_from_a_topic(person: Session) -> None:
    reranker = person.setup.reranker()
    if reranker is None:
        pytest.skip("the reranking model is not installed; run `contextd models fetch`")
    texts = [
        "Ann: I love talking about Paris.",
        "Ann: The flight to Paris leaves at 7:40 from gate B12.",
        "Bob: My cat is ill.",
    ]
    scores = reranker.scores("When does the flight to Paris leave?", texts, None)
    assert scores[1] > scores[0] > scores[2]
    assert scores == reranker.scores("When does the flight to Paris leave?", texts, None)
    assert reranker.scores("q", texts, time.monotonic() - 1) == []


def test_a_ranker_may_be_made_of_weights_or_be_a_function(person: Session) -> None:
    for text in ("the harbor is in the north", "the harbor office opens at nine in the morning, every day of the week"):
        person.remember(text)
    texts = [one.chunk.text for one in person.search("harbor", ranker=lambda one, _: len(one.chunk.text), min_score=0).hits]
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    found = person.search("harbor", ranker="relevance=0.25,confidence=2", min_score=0).hits
    assert all(one.rank_score == pytest.approx(0.25 * one.score + 2 * one.chunk.confidence) for one in found)
    for wrong in ("relevance=much", "luck=1", "relevance=nan", "recency=-1", "relevance=0.5,"):
        with pytest.raises(InvalidInput):
            person.search("harbor", ranker=wrong)


def test_a_preview_is_the_answer_with_what_it_is_made_of(person: Session) -> None:
    person.remember("the harbor is in the north")
    seen, answer = person.preview("where is the harbor", budget=300), person.context("where is the harbor", budget=300)
    assert seen.text == answer.text and seen.ids == answer.ids and set(seen.scores) == set(seen.ids)
    assert 0 < seen.budget_used <= 100 and seen.trace.steps


def test_relevance_did_not_agree_with_the_order(session: Session) -> None:
    assert falling([0.9, 0.4, 0.8]) == pytest.approx([0.9, 0.6, 0.6]) and falling([]) == []
    scores = [hit.score for hit in session.search("user route backups port", min_score=0).hits]
    assert scores == sorted(scores, reverse=True)


def test_a_memory_of_the_project_came_last(session: Session) -> None:
    session.remember("herons own the database of users", in_project=True)
    assert "herons" in session.search("who owns the database of users herons", k=2, min_score=0).hits[0].chunk.text


def test_a_memory_with_a_deep_vector_changed_the_ranking_of_files(session: Session) -> None:
    before = [(hit.chunk.uri, hit.rank_score) for hit in session.search("users in a database", min_score=0).hits]
    session.remember("I deploy on Fridays")
    after = [(hit.chunk.uri, hit.rank_score) for hit in session.search("users in a database", min_score=0).hits]
    assert [one for one in after if not one[0].startswith("memory:")] == before
