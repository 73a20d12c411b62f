"""Classifiers learned from examples: the kind of a fact, and the act and subject of a text.

Each is a softmax regression on the vector and the words of a text, one per tier of vectors; for the act also on what the rules
of `wording.py` say. `python -m benchmarks.guesses --learn` learns the weights from `benchmarks/examples`; the benchmarks page
reports the accuracy on items written independently.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.wording import act_of, asks_one_thing, speaks_of_oneself, subject_of

_TOKEN = re.compile(r"[\w']+|[€$£:?>=]")
TAGGER = "tagger"  # the tier of vectors of facts by the tagger
TIERS = ("deep", "static")  # the best first
# The models whose vectors the weights are for.
_FITTED = {TAGGER: "snowflake-arctic-embed-s", "deep": "snowflake-arctic-embed-s", "static": "potion-base-8M"}
_TOGETHER = frozenset({"act"})  # most accurate as the mean of all tiers
RULED = frozenset({"act"})  # also by the rules of `wording.py`
RULE = "rule "  # begins a mark of a rule; no word has a space at this place


class Guess(NamedTuple):
    """A label and its probability."""

    label: str
    confidence: float


class Learned(NamedTuple):
    """The weights of a classifier in one tier: rows for the vector, a row per known word, and the bias as last row."""

    labels: tuple[str, ...]
    words: Mapping[str, int]
    weights: NDArray[np.float32]


def guess(what: str, text: str, vectors: Mapping[str, NDArray[np.float32]]) -> Guess | None:
    """Return the most likely label of a text, by its best tier, or by all tiers if that is better; None without vectors."""
    spaces = fitted(vectors, (TAGGER, *TIERS))
    if not spaces:
        return None
    used = spaces if what in _TOGETHER else spaces[:1]
    likely = np.mean([likelihoods(what, [text], space, vectors[space].reshape(1, -1))[0] for space in used], axis=0)
    best = int(likely.argmax())
    return Guess(learned(f"{what}-{used[0].split('/')[0]}").labels[best], float(likely[best]))


def fitted(spaces: Iterable[str], tiers: Sequence[str] = TIERS) -> list[str]:
    """Return the spaces of the models that the weights were learned with, the best first. Others mean nothing to them."""
    known = list(spaces)
    return [space for tier in tiers for space in known if space.startswith(f"{tier}/{_FITTED[tier]}/")]


def likelihoods(what: str, texts: Sequence[str], space: str, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the probability of each label, one row per text."""
    model = learned(f"{what}-{space.split('/')[0]}")
    size = len(model.weights) - len(model.words) - 1
    scores = (vectors @ model.weights[:size]).astype(np.float64) + model.weights[-1]
    for row, text in enumerate(texts):
        marks = grams(text) | rules(text) if what in RULED else grams(text)
        known = [size + model.words[mark] for mark in marks if mark in model.words]
        scores[row] += model.weights[known].sum(axis=0)
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1 << 11)  # the facts of a person are classified with every question
def grams(text: str) -> frozenset[str]:
    """Return the words and word pairs of a text; `^` and `$` are its ends, `#` is any number."""
    words = ["^", *("#" if word.isdigit() else word for word in _TOKEN.findall(text.lower())), "$"]
    return frozenset((*words[1:], *(f"{first} {second}" for first, second in pairwise(words))))


def rules(text: str) -> set[str]:
    """Return what the rules say of a text, as marks: its act, its subject, whether it is a look-up or about oneself."""
    found = (act_of(text), subject_of(text), f"one {asks_one_thing(text)}", f"own {speaks_of_oneself(text)}")
    return {f"{RULE}{number} {one}" for number, one in enumerate(found)} | {f"{RULE}long {min(len(text.split()) // 3, 5)}"}


@lru_cache
def learned(name: str) -> Learned:
    """Load weights that come with the package."""
    data = files("contextd.text").joinpath("learned", f"{name}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        words = {str(word): place for place, word in enumerate(stored["words"])}
        return Learned(tuple(str(label) for label in stored["labels"]), words, stored["weights"].astype(np.float32))
