"""Each step of a query alone, on made-up values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.querying.boost import boost
from contextd.querying.calibrate import WordEvidence, calibrate
from contextd.querying.combine import combine
from contextd.querying.diversify import PER_DOCUMENT, diversify
from contextd.querying.fuse import fuse
from contextd.querying.pack import CUT_MARK, Prices, pack
from contextd.querying.render import TEMPLATES, render
from contextd.querying.understand import understand
from contextd.values.answer import CHANCE, Candidate, Hit, Retrieved
from contextd.values.document import CHAT, About, Chunk, ChunkId
from contextd.values.query import Query, Reader, Scope
from contextd.values.trace import Trace


def chunk(document: int, ordinal: int = 0, text: str = "word " * 10, pieces: int = 1) -> Chunk:
    start = ordinal * 100
    return Chunk(
        ChunkId(document, ordinal), 1, f"f{document}.py", "python", "code_block", "", (), text, 1 + ordinal * 10,
        10 + ordinal * 10, start, start + 100, len(text.split()), 0, pieces,
    )  # fmt: skip


def hit(document: int, score: float, ordinal: int = 0, text: str = "word " * 10, pieces: int = 1) -> Hit:
    return Hit(chunk(document, ordinal, text, pieces), score, score)


def count(text: str) -> int:
    return len(text.split())


def cost(hits: Sequence[Hit]) -> int:
    return 5 + sum(3 + count(one.chunk.text) for one in hits)


PRICES = Prices(5, lambda _: 3, count, cost)


def packed(hits: Sequence[Hit], limit: int, terms: Mapping[str, float] | None = None) -> list[Hit]:
    return pack(hits, limit, PRICES, terms or {}, Trace(None)).hits


def test_lists_of_several_places_meet_on_relevance_and_keep_their_own_order() -> None:
    code = [hit(1, 0.9), hit(2, 0.4), hit(3, 0.8)]
    notes = [hit(4, 0.7), hit(5, 0.6)]
    assert [one.chunk.id.document for one in combine([code, notes], 10)] == [1, 4, 5, 2, 3]
    assert len(combine([code, notes], 2)) == 2 and combine([], 5) == []


def long_hit(document: int, lines: int, ordinal: int = 0) -> Hit:
    return hit(document, 0.9, ordinal, "\n".join(f"line {n} of many words" for n in range(lines)))


def test_chunks_are_whole_and_in_order_and_what_does_not_fit_is_passed_over() -> None:
    first, large, small = long_hit(1, 60), long_hit(2, 60), hit(3, 0.5)
    chosen = packed([first, large, small], 500)
    assert [one.chunk.id.document for one in chosen if CUT_MARK not in one.chunk.text] == [1, 3]
    assert chosen[0] is first and cost(chosen) <= 500


def test_the_last_gap_shows_the_lines_that_match_below_the_first_line() -> None:
    lines = [
        "def load(name):",
        *(f"    step number {n}" for n in range(60)),
        "    retry with backoff",
        *(f"    and more of it {n}" for n in range(60)),
    ]
    [one] = packed([hit(1, 0.9, 0, "\n".join(lines))], 120, {"backoff": 1.0})
    shown = one.chunk.text.split("\n")
    assert shown[0] == lines[0] and "    retry with backoff" in shown and shown.count(CUT_MARK) == 2 and cost([one]) <= 120


def test_less_than_three_lines_are_not_worth_showing() -> None:
    assert packed([long_hit(1, 100)], 30) == []
    assert packed([hit(1, 0.9)], 5) == []


@given(
    st.lists(st.integers(1, 120), min_size=1, max_size=30),
    st.integers(1, 4500),
    st.integers(1, 4500),
)
def test_a_larger_budget_never_shows_less(lengths: list[int], one: int, other: int) -> None:
    hits = [long_hit(number, lines) for number, lines in enumerate(lengths)]
    small, large = sorted((one, other))
    before, after = (packed(hits, limit) for limit in (small, large))
    assert cost(before) <= small or not before
    lines = {hit.chunk.id: set(hit.chunk.text.split("\n")) - {CUT_MARK} for hit in after}
    for hit_ in before:
        assert set(hit_.chunk.text.split("\n")) - {CUT_MARK} <= lines[hit_.chunk.id]


def test_what_does_not_get_in_is_in_the_trace() -> None:
    trace = Trace(None)
    pack([hit(number, 0.9) for number in range(30)], 60, PRICES, {}, trace)
    assert trace.drops and all(one.step == "pack" and one.why for one in trace.drops)


def candidate(document: int, coverage: float, cosine: float) -> Candidate:
    return Candidate(ChunkId(document, 0), {"document_coverage": coverage, "stem": 0.5, "static/x": cosine}, 1.0)


def test_no_file_is_more_relevant_than_the_question_is_about_the_project() -> None:
    some = [candidate(1, 0.8, 0.4), candidate(2, 0.2, 0.1)]
    free = calibrate(some)
    strong, weak = calibrate(some, words=WordEvidence(1.2, 5000)), calibrate(some, words=WordEvidence(0.05, 5000))
    assert strong == free, "words that stand together say that the question is about this project"
    assert weak[ChunkId(1, 0)] < free[ChunkId(1, 0)] and weak[ChunkId(1, 0)] >= weak[ChunkId(2, 0)]
    assert calibrate(some, asked_for=[ChunkId(1, 0)], words=WordEvidence(0.0, 5000))[ChunkId(1, 0)] >= 0.9, (
        "what is named is asked for"
    )


def test_a_few_words_are_evidence_in_a_small_project_and_a_coincidence_in_a_large_one() -> None:
    some = [candidate(1, 0.4, 0.4), candidate(2, 0.2, 0.1)]
    small, medium, large = (max(calibrate(some, words=WordEvidence(0.35, size)).values()) for size in (60, 1_000, 50_000))
    assert small > 0.3 > medium == large


def message(coverage: float, cosine: float, **more: float) -> Candidate:
    arms = {"chunk_coverage": coverage, "document_coverage": coverage, "before chunk": 0.0, "static/x": cosine, **more}
    return Candidate(ChunkId(1, round(1000 * coverage)), arms, 1.0)


def test_a_question_about_people_that_no_chat_mentions_gets_no_message() -> None:
    some = [message(0.5, 0.55), message(0.3, 0.45)]
    assert max(calibrate(some, unknown=0.0).values()) > 0.3 > max(calibrate(some, unknown=1.0).values())


def test_weak_messages_pass_with_the_best_one_of_a_question_about_the_chats() -> None:
    weak = message(0.25, 0.35)
    assert calibrate([message(0.9, 0.6), weak], unknown=0.0)[weak.chunk] > 0.3 > calibrate([weak], unknown=0.0)[weak.chunk]


def test_an_unlikely_chunk_is_shown_only_if_every_likely_one_is() -> None:
    likely = [replace(hit(number, 0.9), why={CHANCE: 0.1}) for number in range(3)]
    spare = replace(hit(9, 0.9), why={CHANCE: 0.001})
    everything = pack([*likely, spare], 1_000, PRICES, {}, Trace(None))
    assert spare in everything.hits and len(everything) == 4
    room = PRICES.frame + PRICES.of(likely[0]) + PRICES.of(spare)
    large = replace(likely[1], chunk=replace(likely[1].chunk, tokens=900))
    shown = pack([likely[0], large, spare], room, PRICES, {}, Trace(None)).hits
    assert likely[0] in shown and spare not in shown
    note = replace(hit(7, 0.5), why={})
    merged = pack([likely[0], spare, note], PRICES.frame + PRICES.of(likely[0]) + PRICES.of(note), PRICES, {}, Trace(None)).hits
    assert merged == [likely[0], note], "a hit of another workspace comes first"


def test_the_question_is_about_the_project_more_when_its_first_file_is_near() -> None:
    weak = WordEvidence(0.1, 5000)
    near, far = [candidate(1, 0.8, 0.5), candidate(2, 0.5, 0.6)], [candidate(1, 0.8, 0.1), candidate(2, 0.5, 0.6)]
    assert max(calibrate(near, words=weak).values()) > max(calibrate(far, words=weak).values())


def test_fusion_puts_a_chunk_with_its_document() -> None:
    chunks = (ChunkId(1, 0), ChunkId(1, 1), ChunkId(2, 0))
    fused = fuse(Retrieved(chunks, {"chunk": np.array([3.0, 1.0, 1.5]), "document": np.array([5.0, 5.0, 1.0])}), "words")
    assert [one.chunk for one in fused] == [chunks[0], chunks[1], chunks[2]], "a good document brings its second chunk along"
    assert fuse(Retrieved((), {}), "words") == []


@pytest.mark.parametrize("scores", [(3.0, 2.9, 1.0), (-1.0, -1.1, -4.0), (0.0, 0.0, 0.0)])
def test_a_near_duplicate_goes_late_whatever_the_scale(scores: tuple[float, ...]) -> None:
    candidates = [Candidate(ChunkId(number, 0), {}, score) for number, score in enumerate(scores)]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    assert [one.chunk.document for one in diversify(candidates, vectors, 3, relevance=0.5)] == [0, 2, 1]
    assert [one.chunk.document for one in diversify(candidates, vectors, 3, relevance=1.0)] == [0, 1, 2]


def test_a_message_that_repeats_one_of_another_day_is_no_duplicate() -> None:
    candidates = [Candidate(ChunkId(day, 0), {}, score) for day, score in ((1, 3.0), (2, 2.9), (3, 2.8))]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    chosen = diversify(candidates, vectors, 3, relevance=0.5, groups=[1, 2, 3])
    assert [one.chunk.document for one in chosen] == [1, 2, 3]
    chosen = diversify(candidates, vectors, 3, relevance=0.5, groups=[1, 1, 3])
    assert [one.chunk.document for one in chosen] == [1, 3, 2], "on the same day it is one"


def test_a_message_of_a_long_chat_session_counts_no_more_than_one_of_a_short_session() -> None:
    plan = understand(Query("the red bike", Scope((1,), Reader("owner"))))
    messages = [Candidate(ChunkId(number, 0), {}, 1.0) for number in (1, 2)]
    about = [About(f"chat:{number}", CHAT, "chat_message", 0, pieces) for number, pieces in ((1, 3), (2, 300))]
    assert {one.score for one in boost(messages, about, plan)} == {1.0}


def test_what_the_person_wrote_counts_more_than_what_the_model_answered() -> None:
    chunks = (ChunkId(1, 0), ChunkId(1, 1))
    arms = {"chunk": np.array([3.0, 3.0]), "own": np.array([0.0, 1.0])}
    assert [one.chunk for one in fuse(Retrieved(chunks, arms), "chat")] == [chunks[1], chunks[0]]


def test_no_document_crowds_out_the_others() -> None:
    candidates = [Candidate(ChunkId(1, n), {}, 9.0 - n / 10) for n in range(8)] + [Candidate(ChunkId(2, 0), {}, 1.0)]
    chosen = diversify(candidates, np.zeros((9, 0), np.float32), 6)
    assert [one.chunk.document for one in chosen[: PER_DOCUMENT + 1]] == [1, 1, 1, 2], "then whatever there is"
    assert len(chosen) == 6 and len({one.chunk for one in chosen}) == 6


def test_an_older_version_beside_a_later_one_is_known_as_such() -> None:
    from contextd.text.paths import superseded

    uris = ["api/v1/user.py", "api/v2/user.py", "web/v1/x.ts", "src/v8.c", "v3/types.ts", "v4/core/types.ts"]
    assert superseded(uris) == {"api/v1/user.py", "v3/types.ts"}
    assert superseded(uris, ["v3"]) == {"api/v1/user.py"}, "a question about it wants it"


def test_the_likeliest_piece_of_a_file_is_rendered_first_and_messages_are_in_reading_order() -> None:
    above, below = hit(1, 0.9, 0, "above " * 10), hit(1, 0.9, 3, "below " * 10)
    text = render([replace(above, why={CHANCE: 0.1}), replace(below, why={CHANCE: 0.6})], TEMPLATES["markdown"])
    assert text.index("below") < text.index("above")
    assert (told := render([below, above], TEMPLATES["markdown"])).index("above") < told.index("below")
