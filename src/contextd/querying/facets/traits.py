"""What facts are about: their aspects of life, their kinds, and the concepts that they share with a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import likelihoods
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.memory import KINDS

Float = NDArray[np.float64]

# Concepts that facts about anything share.
_GENERAL = frozenset(
    "like_favourite dislike_hate frequency_always_never habits date_year weekday_week clock_time goals_plans today_tomorrow "
    "decision_choice help_support quality_best_worst change_start_stop weekend morning evening night afternoon_noon monday "
    "tuesday wednesday thursday friday saturday sunday name hobby_leisure opinion number_lucky".split()
)

_BUDGET = "budget_"  # before the thing, in the attribute of a fact
_SIZE = "_size"  # after the thing
_WORN = {"shoes": {"shoes"}, "jewelry_watch": {"jewelry_watch"}, "clothes": {"clothes", "shoes"}}  # what else has a size for it
_MONEY = frozenset("budget price_cost money_bank".split())


class Traits(NamedTuple):
    """The probability of each aspect, one row per fact, and the kinds of the facts."""

    aspects: Float
    kinds: Sequence[str]


def traits_of(texts: Sequence[str], kinds: Sequence[str], space: str, vectors: NDArray[np.float32]) -> Traits:
    """Return the traits of some facts, by their vectors in a space."""
    return Traits(likelihoods("aspect", texts, space, vectors), kinds)


def columns_of(traits: Traits) -> Float:
    """Return the features of traits: aspects, kinds and a constant."""
    kinds = np.array([[kind == known for known in KINDS] for kind in traits.kinds], float).reshape(-1, len(KINDS))
    return np.hstack([3 * traits.aspects, kinds, np.ones((len(kinds), 1))])


def shared_concepts(question: str, texts: Sequence[str]) -> Float:
    """Return how many concepts facts share with a question, per concept asked: sneakers are shoes, shoes are clothes."""
    asked = concepts_of(question) - _GENERAL
    wide = widened(asked) - _GENERAL
    return np.array([_share(concepts_of(text) - _GENERAL, asked, wide) for text in texts], float)


def _share(own: frozenset[str], asked: frozenset[str], wide: frozenset[str]) -> float:
    exact = len(own & asked) / math.sqrt(max(1, len(asked)))
    broad = len((widened(own) - _GENERAL) & wide) / math.sqrt(max(1, len(wide)))
    return exact + broad


def is_elsewhere(label: str, question: str, *, of_others: bool) -> bool:
    """Whether a fact is a budget or a size for other things than the question names, or a size of other people."""
    size = of_others and label.endswith(_SIZE)
    return size or is_budget_elsewhere(label, question) or _is_size_elsewhere(label, question)


def _is_size_elsewhere(label: str, question: str) -> bool:
    own = concepts_of(label.removesuffix(_SIZE).replace("_", " ")) & _WORN.keys() if label.endswith(_SIZE) else frozenset[str]()
    asked = concepts_of(question) & _WORN.keys()
    return bool(own and asked) and not any(own & _WORN[one] for one in asked)


def is_budget_elsewhere(label: str, question: str) -> bool:
    """Whether a fact is a budget for other things than the question names: groceries, if it asks for sneakers."""
    thing = concepts_of(label.removeprefix(_BUDGET).replace("_", " ")) if label.startswith(_BUDGET) else frozenset[str]()
    own, asked = (widened(concepts) - _GENERAL - _MONEY for concepts in (thing, concepts_of(question)))
    return bool(own and asked and not own & asked)
