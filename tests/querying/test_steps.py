"""Each step of a query alone, on made-up values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from contextd.querying.budget import CUT_MARK, budget
from contextd.querying.diversify import PER_DOCUMENT, diversify
from contextd.querying.expand import expand
from contextd.querying.fuse import fuse
from contextd.querying.pipeline import _merged
from contextd.trace import Trace
from contextd.types import Candidate, Chunk, ChunkId, Hit, Retrieved


def chunk(document: int, ordinal: int = 0, text: str = "word " * 10, pieces: int = 1) -> Chunk:
    start = ordinal * 100
    return Chunk(
        ChunkId(document, ordinal), 1, f"f{document}.py", "python", "code_block", "", (), text, 1 + ordinal * 10,
        10 + ordinal * 10, start, start + 100, len(text.split()), 0, pieces,
    )  # fmt: skip


def hit(document: int, score: float, ordinal: int = 0, text: str = "word " * 10, pieces: int = 1) -> Hit:
    return Hit(chunk(document, ordinal, text, pieces), score, score)


def cost(hits: Sequence[Hit]) -> int:
    return 5 + sum(3 + len(one.chunk.text.split()) for one in hits)


def test_lists_of_several_places_meet_on_relevance_and_keep_their_own_order() -> None:
    code = [hit(1, 0.9), hit(2, 0.4), hit(3, 0.8)]
    notes = [hit(4, 0.7), hit(5, 0.6)]
    assert [one.chunk.id.document for one in _merged([code, notes], 10)] == [1, 4, 5, 2, 3]
    assert len(_merged([code, notes], 2)) == 2 and _merged([], 5) == []


def test_the_budget_takes_breadth_before_depth_and_marks_what_it_cuts() -> None:
    long = "\n".join(f"line {n} of many words here" for n in range(100))
    chosen = budget([hit(1, 0.9, 0, long), hit(1, 0.8, 1, long), hit(2, 0.7), hit(3, 0.6)], 200, cost, Trace(None))
    documents = [one.chunk.id.document for one in chosen.hits]
    assert {1, 2, 3} <= set(documents) and chosen.truncated and cost(chosen.hits) <= 200
    assert CUT_MARK in chosen.hits[0].chunk.text
    assert not budget([hit(1, 0.9)], 100, cost, Trace(None)).truncated
    assert budget([hit(1, 0.9)], 5, cost, Trace(None)).hits == []


def test_what_the_budget_drops_is_in_the_trace() -> None:
    trace = Trace(None)
    budget([hit(number, 0.9) for number in range(30)], 60, cost, trace)
    assert trace.drops and all(one.step == "budget" and one.why for one in trace.drops)


class Around:
    """A view of one document of five touching chunks."""

    def get(self, chunks: Sequence[ChunkId]) -> list[Chunk]:
        return [chunk(one.document, one.ordinal, pieces=5) for one in chunks if one.ordinal < 5]


def test_expansion_joins_neighbors_while_there_is_room_and_never_twice() -> None:
    view = Around()
    one, two = expand([hit(1, 0.9, 1, pieces=5), hit(1, 0.8, 3, pieces=5)], [view], 1000)  # type: ignore[list-item]
    assert (one.chunk.start, one.chunk.end) == (0, 300), "the one before and the one after"
    assert (two.chunk.start, two.chunk.end) == (300, 500), "not what the first one took"
    assert expand([hit(1, 0.9, 1, pieces=5)], [view], 20)[0].chunk.start == 100, "no room, no neighbors"  # type: ignore[list-item]


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


def test_no_document_crowds_out_the_others() -> None:
    candidates = [Candidate(ChunkId(1, n), {}, 9.0 - n / 10) for n in range(8)] + [Candidate(ChunkId(2, 0), {}, 1.0)]
    chosen = diversify(candidates, np.zeros((9, 0), np.float32), 6)
    assert sum(one.chunk.document == 1 for one in chosen) == PER_DOCUMENT and chosen[-1].chunk.document == 2


def test_an_older_version_beside_a_later_one_is_known_as_such() -> None:
    from contextd.paths import superseded

    uris = ["api/v1/user.py", "api/v2/user.py", "web/v1/x.ts", "src/v8.c", "v3/types.ts", "v4/core/types.ts"]
    assert superseded(uris) == {"api/v1/user.py", "v3/types.ts"}
    assert superseded(uris, ["v3"]) == {"api/v1/user.py"}, "a question about it wants it"
