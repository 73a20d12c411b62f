"""Weights of the built-in retrievers: a factor on the fitted weights of their arms; 0 is off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from contextd.values.query import VECTOR_ONLY, Plan

SEMANTIC, SYMBOL, FULL_TEXT, GIT_HISTORY = "semantic", "symbol", "full_text", "git_history"
# A configured weight is divided by its default: twice the default counts double.
DEFAULTS = {SEMANTIC: 0.6, SYMBOL: 0.3, FULL_TEXT: 0.1, GIT_HISTORY: 0.2}
_ARMS = {
    SEMANTIC: ("static", "deep", "pair", "vector_company"),
    SYMBOL: ("name", "defined"),
    FULL_TEXT: ("chunk", "chunk_coverage", "document", "document_coverage", "words_company", "parts"),
    GIT_HISTORY: ("history",),
}

_OF_PATHS = ("stem", "folder")
_RETRIEVERS = {arm: name for name, arms in _ARMS.items() for arm in arms}
_RETRIEVERS |= {"stem": "path", "folder": "path", "place": "path", "during": "time", "mention": "entity"}

Shares = Mapping[str, float]  # by retriever; a missing one has the factor 1


def shares_of(providers: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the shares for the provider tables of the settings."""
    return {
        name: float(providers[name].get("weight", usual)) / usual if providers[name].get("enabled", True) else 0.0
        for name, usual in DEFAULTS.items()
        if name in providers
    }


def by_arm(shares: Shares) -> dict[str, float]:
    """Return the shares by arm."""
    return {arm: share for name, share in shares.items() for arm in _ARMS[name]}


def weighed(shares: Shares, plan: Plan, *, vectors: bool) -> dict[str, float]:
    """Return the factor of each arm for a plan. Without vectors, words are searched whatever the plan wants."""
    if not vectors:
        return by_arm(shares)
    if plan.strategy == VECTOR_ONLY:
        return {**by_arm({**shares, FULL_TEXT: 0.0, SYMBOL: 0.0}), **dict.fromkeys(_OF_PATHS, 0.0)}
    if plan.wanted_ratio is None:
        return by_arm(shares)
    factors = {SEMANTIC: plan.ratio / plan.usual_ratio, FULL_TEXT: (1 - plan.ratio) / (1 - plan.usual_ratio)}
    return by_arm({**shares, **{name: shares.get(name, 1.0) * factor for name, factor in factors.items()}})


def is_off(shares: Shares, name: str) -> bool:
    """Return whether a retriever is disabled."""
    return shares.get(name, 1.0) == 0


def narrowed(plan: Plan, shares: Shares) -> Plan:
    """Return the plan without the parts that disabled retrievers would answer."""
    if is_off(shares, SYMBOL):
        plan = replace(plan, names=(), route="words" if plan.route == "symbol" else plan.route)
    return plan


def by_retriever(found: Mapping[str, Collection[int]]) -> dict[str, set[int]]:
    """Return documents by retriever, from documents by arm. The arms of a plug-in have its own name."""
    several: dict[str, set[int]] = {}
    for arm, documents in found.items():
        name = _RETRIEVERS.get(arm.split("/")[0].split(" ")[0], arm)
        several.setdefault(name, set()).update(documents)
    return several
