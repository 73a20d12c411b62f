"""The budget of an answer by facets: each has its share by weight, and what one does not need flows on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextd.trace import Trace
from contextd.types import Facet, Hit

Cost = Callable[[Sequence[Hit]], int]


def allot(hits: Sequence[Hit], facets: Sequence[Facet], limit: int, cost: Cost, trace: Trace) -> list[Hit]:
    """The hits that fit, by facet in the order of their weights; the rendered whole is within the limit.

    A first round gives every facet its share and what heavier ones left over; a second one gives what is left then to what
    did not fit, the best first.
    """
    chosen: list[Hit] = []
    spare = 0
    heaviest = sorted(facets, key=lambda facet: -facet.weight)
    for facet, share in zip(heaviest, shares([facet.weight for facet in heaviest], limit), strict=True):
        before, room = cost(chosen) if chosen else 0, share + spare
        for hit in (hit for hit in hits if hit.facet == facet.name):
            total = cost([*chosen, hit])
            if total - before <= room and total <= limit:
                chosen.append(hit)
        spare = room - ((cost(chosen) if chosen else 0) - before)
    taken = {hit.chunk.id for hit in chosen}
    for hit in sorted((hit for hit in hits if hit.chunk.id not in taken), key=lambda hit: -hit.rank_score):
        if cost([*chosen, hit]) <= limit:
            chosen.append(hit)
        else:
            trace.drop("allot", hit.chunk.uri, "no room left")
    order = {facet.name: place for place, facet in enumerate(heaviest)}
    return sorted(chosen, key=lambda hit: (order[hit.facet], -hit.rank_score))


def shares(weights: Sequence[float], limit: int) -> list[int]:
    """Whole tokens by weight; what rounding leaves goes to the heaviest."""
    total = sum(weights) or 1.0
    found = [int(limit * weight / total) for weight in weights]
    if found:
        found[max(range(len(found)), key=lambda place: weights[place])] += limit - sum(found)
    return found
