"""Divide the token budget among facets by weight. Unused tokens go to the next facet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextd.values.answer import Hit
from contextd.values.document import ChunkId
from contextd.values.query import Facet
from contextd.values.trace import Trace

_OTHERS = 0.4  # share of the budget that limits leave to other hits


class Costs(NamedTuple):
    """Tokens of the parts of an answer: the frame, the title of each facet, each hit."""

    frame: int
    titles: Mapping[str, int]
    hits: Mapping[ChunkId, int]


def limits_first(
    hits: Sequence[Hit], limits: Facet, facets: Sequence[Facet], budget: int, costs: Costs, trace: Trace
) -> list[Hit]:  # fmt: skip
    """Return the hits that fit: those of the facet `limits` first, then the others by the weight of their facets.

    The best of the others keep a share of the budget. The very best one always has room: it may be what is asked for.
    What is too long for the whole budget takes no room from others.
    """
    fitting = [hit for hit in hits if costs.frame + _cost([hit], costs) <= budget]
    for hit in hits:
        if hit not in fitting:
            trace.drop("allot", hit.chunk.uri, "too long for the budget")
    must, others = ([hit for hit in fitting if (hit.facet == limits.name) is there] for there in (True, False))
    best = sorted(others, key=lambda hit: -hit.rank_score)
    first_ones = [_cost(best[:number], costs) for number in range(1, len(best) + 1)]
    kept = max([*first_ones[:1], *(cost for cost in first_ones if cost <= _OTHERS * budget)], default=0)
    first = allot(must, (limits,), budget - kept, costs, trace)
    return [*first, *allot(others, facets, budget - _cost(first, costs), costs, trace)]


def _cost(hits: Sequence[Hit], costs: Costs) -> int:
    return sum(costs.hits[hit.chunk.id] for hit in hits) + sum(costs.titles[name] for name in {hit.facet for hit in hits})


def allot(hits: Sequence[Hit], facets: Sequence[Facet], limit: int, costs: Costs, trace: Trace) -> list[Hit]:
    """Return the hits that fit, by facet in the order of weights, the best of each first.

    First the best hit of every facet, while there is room, in the order of relevance and weight. Then each facet gets its
    share and what heavier facets left over. The rest goes to the hits that did not fit, best first.
    """
    heaviest = sorted(facets, key=lambda facet: -facet.weight)
    chosen: list[Hit] = []
    titled: set[str] = set()
    left, spare = limit - costs.frame, 0

    def take(hit: Hit, room: int) -> int:
        """Take a hit if it fits the room. Returns its cost, or 0 if it does not fit."""
        cost = costs.hits[hit.chunk.id] + (0 if hit.facet in titled else costs.titles[hit.facet])
        if cost > room:
            return 0
        titled.add(hit.facet)
        chosen.append(hit)
        return cost

    spent_on: dict[str, int] = {}
    for hit in _best_of_each(hits, facets):
        spent_on[hit.facet] = take(hit, left)
        left -= spent_on[hit.facet]
    taken = {hit.chunk.id for hit in chosen}
    whole = max(left + sum(spent_on.values()), 0)
    for facet, share in zip(heaviest, shares([facet.weight for facet in heaviest], whole), strict=True):
        room = share + spare - spent_on.get(facet.name, 0)
        for hit in (hit for hit in hits if hit.facet == facet.name and hit.chunk.id not in taken):
            spent = take(hit, min(room, left))
            room, left = room - spent, left - spent
        spare = room
    taken = {hit.chunk.id for hit in chosen}
    for hit in sorted((hit for hit in hits if hit.chunk.id not in taken), key=lambda hit: -hit.rank_score):
        if spent := take(hit, left):
            left -= spent
        else:
            trace.drop("allot", hit.chunk.uri, "no room left")
    order = {facet.name: place for place, facet in enumerate(heaviest)}
    return sorted(chosen, key=lambda hit: (order[hit.facet], -hit.rank_score))


def _best_of_each(hits: Sequence[Hit], facets: Sequence[Facet]) -> list[Hit]:
    """Return the best hit of every facet, in the order of relevance and weight."""
    weights = {facet.name: facet.weight for facet in facets}
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.facet, hit)
    return sorted(best.values(), key=lambda hit: -hit.rank_score * (1 + weights[hit.facet]))


def shares(weights: Sequence[float], limit: int) -> list[int]:
    """Divide tokens by weight, rounded down. The remainder goes to the heaviest."""
    total = sum(weights) or 1.0
    found = [int(limit * weight / total) for weight in weights]
    if found:
        found[max(range(len(found)), key=lambda place: weights[place])] += limit - sum(found)
    return found
