"""Estimate how likely each chunk of the best files holds the answer.

Files are scored by their best chunk, their names and their folder (`fuse`, `boost`). Chunks are scored by themselves: their
words and vector, whether they are code or comments, whether their name matches, whether a better chunk calls them. The weights
are a listwise softmax regression on questions with known answer lines (benchmarks/answers.py).

There are two passes: all chunks by what is known without their texts, then the most likely of them with their texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextd.chunking.comments import without_comments
from contextd.querying.gathered import Gathered
from contextd.text.languages import PROSE, is_data
from contextd.text.paths import is_example, is_test, names_file
from contextd.text.terms import split
from contextd.values.answer import CHANCE, NO_VECTOR, Candidate
from contextd.values.document import Chunk
from contextd.values.query import Plan

Float = NDArray[np.float64]

SHORTLIST = 80  # chunks that are read
_HEAD = 20  # tokens of a heading
_FIRST_LOOK = {
    "file": 0.5, "words": 5.0, "coverage": 3.4, "static": 3.1, "class": -1.2, "section": -1.4, "test": -3.2, "example": -2.8,
    "prose": -1.4, "data": -2.3, "prose asked for": 3.2,
}  # fmt: skip
STATIC = {
    "file": 0.32, "words": 3.8, "coverage": 3.13, "static": 2.77, "class": -1.25, "section": -1.65, "length": 0.52,
    "test": -5.04, "test label": -3.2, "example": -2.97, "prose": -2.38, "data": -3.91, "prose asked for": 3.54,
    "comments": -1.87, "label": 1.52, "called": 0.88, "numbers": 3.37, "best of file": 0.35,
}  # fmt: skip
# Most of the questions had no deep vectors, so this weight is set by hand.
DEEP = STATIC | {"deep": 3.0}
_USUAL = 200  # tokens
_CALLERS = 8  # best chunks whose texts are searched for names they call
_SHORTEST_NAME = 4
_DECLARES = 20.0  # a question that is a name wants its declaration first; set by hand
_FILE_DECLARES = 5.0  # for its file
_NAMED, _PLACE = 8.0, 8.0  # a file and a line named in the question; set by hand
_BY_CHUNKS = {
    "words": 0.28,
    "symbol": 0.51,
}  # weight of a file's best chunk, in the unit of `fuse`; from its regression
_LIKE_FILES = 0.32  # log-odds per unit of a file's score: puts chunks and files on one scale
_OF_FILE = ("file", "best of file")
_PASSED_ON = 0.1  # share of probability passed to callees; chosen on the questions of the benchmark
_NUMBER = re.compile(r"\b\d{1,6}\b")
_LEAST_SPREAD = 0.1  # of cosines
_FARTHEST, _UNKNOWN = -2.0, -0.5  # in units of the spread; `_UNKNOWN` is for a chunk without a vector
_TEST_LABEL = re.compile(r"(?i)(?:^|[^a-z])tests?(?:$|[^a-z])|^test|should")
_WORD = re.compile(r"\w+")


def shortlist(known: Mapping[str, Float], wanted: Float) -> list[int]:
    """Return the indexes of the chunks to read, most likely first. `wanted` is the result of `asked_for`."""
    score = _sum(_FIRST_LOOK, known) + wanted
    return [int(place) for place in np.argsort(-score, kind="stable")[:SHORTLIST]]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The log-odds, up to a constant, that each chunk read holds the answer.

    `own` is the part that does not come from the file.
    """

    odds: Float
    own: Float


def order(
    gathered: Gathered, known: Mapping[str, Float], places: Sequence[int], chunks: Sequence[Chunk], plan: Plan
) -> Ordered:
    """Return how likely each of the chunks read holds the answer."""
    weights = DEEP if any(name.startswith("deep/") for name in gathered.arms) else STATIC
    found = signals(known, places, chunks, plan, callees_of := Callees(chunks))
    own = _sum({name: weight for name, weight in weights.items() if name not in _OF_FILE}, found)
    odds = own + _sum({name: weights[name] for name in _OF_FILE}, found) + asked_for(gathered, plan)[list(places)]
    return Ordered(_with_callees(odds, callees_of), own)


def signals(
    known: Mapping[str, Float], places: Sequence[int], chunks: Sequence[Chunk], plan: Plan, callees_of: Callees | None = None
) -> dict[str, Float]:
    """Return all features of the chunks read, including those from their texts."""
    some = {name: values[list(places)] for name, values in known.items()}
    return some | _read(chunks, some, plan, callees_of or Callees(chunks))


def placed(
    ranked: Sequence[Candidate], gathered: Gathered, places: Sequence[int], ordered: Ordered, plan: Plan
) -> list[Candidate]:
    """Rescore all candidates: files by their score and their best chunk, chunks by how likely they answer."""
    if not places:
        return list(ranked)
    documents = [gathered.chunks[place].document for place in places]
    odds, best, own = ordered.odds, _best(documents, ordered.odds), _best(documents, ordered.own)
    declares = _best([one.document for one in gathered.declared], np.array([fit for fit, _ in gathered.declared.values()]))
    likely = np.exp(odds - odds.max())
    by_chunks, most = _BY_CHUNKS["symbol" if plan.route == "symbol" else "words"], max(own.values())
    files = {one: by_chunks * (value - most) + _FILE_DECLARES * declares.get(one, 0.0) for one, value in own.items()}
    read = [
        Candidate(
            gathered.chunks[place],
            {name: float(values[place]) for name, values in gathered.arms.items()} | {CHANCE: chance},
            float(gathered.files[place]) + files[document] + (odd - best[document]) / _LIKE_FILES,
        )
        for place, document, odd, chance in zip(places, documents, odds.tolist(), (likely / likely.sum()).tolist(), strict=True)
    ]
    known, lowest = {one.chunk for one in read}, by_chunks * (min(own.values()) - most)
    rest = [
        Candidate(one.chunk, {**one.arms, CHANCE: 0.0}, one.score + files.get(one.chunk.document, lowest))
        for one in ranked
        if one.chunk not in known
    ]
    return sorted([*read, *rest], key=lambda one: (-one.score, one.chunk))


def _best(documents: Sequence[int], values: Float) -> dict[int, float]:
    found: dict[int, float] = {}
    for document, value in zip(documents, values.tolist(), strict=True):
        found[document] = max(found.get(document, -np.inf), value)
    return found


def worth(candidate: Candidate, chunk: Chunk) -> float:
    """Return probability per token: of two equally likely chunks the shorter leaves more room."""
    return float(candidate.arms[CHANCE] / (chunk.tokens + _HEAD))


def known_of(gathered: Gathered, plan: Plan) -> dict[str, Float]:
    """Return the features of every chunk that do not need its text."""
    about = list(dict.fromkeys(gathered.about))  # most chunks of a file have the same
    number = {where: place for place, where in enumerate(about)}
    at = np.fromiter(map(number.__getitem__, gathered.about), np.intp, len(gathered))
    prose = _flags(where.language in PROSE for where in about)[at]
    return {
        "file": gathered.files - gathered.files.max(initial=-np.inf),
        "words": gathered.arms["chunk"] / (gathered.ranges["chunk"][1] or 1.0) if "chunk" in gathered.arms else prose * 0,
        "coverage": gathered.arms.get("chunk_coverage", prose * 0),
        "static": _cosines(gathered, "static/"),
        "deep": _cosines(gathered, "deep/"),
        "class": _flags(where.kind == "code_class" for where in about)[at],
        "section": _flags(where.kind == "markdown_section" for where in about)[at],
        "test": _flags(is_test(where.uri) and not plan.wants_tests for where in about)[at],
        "example": _flags(is_example(where.uri) and not plan.wants_tests for where in about)[at],
        "prose": prose,
        "prose asked for": prose * plan.wants_docs,
        "data": _flags(is_data(where.language) for where in about)[at],
    }


def asked_for(gathered: Gathered, plan: Plan) -> Float:
    """Return log-odds for what a question names: a file, a line of it, the declaration of a symbol."""
    total: Float = np.zeros(len(gathered))
    if gathered.declared:
        total = np.array([_DECLARES * gathered.declared.get(chunk, (0.0, 0))[0] for chunk in gathered.chunks])
    if plan.paths:
        named = {uri: any(names_file(path, uri) for path in plan.paths) for uri in {where.uri for where in gathered.about}}
        total += _NAMED * _flags(named[where.uri] for where in gathered.about)
    return total + _PLACE * gathered.arms["place"] if "place" in gathered.arms else total


def _cosines(gathered: Gathered, tier: str) -> Float:
    """Return cosines relative to the best one retrieved, in units of their spread; all 0 without vectors."""
    space = next((name for name in gathered.arms if name.startswith(tier)), "")
    if not space:
        return np.zeros(len(gathered))
    values, (least, most) = gathered.arms[space], gathered.ranges[space]
    below = (values - most) / max(most - least, _LEAST_SPREAD)
    return np.where(values > NO_VECTOR, np.maximum(below, _FARTHEST), _UNKNOWN)


def _read(chunks: Sequence[Chunk], known: Mapping[str, Float], plan: Plan, callees_of: Callees) -> dict[str, Float]:
    """Return the features that need the texts."""
    words = frozenset(plan.terms)
    code = [chunk.text if chunk.language in PROSE else without_comments(chunk.text, chunk.language) for chunk in chunks]
    numbers = [len(_NUMBER.findall(one)) / (one.count("\n") + 1) for one in code] if plan.wants_value else [0.0] * len(chunks)
    return {
        "length": np.log(np.array([max(chunk.tokens, 1) for chunk in chunks]) / _USUAL),
        "test label": _flags(
            not plan.wants_tests and not is_test(chunk.uri) and bool(_TEST_LABEL.search(chunk.label)) for chunk in chunks
        ),
        "comments": np.array([_left_out(chunk.text, one) for chunk, one in zip(chunks, code, strict=True)]),
        "numbers": np.minimum(np.array(numbers), 1.0),
        "label": np.array([_share(words, f"{' '.join(chunk.heading)} {chunk.label}") for chunk in chunks]),
        "called": _called(callees_of, known["file"] + known["words"]),
        "best of file": _best_of_file(chunks, 4 * known["words"] + 2.5 * known["static"] + 4 * known["coverage"]),
    }


def _left_out(text: str, code: str) -> float:
    """Return the share of a text that is comments, ignoring white space at its ends."""
    return 1 - len(code.strip()) / max(1, len(text.strip()))


def _best_of_file(chunks: Sequence[Chunk], standing: Float) -> Float:
    """Return how far the best chunk of each chunk's file is below the best chunk of all."""
    documents = [chunk.id.document for chunk in chunks]
    best = _best(documents, standing)
    return np.asarray([best[document] for document in documents] - standing.max(initial=-np.inf))


def _share(words: frozenset[str], text: str) -> float:
    terms = set(split(text))
    return len(terms & words) / len(terms) if terms else 0.0


def _called(callees_of: Callees, standing: Float) -> Float:
    """Return 1 / rank of the best chunk that mentions a chunk's name; 0 if none does."""
    found = np.zeros(len(standing))
    for rank, callees in enumerate(callees_of.of_best(standing).values()):
        found[callees] = np.maximum(found[callees], 1 / (1 + rank))
    return found


def _with_callees(odds: Float, callees_of: Callees) -> Float:
    """Return the log-odds after the most likely chunks pass a share of their probability to the chunks they call.

    The second place an answer needs often has none of the words of the question. A chunk that many call gets little from each.
    """
    if not len(odds):
        return odds
    likely = np.exp(odds - odds.max())
    callees = callees_of.of_best(odds)
    popular = np.zeros(len(odds))
    for several in callees.values():
        popular[several] += 1
    passed = np.zeros(len(odds))
    for caller, several in callees.items():
        if several:
            share = 1 / popular[several]
            passed[several] += likely[caller] * share / max(1.0, share.sum())
    return np.asarray(np.log(likely + _PASSED_ON * passed + 1e-300))


class Callees:
    """Which of some chunks mention the names of others. The text of a chunk is searched once."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks, self._owners, self._callees = chunks, dict[str, list[int]](), dict[int, list[int]]()
        for place, chunk in enumerate(chunks):
            for name in _names_of(chunk):
                self._owners.setdefault(name, []).append(place)

    def of_best(self, standing: Float) -> dict[int, list[int]]:
        """Map the best chunks, best first, to the indexes of the chunks whose names they mention."""
        return {caller: self._of(caller) for caller in np.argsort(-standing, kind="stable")[:_CALLERS].tolist()}

    def _of(self, caller: int) -> list[int]:
        if caller not in self._callees:
            words = self._owners.keys() & _WORD.findall(self._chunks[caller].text)
            self._callees[caller] = sorted({place for word in words for place in self._owners[word]} - {caller})
        return self._callees[caller]


def _names_of(chunk: Chunk) -> list[str]:
    return [name for label in chunk.label.split(",") if len(name := label.strip().rpartition(".")[2]) >= _SHORTEST_NAME]


def _flags(values: object) -> Float:
    return np.fromiter(values, np.float64)  # type: ignore[call-overload, no-any-return]


def _sum(weights: Mapping[str, float], signals: Mapping[str, Float]) -> Float:
    total: Float = np.zeros(len(next(iter(signals.values()))))
    for name, weight in weights.items():
        total += weight * signals[name]
    return total
