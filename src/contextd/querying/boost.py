"""Raise and sink candidates by what is known of their files: names that fit, good company, tests and generated code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from contextd.terms import split
from contextd.types import About, Candidate, Plan

STEM_INSIDE = 0.35  # all words of the file's name are in the question
COMPANY = 0.25  # further good chunks of the same file, in all
NAMED_FILE = 3.0  # the question names this file
SINKS: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"(^|/)(tests?|specs?|__tests__|testing|fixtures?|testdata|mocks?)/"), 0.35),
    (re.compile(r"(^|/)(test_[^/]*|[^/]*(_test|_spec|\.test|\.spec|Tests?|Spec))\.\w+$"), 0.35),
    (re.compile(r"(^|/)(examples?|samples?|demos?|benchmarks?|bench|compat|legacy|deprecated|vendor|third_party)/"), 0.5),
    (re.compile(r"(_pb2|\.pb|\.generated|_generated|\.g)\.\w+$|(^|/)generated?/"), 0.4),
    (re.compile(r"\.d\.ts$|\.pyi$"), 0.7),
    (re.compile(r"(^|/)locale/|\.pot?$"), 0.5),
)  # fmt: skip
_ENTRY = re.compile(r"(^|/)(__init__\.py|index\.[jt]sx?|mod\.rs|package-info\.java)$")
ENTRY = 0.85


def boost(candidates: Sequence[Candidate], about: Sequence[About], plan: Plan) -> list[Candidate]:
    """The candidates in their new order."""
    words = frozenset(plan.terms)
    company = _company(candidates)
    raised = []
    for candidate, where in zip(candidates, about, strict=True):
        score = candidate.score + company.get(candidate, 0.0)
        score += STEM_INSIDE * _stem_inside(where.uri, words)
        score *= _sink(where.uri) if not plan.wants_tests else 1.0
        if any(where.uri.endswith(path) or path.endswith("/" + where.uri) for path in plan.paths):
            score += NAMED_FILE
        raised.append(replace(candidate, score=score))
    return sorted(raised, key=lambda one: (-one.score, one.chunk))


def _company(candidates: Sequence[Candidate]) -> dict[Candidate, float]:
    """The best chunk of each file is raised by the share of the others' scores that the file holds."""
    by_file: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_file.setdefault(candidate.chunk.document, []).append(candidate)
    sums = {file: sum(one.score for one in ones[1:6]) for file, ones in by_file.items()}
    most = max(sums.values(), default=0.0) or 1.0
    return {ones[0]: COMPANY * sums[file] / most for file, ones in by_file.items()}


@lru_cache(maxsize=1 << 15)
def _stem_words(uri: str) -> frozenset[str]:
    stem = uri.rpartition("/")[2].split(".")[0]
    terms = split(stem)
    return frozenset(terms[1:] if len(terms) > 2 else terms)


def _stem_inside(uri: str, words: frozenset[str]) -> float:
    stem = _stem_words(uri)
    return len(stem & words) / len(stem) if stem and stem & words else 0.0


@lru_cache(maxsize=1 << 15)
def _sink(uri: str) -> float:
    factor = ENTRY if _ENTRY.search(uri) else 1.0
    for pattern, share in SINKS:
        if pattern.search(uri):
            factor *= share
    return factor
