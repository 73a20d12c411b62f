"""Choose what fits: hits in order, each at the exact cost of its rendered form; a unit that is too large is cut and marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from contextd.trace import Trace
from contextd.types import Hit

CUT_MARK = "[… cut]"
_WORTH_CUTTING = 24  # tokens: less than this of a chunk says nothing
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
    """The hits whose rendered text is within the limit, frame included."""
    chosen: list[Hit] = []
    spent, refused = 0, 0
    for hit in hits:
        alone = cost([hit])
        if spent + alone <= limit or cost([*chosen, hit]) <= limit:
            chosen.append(hit)
            spent += alone
            continue
        refused += 1
        shorter = _cut_to_fit(hit, chosen, limit, cost)
        where = f"{hit.chunk.uri}:{hit.chunk.start_line}"
        trace.drop("budget", where, "cut to what fits" if shorter else "no room left")
        if shorter is not None:
            chosen.append(shorter)
            spent = limit
        if refused >= _PATIENCE:
            break
    while chosen and cost(chosen) > limit:
        trace.drop("budget", chosen.pop().chunk.uri, "no room left")
        refused += 1
    return Chosen(chosen, refused > 0)


def _cut_to_fit(hit: Hit, chosen: Sequence[Hit], limit: int, cost: Cost) -> Hit | None:
    """The hit cut at a line border so that it fits, or inside its first line; None if too little would be left."""
    lines = hit.chunk.text.split("\n")
    kept = _most(len(lines) - 1, lambda n: cost([*chosen, _first_lines(hit, lines, n)]) <= limit)
    if kept:
        shorter = _first_lines(hit, lines, kept)
    else:
        kept = _most(len(lines[0]), lambda n: cost([*chosen, _first_letters(hit, lines[0], n)]) <= limit)
        shorter = _first_letters(hit, lines[0], kept)
    return shorter if kept and len(shorter.chunk.text) >= min(_WORTH_CUTTING, limit) * 2 else None


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
