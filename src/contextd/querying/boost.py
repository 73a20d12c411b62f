"""Raise and sink candidates by what is known of their files: names that fit, their place, tests, prose, generated code."""

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

# In the same unit as the weights of `fuse`, and from the same regression; examples are rare there, theirs is a judgment.
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
_GENERATED = -1.5  # not in the benchmark; the same kind of thing as a test
_OLDER = -1.5  # v1/ beside v2/: as little what one works on as the above
_PAST = 2.0  # commits come in only where the question is about the past: a judgment
_LATEST = 1.5  # for the latest of them; half of it a month earlier
_MONTH = 30 * 86_400_000_000  # microseconds
_PINNED = 1.5  # the person said so: as much as the best file name
_FEEDBACK = 0.3  # for each time a memory was called useful, up to three times; less for useless
_OF_OTHERS = -2.0  # who asks for their own ("where do I live") means nobody else: a judgment
_OWN = re.compile(r"\b(?:i|my|me|mine|ich|mein\w*|mir|mich|je|j|mon|ma|mes|moi|yo|mi|mis)\b|[我私]", re.IGNORECASE)
_ROUTES = {"symbol": "symbol", "path": "symbol", "report": "report"}


def boost(candidates: Sequence[Candidate], about: Sequence[About], plan: Plan) -> list[Candidate]:
    """The candidates in their new order; of memories that are equal the one told last is first."""
    boosts, words = (
        _BOOSTS[_ROUTES.get(plan.route, "words")],
        rarity({where.uri for where in about}, (*plan.terms, *plan.families)),
    )
    largest = math.log1p(max((where.pieces for where in about), default=1))
    newest = max((where.modified for where in about if where.language == COMMIT), default=0)
    own = bool(_OWN.search(plan.text))
    old = superseded({where.uri for where in about}, plan.terms)
    extra: dict[str, float] = {}
    raised = []
    for candidate, where in zip(candidates, about, strict=True):
        if where.uri not in extra:
            size = boosts["size"] * math.log1p(where.pieces) / largest
            known = sum(boosts[name] * value for name, value in signals(where, words, plan.wants_tests).items())
            judged = (
                _told(where) + own * _of_another(where, plan) if where.language == MEMORY else _judged(where.uri, old, plan)
            )
            extra[where.uri] = known + size + _commit(where, newest) + judged
        raised.append(
            Candidate(
                candidate.chunk, candidate.arms, candidate.score + extra[where.uri] + _PLACE * candidate.arms.get("place", 0.0)
            )
        )
    told = {one.chunk: where.modified for one, where in zip(raised, about, strict=True) if where.language == MEMORY}
    return sorted(raised, key=lambda one: (-one.score, -told.get(one.chunk, 0), one.chunk))


def _judged(uri: str, old: Collection[str], plan: Plan) -> float:
    """What no regression has seen enough of: made by a program, of an older version, or asked for by its name."""
    return _GENERATED * is_generated(uri) + _OLDER * (uri in old) + _NAMED_FILE * named(uri, plan.paths)


def _commit(where: About, newest: int) -> float:
    """A question about the past is answered by commits, the latest of them first."""
    if where.language != COMMIT:
        return 0.0
    return _PAST + _LATEST * math.exp2((where.modified - newest) / _MONTH)


def _of_another(where: About, plan: Plan) -> float:
    """Less for a fact about somebody the question does not name."""
    return _OF_OTHERS * (bool(where.whose) and where.whose.casefold() not in plan.text.casefold())


def _told(where: About) -> float:
    """What the person said of a memory: pinned, useful or not."""
    return _PINNED * where.pinned + _FEEDBACK * max(-3, min(3, where.feedback))


def named(uri: str, paths: Sequence[str]) -> bool:
    """Whether a question that names some paths names this file."""
    return any(names_file(path, uri) for path in paths)


def rarity(uris: Collection[str], words: Collection[str]) -> dict[str, float]:
    """How rare each word of a question is among the names of some files: near 0 in all of them, 1 in none."""
    counts = Counter(term for uri in uris for term in _stem_words(uri))
    most = math.log1p(len(uris)) or 1.0
    return {word: min(1.0, math.log1p(len(uris) / (1 + counts[word])) / most) for word in words}


def signals(where: About, words: Mapping[str, float], wants_tests: bool) -> dict[str, float]:
    """What is known of a file without its text, each between -1 and 1; memories and chats have no path that would tell.

    `words` are those of the question with their rarity: a word that stands in every second file name says little.
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
