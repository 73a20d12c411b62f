"""Choose what fits: hits in order, each at the exact cost of its rendered form; a unit that is too large is cut and marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from contextd.trace import Trace
from contextd.types import Hit

CUT_MARK = "[… cut]"
_FIRST = 0.4  # of the budget: the most that the best hit takes in the first round
_OTHERS = 0.07  # and every other one
_LEAST = 120  # tokens: less than this of a chunk says nothing
_PATIENCE = 6  # hits in a row that do not fit: the rest will not either

Cost = Callable[[Sequence[Hit]], int]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hits that fit, and whether anything had to be cut or left out."""

    hits: list[Hit]
    truncated: bool

    def __len__(self) -> int:
        return len(self.hits)


def budget(hits: Sequence[Hit], limit: int, cost: Cost, trace: Trace) -> Chosen:
    """The hits whose rendered text is within the limit, frame included.

    Breadth first: the best chunk of every document gets a share, cut to it where it is longer. Then depth: what was cut is
    given back, and further chunks of the same documents follow, in order, while there is room.
    """
    short = _first_round(hits, limit, cost)
    chosen = _given_back(short, limit, cost)
    taken = {hit.chunk.id for hit in chosen}
    chosen += _further([hit for hit in hits if hit.chunk.id not in taken], chosen, limit, cost)
    while chosen and cost(chosen) > limit:  # a promise, whatever a template does when entries are joined
        chosen.pop()
    kept = {hit.chunk.id: hit for hit in chosen}
    for hit in hits:
        where = f"{hit.chunk.uri}:{hit.chunk.start_line}"
        if hit.chunk.id not in kept:
            trace.drop("budget", where, "no room left")
        elif kept[hit.chunk.id].chunk.text != hit.chunk.text:
            trace.drop("budget", where, "cut to what fits")
    whole = len(chosen) == len(hits) and all(kept[hit.chunk.id].chunk.text == hit.chunk.text for hit in hits)
    return Chosen(chosen, not whole)


def _first_round(hits: Sequence[Hit], limit: int, cost: Cost) -> list[tuple[Hit, Hit]]:
    """The best chunk of every document, cut to its share, with the whole it was cut from."""
    chosen: list[tuple[Hit, Hit]] = []
    refused, taken = 0, set()
    for hit in hits:
        if hit.chunk.unit in taken:
            continue
        share = max(int(limit * (_OTHERS if chosen else _FIRST)), min(_LEAST, limit))
        shorter = hit if cost([hit]) <= share else _cut_to_fit(hit, share, cost)
        if shorter is None or cost([*(short for short, _ in chosen), shorter]) > limit:
            refused += 1
            if refused >= _PATIENCE:
                break
            continue
        taken.add(hit.chunk.unit)
        chosen.append((shorter, hit))
    if not chosen and hits and (cut := _cut_to_fit(hits[0], limit, cost)):
        chosen.append((cut, hits[0]))
    return chosen


def _given_back(pairs: list[tuple[Hit, Hit]], limit: int, cost: Cost) -> list[Hit]:
    """In order, as much of what was cut as there is room for."""
    chosen = [short for short, _ in pairs]
    for place, (short, whole) in enumerate(pairs):
        if short is whole:
            continue
        room = limit - cost(chosen) + cost([short])
        longer = whole if cost([whole]) <= room else _cut_to_fit(whole, room, cost)
        if longer is None or len(longer.chunk.text) <= len(short.chunk.text):
            continue
        changed = [*chosen[:place], longer, *chosen[place + 1 :]]
        if cost(changed) <= limit:
            chosen = changed
    return chosen


def _further(hits: Sequence[Hit], chosen: list[Hit], limit: int, cost: Cost) -> list[Hit]:
    """More chunks of the same documents, whole."""
    more: list[Hit] = []
    refused = 0
    for hit in hits:
        if cost([*chosen, *more, hit]) <= limit:
            more.append(hit)
        else:
            refused += 1
        if refused >= _PATIENCE:
            break
    return more


def _cut_to_fit(hit: Hit, limit: int, cost: Cost) -> Hit | None:
    """The hit cut at a line border so that it fits alone, or inside its first line; None if too little would be left."""
    lines = hit.chunk.text.split("\n")
    kept = _most(len(lines) - 1, lambda number: cost([_first_lines(hit, lines, number)]) <= limit)
    if kept:
        return _first_lines(hit, lines, kept)
    kept = _most(len(lines[0]), lambda number: cost([_first_letters(hit, lines[0], number)]) <= limit)
    return _first_letters(hit, lines[0], kept) if kept > 0 and kept >= min(_LEAST, len(lines[0]) // 2) else None


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to the limit that fits, by bisection; 0 if none does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _first_lines(hit: Hit, lines: Sequence[str], number: int) -> Hit:
    text = "\n".join(lines[:number])
    chunk = replace(hit.chunk, text=f"{text}\n{CUT_MARK}", end_line=hit.chunk.start_line + number - 1)
    return replace(hit, chunk=chunk)


def _first_letters(hit: Hit, line: str, number: int) -> Hit:
    chunk = replace(hit.chunk, text=f"{line[:number]} {CUT_MARK}", end_line=hit.chunk.start_line)
    return replace(hit, chunk=chunk)
