"""Choose what an answer shows: whole chunks in order of their worth, each priced once, and lines of one more in the last gap.

What does not fit is passed over, so that a shorter chunk further down can use the room. A larger budget never shows less than
a smaller one: what is chosen for a level of tokens is chosen among what the next higher level shows, and a budget between two
levels shows the lower one and, one by one, what the higher one adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contextd.text.terms import split
from contextd.values.answer import CHANCE, Hit
from contextd.values.trace import Trace

CUT_MARK = "[… cut]"
_LEVELS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000)  # tokens
_SURE = 0.5  # the chance from which a first chunk is shown, cut if need be, before anything else
_LEAST_LINES = 3
_LEAST_WORDS = 8
_LEAST = 12  # tokens of a gap that is worth filling
_AROUND = 2  # lines: a match counts for those beside it


@dataclass(frozen=True, slots=True)
class Prices:
    """What hits cost in tokens, in one template."""

    frame: int  # what an answer costs beside its hits
    head: Callable[[Hit], int]  # what stands around the text of a hit
    text: Callable[[str], int]
    whole: Callable[[Sequence[Hit]], int]  # the exact cost of an answer

    def of(self, hit: Hit) -> int:
        """A hit with what stands around it."""
        return self.head(hit) + hit.chunk.tokens


@dataclass(frozen=True, slots=True)
class Packed:
    """Hits that fit, in order, and whether anything had to be cut or left out."""

    hits: list[Hit]
    truncated: bool

    def __len__(self) -> int:
        return len(self.hits)


def pack(hits: Sequence[Hit], limit: int, prices: Prices, terms: Mapping[str, float], trace: Trace) -> Packed:
    """The hits whose rendered text is within the limit, frame included; `terms` are the words of the question."""
    costs = [prices.of(hit) for hit in hits]
    chosen = _shown(hits, costs, limit, prices, terms)
    while chosen and prices.whole(chosen) > limit:  # a promise, whatever a template makes of entries that stand together
        chosen.pop()
    _explain(hits, chosen, trace)
    complete = len(chosen) == len(hits) and all(one.chunk.text == hit.chunk.text for one, hit in zip(chosen, hits, strict=True))
    return Packed(chosen, not complete)


def _shown(hits: Sequence[Hit], costs: Sequence[int], limit: int, prices: Prices, terms: Mapping[str, float]) -> list[Hit]:
    """The hits that fit by their prices, in order, the last of them cut."""
    whole, part = _chosen(costs, limit, prices.frame, sure=bool(hits) and hits[0].why.get(CHANCE, 0.0) >= _SURE)
    shown = {place: hits[place] for place in whole}
    if part is not None:
        room = limit - prices.frame - sum(costs[place] for place in whole) - prices.head(hits[part])
        cut = cut_to(hits[part], room, prices.text, terms)
        shown |= {part: cut} if cut is not None else {}
    return [shown[place] for place in sorted(shown)]


def _chosen(costs: Sequence[int], limit: int, frame: int, *, sure: bool) -> tuple[list[int], int | None]:
    """The places of what is shown whole, and of what is shown in part. A first one that is sure is not passed over."""
    above, below = list(range(len(costs))), list[int]()
    for level in reversed(_LEVELS):
        inside = [] if sure and costs[0] > level - frame else _fitting(above, costs, level - frame)
        if level <= limit:
            below = inside
            break
        above = inside or above  # where nothing is whole, the first one is cut
    whole, room = list(below), limit - frame - sum(costs[place] for place in below)
    for place in (place for place in above if place not in below):
        if costs[place] > room:
            return whole, place
        whole.append(place)
        room -= costs[place]
    return whole, None


def _fitting(places: Sequence[int], costs: Sequence[int], room: int) -> list[int]:
    """Of some places, in order, those that fit; what does not is passed over."""
    found = []
    for place in places:
        if costs[place] <= room:
            found.append(place)
            room -= costs[place]
    return found


def cut_to(hit: Hit, room: int, count: Callable[[str], int], terms: Mapping[str, float]) -> Hit | None:
    """The lines of a hit that match best, as many as fit, below its first line; None if that would say too little.

    They grow around one line as the room grows, so that more room never shows less.
    """
    lines = hit.chunk.text.rstrip("\n").split("\n")
    if len(lines) == 1:
        return _first_words(hit, room, count)
    costs = [count(f"{line}\n") for line in lines]
    room -= 2 * count(f"{CUT_MARK}\n") + costs[0]
    fitting = [at for at, cost in enumerate(costs) if cost <= room]
    if room < _LEAST or not fitting:
        return None
    matches = _matches(lines, terms)
    focus = hit.focus - hit.chunk.start_line if hit.focus else -1
    best = focus if focus in fitting else max(fitting, key=lambda at: (matches[at], -at))
    first, last = _grown(matches, best, costs, room)
    if last - first < _LEAST_LINES:
        return None
    above = [lines[0]] * (first > 0) + [CUT_MARK] * (first > 1)
    text = "\n".join([*above, *lines[first:last], *([CUT_MARK] if last < len(lines) else [])])
    return _cut(hit, text, hit.chunk.start_line + last - 1, count)


def _first_words(hit: Hit, room: int, count: Callable[[str], int]) -> Hit | None:
    """The beginning of a text that is hardly more than a line: a memory, a message, a paragraph."""
    words = hit.chunk.text.split(" ")
    room -= count(f" {CUT_MARK}")
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(" ".join(words[:middle])) <= room else (low, middle - 1)
    if low < _LEAST_WORDS:
        return None
    return _cut(hit, f"{' '.join(words[:low])} {CUT_MARK}", hit.chunk.end_line, count)


def _cut(hit: Hit, text: str, end_line: int, count: Callable[[str], int]) -> Hit:
    return replace(hit, chunk=replace(hit.chunk, text=text, end_line=end_line, tokens=count(text)))


def _matches(lines: Sequence[str], terms: Mapping[str, float]) -> list[float]:
    """How much of the question each line has, its neighbors counted in."""
    own = [sum(terms.get(term, 0.0) for term in set(split(line))) for line in lines]
    return [sum(own[max(0, at - _AROUND) : at + _AROUND + 1]) for at in range(len(own))]


def _grown(matches: Sequence[float], best: int, costs: Sequence[int], room: int) -> tuple[int, int]:
    """A range of lines around the best one that fits the room; it grows on the side that matches better."""
    first, last, left = best, best + 1, room - costs[best]
    while left >= 0:
        before = matches[first - 1] if first > 0 else -1.0
        after = matches[last] if last < len(matches) else -1.0
        if before < 0 and after < 0:
            break
        step = first - 1 if before > after else last
        left -= costs[step]
        if left >= 0:
            first, last = min(first, step), max(last, step + 1)
    return first, last


def _explain(hits: Sequence[Hit], chosen: Sequence[Hit], trace: Trace) -> None:
    """Say of every hit that is not shown whole why."""
    shown = {hit.chunk.id: hit for hit in chosen}
    for hit in hits:
        where = f"{hit.chunk.uri}:{hit.chunk.start_line}"
        if hit.chunk.id not in shown:
            trace.drop("pack", where, f"no room for its {hit.chunk.tokens} tokens")
        elif shown[hit.chunk.id].chunk.text != hit.chunk.text:
            trace.drop("pack", where, "cut to the lines that match best")
