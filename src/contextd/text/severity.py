"""How likely a fact is a hard limit, rather than a taste, a habit or a measure.

"Swimming on Tuesdays" and "I can't swim" share their words. The words of a fact tell what it warns of (`hazards.py`); in
English, a logistic regression on its vector in the space for facts tells as much, and both together tell more (`python -m
benchmarks.hazards --learn`).
"""

from __future__ import annotations

from collections.abc import Sequence

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
    by_words = np.array([max(warns(fact), _BY_RULES if limit_domains(fact) else 0.0) for fact in facts])
    odds = np.log(by_words + _LEAST) - np.log(1 - by_words + _LEAST) + _WORDS_ALONE
    there = [place for place, fact in enumerate(facts) if vectors[place].any() and may_be_english(fact)]
    if there:
        weights = learned("limit-facts").weights[:, 0]
        odds[there] = (odds[there] - _WORDS_ALONE + vectors[there] @ weights[:-1] + weights[-1]) / 2
    return np.asarray(1 / (1 + np.exp(-odds)))
