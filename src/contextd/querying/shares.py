"""How much each built-in retriever counts: a factor on the fitted weights of its arms, 0 for one that is switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contextd.values.query import Plan

SEMANTIC, SYMBOL, FULL_TEXT, GIT_HISTORY = "semantic", "symbol", "full_text", "git_history"
# A weight stands beside its default: twice the default counts double.
DEFAULTS = {SEMANTIC: 0.6, SYMBOL: 0.3, FULL_TEXT: 0.1, GIT_HISTORY: 0.2}
_ARMS = {
    SEMANTIC: ("static", "deep", "pair", "vector_company"),
    SYMBOL: ("name", "defined"),
    FULL_TEXT: ("chunk", "chunk_coverage", "document", "document_coverage", "words_company", "parts"),
    GIT_HISTORY: ("history",),
}

Shares = Mapping[str, float]  # by retriever; one that is missing counts as fitted


def shares_of(providers: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The shares that tables of settings mean."""
    return {
        name: float(providers[name].get("weight", usual)) / usual if providers[name].get("enabled", True) else 0.0
        for name, usual in DEFAULTS.items()
        if name in providers
    }


def by_arm(shares: Shares) -> dict[str, float]:
    """The same by arm."""
    return {arm: share for name, share in shares.items() for arm in _ARMS[name]}


def is_off(shares: Shares, name: str) -> bool:
    """Whether a retriever is not asked at all."""
    return shares.get(name, 1.0) == 0


def narrowed(plan: Plan, shares: Shares) -> Plan:
    """A plan that asks for nothing of the retrievers that are off."""
    if is_off(shares, SYMBOL):
        plan = replace(plan, names=(), route="words" if plan.route == "symbol" else plan.route)
    return plan
