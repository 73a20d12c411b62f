"""How likely a fact is a hard limit, rather than a taste, a habit or a measure.

"Swimming on Tuesdays" and "I can't swim" share their words. The words of a fact tell what it warns of (`hazards.py`); in
English, a logistic regression on its vector in the space for facts tells as much, and both together tell more (`python -m
benchmarks.hazards --learn`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import learned
from contextd.text.hard_limits import limit_domains
from contextd.text.hazards import warns
from contextd.text.natural_language import may_be_english

Float = NDArray[np.float64]

LIMIT, SEVERE = 0.45, 0.8  # from which a fact is a hard limit, and from which it surely is one
_BY_RULES = 0.6  # at least, if the rules recognize a limit
_WORDS_ALONE = 0.33  # added to log-odds where words alone tell: rather too many limits than too few
_LEAST = 1e-6  # of a probability whose log-odds are taken


def severities(facts: Sequence[str], vectors: NDArray[np.float32]) -> Float:
    """Return the probability that each fact is a hard limit. `vectors` are those for facts; a row of zeros is a missing one."""
    known = [_by_words(fact) for fact in facts]
    by_words = np.array([likely for likely, _ in known])
    of_words = np.log(by_words + _LEAST) - np.log(1 - by_words + _LEAST)
    odds = of_words + _WORDS_ALONE
    there = [place for place, (_, english) in enumerate(known) if english and vectors[place].any()]
    if there:
        weights = learned("limit-facts").weights[:, 0]
        odds[there] = (of_words[there] + vectors[there] @ weights[:-1] + weights[-1]) / 2
    return np.asarray(1 / (1 + np.exp(-odds)))


@lru_cache(maxsize=1 << 11)  # the limits of a person are compared with every question
def _by_words(fact: str) -> tuple[float, bool]:
    """Return the probability that a fact is a hard limit by its words, and whether it may be in English."""
    return max(warns(fact), _BY_RULES if limit_domains(fact) else 0.0), may_be_english(fact)
