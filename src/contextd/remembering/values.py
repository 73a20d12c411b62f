"""Extract the value of a fact that no pattern matches, by learned examples.

This is a linear-chain model (like a CRF) over the words of a fact. Each word has features: its spelling, its neighbors, what
the patterns found. Each feature has a weight for each part of a value; what a tagger says of the words is added, and the best
sequence of parts is decoded. The weights are trained on the facts in `benchmarks/examples` by `python -m benchmarks.values
--learn`, those of the tagger by `python -m benchmarks.fact_tagger`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.ports.world import Tagger
from contextd.remembering.attributes import (
    AT_MOST_AFTER,
    CLOCK,
    DATE,
    DENIED,
    LEAST,
    LIMITED,
    MOST,
    QUANTITY,
    Stated,
    name_of,
    stated,
)
from contextd.remembering.owners import whose
from contextd.text.natural_language import ANY_SMALL
from contextd.text.times import MONTHS, NUMBERS, SEASONS, UNITS, WEEKDAYS

PARTS = ("none", "value", "on", "most", "least", "unit", "period", "times")  # `on` continues the part before it
_NONE, _VALUE, _ON, _MOST, _LEAST, _UNIT, _PERIOD, _TIMES = range(len(PARTS))
_BEGINS = (_VALUE, _MOST, _LEAST)
_SIGNS = {_MOST: "≤ ", _LEAST: "≥ "}
_EAGER = 0.5  # penalty on `none`: finds one more value in every two facts that have one
_TAGGED, _EAGER_TAGGED = 2.0, 3.0  # weight of what a tagger says beside the features of words, and the penalty then
_LONGEST = 60  # words; a longer text states more than one value
_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d]+(?:['\u2019][^\W\d]+)*|[^\w\s]|_")
_NUMBER = re.compile(r"\d")
_JOINED = re.compile(r"\s*(?:,|and|or|und|oder|et|ou|y|o|\+|&|/|,\s*(?:and|or|und|et|y))\s*", re.IGNORECASE)
_COUNTS = {"once": "1", "twice": "2", "thrice": "3", "einmal": "1", "zweimal": "2", "every": "1", "each": "1"}
_CLASSES: Mapping[str, Mapping[str, object]] = {
    "number": NUMBERS, "month": MONTHS, "season": SEASONS, "day": WEEKDAYS, "span": UNITS,
}  # fmt: skip
_OR = re.compile(r" (?:or|oder|ou|o) ", re.IGNORECASE)
_NEAR = 25  # maximum characters between a limit and the value it limits

Float = NDArray[np.float64]


class Word(NamedTuple):
    """A word, number or sign, and its position."""

    text: str
    start: int
    end: int


class Chain(NamedTuple):
    """Learned weights: of features by part, of transitions between parts, and of the first and last part."""

    marks: Mapping[str, int]
    weights: Float
    steps: Float
    first: Float
    last: Float


class TaggedFact(NamedTuple):
    """A fact by a tagger: its vector by space, and the log-probability of every part for every word."""

    vectors: Mapping[str, NDArray[np.float32]]
    log_parts: Float


def valued(text: str, chain: Chain | None = None, log_parts: Float | None = None) -> Stated:
    """Return what a fact states: by the patterns, and if they find no value or an uncertain one, by the model.

    `log_parts` has the log-probability of each part for every word by a tagger; without it, the features of words tell alone.
    Only patterns name an attribute. A value without an attribute is shown, but replaces no other value.
    """
    line = " ".join(text.split())
    found, words = stated(line), words_of(line)
    exact = bool(found.attribute) and not found.loose
    if (exact and log_parts is None) or not words or len(words) > _LONGEST:
        return found
    value, unit = read(line, words, parts_of(marks_of(line, words, found), chain or learned(), log_parts))
    if not value:
        return found
    value = _with_limit(value, unit, line)
    if exact:
        return _completed(found, value, unit)
    if found.attribute and (_part_of_list(value, found.value) or _same_list(found.value, value)) and not _NUMBER.search(value):
        return found  # a list of things; of numbers, the tagger tells which one is the value
    doubtful = bool(found.attribute) and (not _fits(value, found.value) or _says_more(found.value, value))
    if doubtful and log_parts is None:
        return found
    if doubtful and value not in found.value and found.value not in value:  # a tagger is right more often
        found = Stated(found.about, loose=True)
    about = found.about if found.attribute else whose(line)[0]
    return Stated(about, _attribute(found, value), value, unit, loose=True)


def _completed(found: Stated, value: str, unit: str) -> Stated:
    """Return what a pattern found, as a limit or with the longer unit if the same value is one in the sentence as a whole."""
    if value.lstrip("≤≥ ") != found.value.lstrip("≤≥ ") or not unit.startswith(found.unit):
        return found
    return found._replace(value=value if value[0] in "≤≥" else found.value, unit=unit)


def words_of(text: str) -> list[Word]:
    """Return the words, numbers and signs of a text."""
    return [Word(match.group(), match.start(), match.end()) for match in _WORD.finditer(text)]


# Marks


def marks_of(text: str, words: Sequence[Word], found: Stated) -> list[list[str]]:
    """Return the features of every word: its spelling, its neighbors, the words before, and the matching patterns."""
    lower = [word.text.casefold() for word in words]
    shapes = [_shape(word.text) for word in words]
    classes = [_classes(word) for word in lower]
    counted = any("number" in one or "digit" in one for one in classes)
    patterned = _patterned(text, words, found)
    marks = []
    for place, word in enumerate(words):
        here = [f"w={lower[place]}", f"s={shapes[place]}", f"end={lower[place][-3:]}", f"start={lower[place][:3]}"]
        here += [f"at={min(place, 4)}", f"left={min(len(words) - 1 - place, 3)}", f"long={min(len(words) // 3, 5)}"]
        here += [f"counted={counted}", f"counted={counted} {shapes[place]}", "keyed" if ":" in lower[:place] else "not keyed"]
        here += [f"c={one}" for one in classes[place]]
        here += [f"before={one}" for one in lower[:place]]
        for step in (-3, -2, -1, 1, 2):
            other = place + step
            if not 0 <= other < len(words):
                here.append(f"w{step}=")
                continue
            here.append(f"w{step}={lower[other]}")
            if abs(step) < 3:
                here += [f"s{step}={shapes[other]}", *(f"c{step}={one}" for one in classes[other])]
        if place:
            here += [f"two={lower[place - 1]} {lower[place]}", "glued" if word.start == words[place - 1].end else "apart"]
        if place > 1:
            here.append(f"two before={lower[place - 2]} {lower[place - 1]}")
        if place + 1 < len(words):
            here += [f"two on={lower[place]} {lower[place + 1]}", f"shapes={shapes[place]} {shapes[place + 1]}"]
        marks.append(here + patterned[place])
    return marks


def _shape(word: str) -> str:
    if word[0].isdigit():
        return f"{min(len(word), 4)}d" if word.isdigit() else "d."
    if not word[0].isalnum():
        return word
    if word.isupper():
        return "A" if len(word) > 1 else "A1"
    return "Aa" if word[0].isupper() else "aA" if any(sign.isupper() for sign in word) else "a"


def _classes(word: str) -> list[str]:
    """Return the classes of a word; plurals of days and time units count, too."""
    found = [sort for sort, known in _CLASSES.items() if word in known or word.removesuffix("s") in known]
    return [*found, "digit"] if word[0].isdigit() else found


def _patterned(text: str, words: Sequence[Word], found: Stated) -> list[list[str]]:
    """Return the features of every word that come from the patterns."""
    marks: list[list[str]] = [[] for _ in words]
    spans = [("date", *match.span()) for match in DATE.finditer(text)] + [
        ("clock", *match.span()) for match in CLOCK.finditer(text)
    ]
    spans += [("loose", *span) for span in _places(text, found)]
    denied = bool(DENIED.search(text))
    for match in QUANTITY.finditer(text):
        spans += [(f"quantity {group}", *match.span(group)) for group in ("low", "high", "unit", "period") if match[group]]
        if match["limit"]:
            spans.append((f"limited, denied={denied}", *match.span()))
    limits = [(sort, match.end()) for sort, pattern in (("most", MOST), ("least", LEAST)) for match in pattern.finditer(text)]
    for here, word in zip(marks, words, strict=True):
        for sort, start, end in spans:
            if start <= word.start and word.end <= end:
                here.append(sort)
                here += [f"{sort} starts"] * (start == word.start) + [f"{sort} ends"] * (end == word.end)
        here += [f"{sort} near, denied={denied}" for sort, end in limits if 0 <= word.start - end < _NEAR]
        if denied:
            here += ["denied", f"denied {_shape(word.text)}"]
    return marks


def _places(text: str, found: Stated) -> Iterator[tuple[int, int]]:
    """Yield the positions of the found value in the text."""
    lower, value = text.casefold(), found.value.lstrip("≤≥ ").casefold()
    for part in [value] if value in lower else value.split(", "):
        if part and (start := lower.find(part)) >= 0:
            yield start, start + len(part)


# Parts


def parts_of(marks: Sequence[Sequence[str]], chain: Chain, log_parts: Float | None = None) -> list[int]:
    """Return the most likely part of every word (Viterbi), by its features and what a tagger says."""
    scores = spoken_for(marks, chain) + (0 if log_parts is None else _TAGGED * log_parts)
    scores[:, _NONE] -= _EAGER if log_parts is None else _EAGER_TAGGED
    best, back = chain.first + scores[0], []
    for score in scores[1:]:
        ways = best[:, None] + chain.steps
        back.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + score
    parts = [int((best + chain.last).argmax())]
    for step in reversed(back):
        parts.append(int(step[parts[-1]]))
    return parts[::-1]


def spoken_for(marks: Sequence[Sequence[str]], chain: Chain) -> Float:
    """Return the score of every part for every word."""
    known = [[chain.marks[mark] for mark in set(here) if mark in chain.marks] for here in marks]
    return np.stack([chain.weights[places].sum(axis=0) for places in known])


def tagged_by(tagger: Tagger, text: str) -> TaggedFact | None:
    """Tag the words of a fact. None for a text that is too long."""
    line = " ".join(text.split())
    words = words_of(line)
    if not words or len(words) > _LONGEST:
        return None
    vector, states = tagger.tag(line, [word.start for word in words])
    if not states.any(axis=1).all():  # a word beyond the end of what the tagger reads has a row of zeros
        return None
    weights = _weights_of_states()
    return TaggedFact({tagger.space: vector}, log_shares((states @ weights[:-1] + weights[-1]).astype(np.float64)))


def log_shares(scores: Float) -> Float:
    """Return the logarithms of shares of which each row adds up to one."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def read(text: str, words: Sequence[Word], parts: Sequence[int]) -> tuple[str, str]:
    """Return value and unit from the parts of the words; empty if there is no value."""
    period = _span(text, words, parts, _PERIOD)
    if _TIMES in parts:
        count = words[parts.index(_TIMES)].text.casefold()
        return str(_COUNTS.get(count) or NUMBERS.get(count, count)), f"times/{period}".rstrip("/")
    runs = _runs(text, words, parts)
    if not runs:
        return "", ""
    value = ", ".join(text[words[first].start : words[last].end] for first, last in runs)
    unit = _span(text, words, parts, _UNIT)
    unit = f"{unit}/{period}" if period else unit
    return _SIGNS.get(parts[runs[0][0]], "") + value, unit


def _runs(text: str, words: Sequence[Word], parts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last words of the values. Several must form a list; else the first counts, numbers before others."""
    runs: list[tuple[int, int]] = []
    for place, part in enumerate(parts):
        if part in _BEGINS or (part == _ON and (not place or parts[place - 1] not in (*_BEGINS, _ON))):
            runs.append((place, place))
        elif part == _ON:
            runs[-1] = runs[-1][0], place
    lists: list[list[tuple[int, int]]] = []
    for run in runs:
        if lists and _JOINED.fullmatch(text[words[lists[-1][-1][1]].end : words[run[0]].start]):
            lists[-1].append(run)
        else:
            lists.append([run])
    if _UNIT in parts:
        lists.sort(key=lambda one: not _is_number(words[one[0][0]].text))
    return lists[0] if lists else []


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word.casefold() in NUMBERS


def _span(text: str, words: Sequence[Word], parts: Sequence[int], part: int) -> str:
    """Return the text of the first run of a part."""
    if part not in parts:
        return ""
    first = last = parts.index(part)
    while last + 1 < len(parts) and parts[last + 1] == part:
        last += 1
    return text[words[first].start : words[last].end]


def _fits(value: str, loose: str) -> bool:
    """Return whether a value is inside the one a pattern found. For a date it may be longer, by the hour."""
    one, other = (part.lstrip("≤≥ ").casefold() for part in (value, loose))
    return one in other or (other in one and bool(DATE.fullmatch(other)))


def _part_of_list(value: str, pattern: str) -> bool:
    """Return whether a value is one of the items that a pattern found."""
    return ", " in pattern and value in pattern.split(", ")


def _same_list(one: str, other: str) -> bool:
    """Return whether two values have the same items: "nuts, shellfish" and "nuts and shellfish"."""
    items = [{item.casefold() for item in _JOINED.split(value)} for value in (one, other)]
    return len(items[0]) > 1 and items[0] == items[1]


def _with_limit(value: str, unit: str, line: str) -> str:
    """Return a value as a limit if words behind it say so ("16:30 at the latest"); a plain measure is no limit."""
    if value[0] in "≤≥":
        return value if LIMITED.search(line) else value.lstrip("≤≥ ")
    behind = line.partition(value)[2].removeprefix(f" {unit}" if unit else "")
    return f"≤ {value}" if value[0].isdigit() and AT_MOST_AFTER.match(behind) else value


def _attribute(found: Stated, value: str) -> str:
    """Return the attribute of a value that ends a longer one: "the shop is closed on Mondays" is shop_closed."""
    head, matched, rest = found.value.partition(value)
    if not matched or rest or DATE.fullmatch(found.value):
        return found.attribute
    telling = " ".join(word for word in head.split() if word.casefold().strip(".,:;") not in ANY_SMALL)
    return name_of(f"{found.attribute} {telling}") if telling and found.attribute else found.attribute


def _says_more(pattern: str, value: str) -> bool:
    """Return whether a pattern found a limit, a list or alternatives of which the value has only a part."""
    limited = pattern[:1] in ("≤", "≥") and value[:1] not in ("≤", "≥")
    listed = _part_of_list(value, pattern) or (bool(DATE.fullmatch(pattern)) and value != pattern and value in pattern)
    return limited or listed or bool(_OR.search(pattern) and not _OR.search(value))


@lru_cache
def _weights_of_states() -> NDArray[np.float32]:
    """Load the weights that come with the package; the last row is the constant."""
    data = files("contextd.text").joinpath("learned", "parts.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return np.asarray(stored["weights"], np.float32)


@lru_cache
def learned() -> Chain:
    """Return the weights that come with the package."""
    data = files("contextd.text").joinpath("learned", "values.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        marks = {mark: place for place, mark in enumerate(str(stored["marks"]).split("\n"))}
        return Chain(marks, *(stored[part].astype(np.float64) for part in ("weights", "steps", "first", "last")))
