"""Choose the hits that fit the budget: whole chunks by worth, each priced once, and lines of one more in the last gap.

A chunk that does not fit is skipped, so that a shorter one further down can use the room. A larger budget never shows less
than a smaller one: the choice for one level of tokens is made among the chunks of the next higher level. A budget between two
levels shows the lower level and then, one by one, what the higher one adds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from contextd.text.terms import split
from contextd.values.answer import CHANCE, Hit
from contextd.values.trace import Trace

CUT_MARK = "[… cut]"
_LEVELS = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000)  # tokens
LIKELY = 0.004  # chance of holding the answer; a less likely chunk is shown only if every likely one is, and room is left
_SURE = 0.5  # a first chunk at least this likely is shown before anything else, cut if necessary
_LEAST_LINES = 3
_LEAST_WORDS = 8
_LEAST = 12  # tokens; a smaller gap is not filled
_AROUND = 2  # lines: a match also counts for its neighbors


@dataclass(frozen=True, slots=True)
class Prices:
    """Costs of hits in tokens, in one template."""

    frame: int  # cost of an answer without hits
    head: Callable[[Hit], int]  # cost of the markup around a hit's text
    text: Callable[[str], int]
    whole: Callable[[Sequence[Hit]], int]  # exact cost of an answer

    def of(self, hit: Hit) -> int:
        """Return the cost of a hit with its markup."""
        return self.head(hit) + hit.chunk.tokens


@dataclass(frozen=True, slots=True)
class Packed:
    """Hits that fit, in order, and whether any hit was cut or left out."""

    hits: list[Hit]
    truncated: bool

    def __len__(self) -> int:
        return len(self.hits)


def pack(hits: Sequence[Hit], limit: int, prices: Prices, terms: Mapping[str, float], trace: Trace) -> Packed:
    """Return the hits whose rendered text is within the limit, frame included. `terms` are the words of the question."""
    costs = [prices.of(hit) for hit in hits]
    chosen = _shown(hits, costs, limit, prices, terms)
    while chosen and prices.whole(chosen) > limit:  # a template may make several entries cost more together
        chosen.pop()
    _explain(hits, chosen, trace)
    complete = len(chosen) == len(hits) and all(one.chunk.text == hit.chunk.text for one, hit in zip(chosen, hits, strict=True))
    return Packed(chosen, not complete)


def _shown(hits: Sequence[Hit], costs: Sequence[int], limit: int, prices: Prices, terms: Mapping[str, float]) -> list[Hit]:
    """Return the hits that fit by their prices, in order. One of them may be cut."""
    chances = [hit.why.get(CHANCE, 1.0) for hit in hits]
    spare = {place for place, chance in enumerate(chances) if chance < LIKELY}
    whole, part = _chosen(costs, limit, prices.frame, spare, sure=bool(hits) and hits[0].why.get(CHANCE, 0.0) >= _SURE)
    shown = {place: hits[place] for place in whole}
    if part is not None:
        room = limit - prices.frame - sum(costs[place] for place in whole) - prices.head(hits[part])
        cut = cut_to(hits[part], room, prices.text, terms)
        shown |= {part: cut} if cut is not None else {}
    return [shown[place] for place in sorted(shown)]


def _chosen(
    costs: Sequence[int], limit: int, frame: int, spare: Collection[int], *, sure: bool
) -> tuple[list[int], int | None]:
    """Return the indexes of hits shown whole, and the index of the hit to cut. If `sure`, the first hit is not skipped."""
    above, below = sorted(range(len(costs)), key=lambda place: place in spare), list[int]()
    for level in reversed(_LEVELS):
        inside = [] if sure and costs[0] > level - frame else _fitting(above, costs, level - frame, spare)
        if level <= limit:
            below = inside
            break
        above = inside or above  # if nothing fits whole, the first hit is cut
    whole, room = list(below), limit - frame - sum(costs[place] for place in below)
    for place in (place for place in above if place not in below):
        if costs[place] > room:
            return whole, place
        whole.append(place)
        room -= costs[place]
    return whole, None


def _fitting(places: Sequence[int], costs: Sequence[int], room: int, spare: Collection[int]) -> list[int]:
    """Return the indexes that fit, in order. Indexes that do not fit are skipped; then `spare` ones are, too."""
    found, skipped = list[int](), False
    for place in places:
        if costs[place] <= room and not (skipped and place in spare):
            found.append(place)
            room -= costs[place]
        else:
            skipped = True
    return found


def cut_to(hit: Hit, room: int, count: Callable[[str], int], terms: Mapping[str, float]) -> Hit | None:
    """Cut a hit to its first line and the best-matching lines that fit; None if too few would be left.

    The range of lines grows around one line, so that more room never shows less.
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
    """Cut a text of one line (a memory, a message, a paragraph) to its first words; None if too few fit."""
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
    """Return how many terms of the question each line has, including its neighbors, by weight."""
    own = [sum(terms.get(term, 0.0) for term in set(split(line))) for line in lines]
    return [sum(own[max(0, at - _AROUND) : at + _AROUND + 1]) for at in range(len(own))]


def _grown(matches: Sequence[float], best: int, costs: Sequence[int], room: int) -> tuple[int, int]:
    """Return the range of lines around the best one that fits the room. It grows on the side that matches better."""
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
    """Add a trace entry for every hit that is not shown whole."""
    shown = {hit.chunk.id: hit for hit in chosen}
    for hit in hits:
        where = f"{hit.chunk.uri}:{hit.chunk.start_line}"
        if hit.chunk.id not in shown:
            trace.drop("pack", where, f"no room for its {hit.chunk.tokens} tokens")
        elif shown[hit.chunk.id].chunk.text != hit.chunk.text:
            trace.drop("pack", where, "cut to the lines that match best")
