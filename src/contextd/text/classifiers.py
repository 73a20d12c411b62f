"""Guesses learned from examples: what kind of fact a text is, what a person does by saying it, what it is about.

A softmax regression on the vector of a text and on its words, one for each tier of vectors. The weights are made from the
examples in `benchmarks/examples` by `python -m benchmarks.guesses --learn`; the benchmarks page tells how often they are
right on items that were written without sight of them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"[\w']+|[€$£:?>=]")
_TIERS = ("deep", "static")
_TOGETHER = frozenset({"act"})  # what somebody does by saying something, the tiers know better together than either


class Guess(NamedTuple):
    """A label, and how likely it is right."""

    label: str
    confidence: float


class Learned(NamedTuple):
    """The weights of one guess in one tier: rows for the vector, for each known word, and a last one for the bias."""

    labels: tuple[str, ...]
    words: Mapping[str, int]
    weights: NDArray[np.float32]


def guess(what: str, text: str, vectors: Mapping[str, NDArray[np.float32]]) -> Guess | None:
    """The most likely label of a text, by the best tier it has a vector in, or by all where that is better."""
    spaces = [space for tier in _TIERS for space in vectors if space.startswith(f"{tier}/")]
    if not spaces:
        return None
    used = spaces if what in _TOGETHER else spaces[:1]
    likely = np.mean([likelihoods(what, [text], space, vectors[space].reshape(1, -1))[0] for space in used], axis=0)
    best = int(likely.argmax())
    return Guess(learned(f"{what}-{used[0].split('/')[0]}").labels[best], float(likely[best]))


def likelihoods(what: str, texts: Sequence[str], space: str, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """How likely each label of a guess is, a row for each text by its vector."""
    model = learned(f"{what}-{space.split('/')[0]}")
    size = len(model.weights) - len(model.words) - 1
    scores = (vectors @ model.weights[:size]).astype(np.float64) + model.weights[-1]
    for row, text in enumerate(texts):
        known = [size + model.words[gram] for gram in grams(text) if gram in model.words]
        scores[row] += model.weights[known].sum(axis=0)
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def grams(text: str) -> set[str]:
    """The words of a text and its pairs of words; `^` and `$` are its ends, `#` is any number."""
    words = ["^", *("#" if word.isdigit() else word for word in _TOKEN.findall(text.lower())), "$"]
    return {*words[1:], *(f"{first} {second}" for first, second in pairwise(words))}


@lru_cache
def learned(name: str) -> Learned:
    """Weights that come with the package."""
    data = files("contextd.text").joinpath("learned", f"{name}.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        words = {str(word): place for place, word in enumerate(stored["words"])}
        return Learned(tuple(str(label) for label in stored["labels"]), words, stored["weights"].astype(np.float32))
