"""The text of an answer by facets: blocks of statements, and their costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextd.querying.facets.allot import Costs
from contextd.querying.facets.compress import Statement, compress
from contextd.querying.facets.limits import LIMITS
from contextd.querying.render import headed
from contextd.values.answer import Hit
from contextd.values.query import Facet


def text_of(hits: Sequence[Hit], facets: Sequence[Facet]) -> str:
    """Return facts as the text of an answer: a block for the limits and one for each facet."""
    return headed_blocks([(title, [str(one) for one in statements]) for title, statements in blocks_of(hits, facets)])


def blocks_of(hits: Sequence[Hit], facets: Sequence[Facet]) -> list[tuple[str, list[Statement]]]:
    """Return the statements of the limits and of each facet, below their titles."""
    found = [(facet.title, compress([hit for hit in hits if hit.facet == facet.name])) for facet in (LIMITS, *facets)]
    return [(title, statements) for title, statements in found if statements]


def headed_blocks(blocks: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return blocks as text: in each, short statements first, then facts in full."""
    return headed(
        [
            (title, [one for one in lines if one.startswith("@")], [one for one in lines if not one.startswith("@")])
            for title, lines in blocks
        ]
    )


def costs_of(hits: Sequence[Hit], facets: Sequence[Facet], count: Callable[[str], int]) -> Costs:
    """Return the costs of the parts of an answer, each by itself."""
    frame = count(headed([("", [], [])]))
    return Costs(
        frame,
        {facet.name: count(headed([(facet.title, [], [])])) - frame + 1 for facet in facets},
        {hit.chunk.id: 1 + max(count(f"- {one}\n") for one in compress([hit])) for hit in hits},
    )
