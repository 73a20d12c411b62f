"""Adjust scores by what is known of a file: matching names, its depth and size, tests, prose, generated code."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from contextd.text.languages import PROSE, is_data
from contextd.text.paths import is_example, is_generated, is_test, names_file, superseded
from contextd.text.terms import split, stem_of
from contextd.values.answer import Candidate
from contextd.values.document import CHAT, COMMIT, MEMORY, About
from contextd.values.query import Plan

# In the unit of the weights in `fuse`, and from the same regression. Examples were too rare: their weight is set by hand.
_BOOSTS = {
    "words": {"stem": 1.23, "whole stem": 0.73, "rare stem": 0.86, "depth": 1.16, "size": 0.82, "test": -2.1, "example": -0.7,
              "prose": -1.15, "data": -0.6},
    "symbol": {"stem": 0.98, "whole stem": 1.91, "rare stem": 0.0, "depth": -1.1, "size": 1.54, "test": -0.5, "example": -0.7,
               "prose": -0.7, "data": 0.0},
    "report": {"stem": 0.4, "whole stem": 0.0, "rare stem": 0.3, "depth": -1.1, "size": 0.0, "test": -2.4, "example": -0.7,
               "prose": -1.8, "data": -0.6},
}  # fmt: skip
_NAMED_FILE = 6.0  # the question names this file
_PLACE = 3.0  # the question names this line
_GENERATED = -1.5  # not in the benchmark; set like tests
_OLDER = -1.5  # v1/ beside v2/; set like tests
_PAST = 2.0  # commits are candidates only if the question is about the past; set by hand
_LATEST = 1.5  # for the newest commit; half of it for one a month older
_MONTH = 30 * 86_400_000_000  # microseconds
_PINNED = 1.5  # as much as the best file name
_FEEDBACK = 0.3  # for each useful rating of a memory, up to three; negative for useless
_RECENT = 0.2  # for the memory told last; half of it for one a season older; less than one standard deviation
_DAY, _SEASON = 86_400_000_000, 3 * _MONTH
_OTHER_PERSON = -2.0  # "where do I live" does not ask about other people; set by hand
_OWN = re.compile(r"\b(?:i|my|me|mine|ich|mein\w*|mir|mich|je|j|mon|ma|mes|moi|yo|mi|mis)\b|[我私]", re.IGNORECASE)
_ROUTES = {"symbol": "symbol", "path": "symbol", "report": "report"}


def boost(candidates: Sequence[Candidate], about: Sequence[About], plan: Plan) -> list[Candidate]:
    """Return the candidates in their new order. Ties between memories: newest first."""
    boosts, words = (
        _BOOSTS[_ROUTES.get(plan.route, "words")],
        rarity({where.uri for where in about}, (*plan.terms, *plan.families)),
    )
    largest = math.log1p(max((where.pieces for where in about), default=1))
    newest = max((where.modified for where in about if where.language == COMMIT), default=0)
    last = max((where.modified for where in about if where.language == MEMORY), default=0)
    own = bool(_OWN.search(plan.text))
    old = superseded({where.uri for where in about}, plan.terms)
    extra: dict[str, float] = {}
    raised = []
    for candidate, where in zip(candidates, about, strict=True):
        if where.uri not in extra:
            size = boosts["size"] * math.log1p(where.pieces) / largest * (where.language != CHAT)
            known = sum(boosts[name] * value for name, value in signals(where, words, plan.wants_tests).items())
            judged = (
                _feedback(where) + own * _about_another(where, plan) + _RECENT * recency(where.modified, last)
                if where.language == MEMORY
                else _judged(where.uri, old, plan)
            )
            extra[where.uri] = known + size + _commit(where, newest) + judged
        raised.append(
            Candidate(
                candidate.chunk, candidate.arms, candidate.score + extra[where.uri] + _PLACE * candidate.arms.get("place", 0.0)
            )
        )
    saved = {one.chunk: where.modified for one, where in zip(raised, about, strict=True) if where.language == MEMORY}
    return sorted(raised, key=lambda one: (-one.score, -saved.get(one.chunk, 0), one.chunk))


def recency(modified: int, last: int) -> float:
    """Return how recent a memory is: 1 for the one told last, half for one a season older. Hours do not count."""
    return math.exp2((modified - last) // _DAY * _DAY / _SEASON)


def _judged(uri: str, old: Collection[str], plan: Plan) -> float:
    """Boost by properties too rare for the regression: generated, of an older version, or named in the question."""
    return _GENERATED * is_generated(uri) + _OLDER * (uri in old) + _NAMED_FILE * named(uri, plan.paths)


def _commit(where: About, newest: int) -> float:
    """Raise commits, the newest most. They are candidates only for questions about the past."""
    if where.language != COMMIT:
        return 0.0
    return _PAST + _LATEST * math.exp2((where.modified - newest) / _MONTH)


def _about_another(where: About, plan: Plan) -> float:
    """Lower a fact about a person the question does not name."""
    return _OTHER_PERSON * (bool(where.whose) and where.whose.casefold() not in plan.text.casefold())


def _feedback(where: About) -> float:
    """Boost a memory by its pin and its feedback."""
    return _PINNED * where.pinned + _FEEDBACK * max(-3, min(3, where.feedback))


def named(uri: str, paths: Sequence[str]) -> bool:
    """Return whether any of the paths in a question names this file."""
    return any(names_file(path, uri) for path in paths)


def rarity(uris: Collection[str], words: Collection[str]) -> dict[str, float]:
    """Return how rare each word is among the names of some files: near 0 if all have it, 1 if none."""
    counts = Counter(term for uri in uris for term in _stem_words(uri))
    most = math.log1p(len(uris)) or 1.0
    return {word: min(1.0, math.log1p(len(uris) / (1 + counts[word])) / most) for word in words}


def signals(where: About, words: Mapping[str, float], wants_tests: bool) -> dict[str, float]:
    """Return features of a file known without its text, each between -1 and 1; none for memories and chats.

    `words` maps the words of the question to their rarity: a word in every second file name says little.
    """
    if where.language in (MEMORY, CHAT):
        return {}
    stem = _stem_words(where.uri)
    rarest = max((words[term] for term in stem if term in words), default=0.0)
    share = sum(term in words for term in stem) / max(1, len(stem))
    return {
        "stem": share,
        "whole stem": float(share == 1),
        "rare stem": rarest * share,
        "depth": -where.uri.count("/") / 5,
        "test": 0.0 if wants_tests else float(is_test(where.uri)),
        "example": 0.0 if wants_tests else float(is_example(where.uri)),
        "prose": float(where.language in PROSE),
        "data": float(is_data(where.language)),
    }


@lru_cache(maxsize=1 << 15)
def _stem_words(uri: str) -> frozenset[str]:
    terms = split(stem_of(uri))
    return frozenset(terms[1:] if len(terms) > 2 else terms)
