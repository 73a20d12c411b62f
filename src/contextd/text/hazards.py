"""Which hazards a fact warns of and a question touches, in six languages: eating, medicines, heights, animals, the lease, …

A limit must be respected if the question touches one of its hazards: "Which wall plug for the curtain rail?" touches heights
and the lease, not nuts. Each side is a logistic regression for every hazard on the words of a text, parts of its words, its
concepts and classes of its words, learned from labelled sentences (`python -m benchmarks.hazards --learn`).
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.limit_words import classes_of
from contextd.text.thesaurus import concepts_of, widened

Float = NDArray[np.float64]

HAZARDS = tuple(
    "eat alcohol drug exert walk water height space fly ride drive animal air skin noise heat scare see hear kit care "
    "faith home law time money_food money_home money_gift money_travel money_other".split()
)
_OF_MONEY = 0.3  # probability from which a fact limits money, if nothing else is more likely
_MONEY = np.array([name.startswith("money") for name in HAZARDS])
CONCEPTS, WORDS = 1.0, 4.0  # values of the marks of a text: each concept, and all words together (by the root of their number)
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_PARTS, _CHARACTERS = (3, 4, 5), (1, 2, 3)  # lengths of parts of words, and of parts of text without spaces


class HazardWeights(NamedTuple):
    """The weights of facts or of questions: a row for each mark, a column for each hazard."""

    marks: Mapping[str, int]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]


def hazard_log_odds(question: str, facts: Sequence[str]) -> Float:
    """Return the log-odds that a question touches a hazard of each fact."""
    asked, warned = _of_question(question), np.array([_of_fact(fact) for fact in facts]).reshape(-1, len(HAZARDS))
    none = np.prod(1 - asked * warned, axis=1)
    return np.asarray(np.log1p(-np.minimum(none, 1 - 1e-9)) - np.log(np.maximum(none, 1e-9)))


def warns(fact: str) -> float:
    """Return the probability that a fact warns of any hazard."""
    return float(1 - np.prod(1 - _of_fact(fact)))


def is_of_money(fact: str) -> bool:
    """Return whether a fact limits money rather than anything else."""
    likely = _of_fact(fact)
    return bool(likely[_MONEY].max() >= max(_OF_MONEY, likely[~_MONEY].max()))


@lru_cache(maxsize=1 << 11)  # the limits of a person are compared with every question
def _of_fact(text: str) -> Float:
    return _likely(_sides()["fact"], text)


@lru_cache(maxsize=1 << 7)
def _of_question(text: str) -> Float:
    return _likely(_sides()["question"], text)


def _likely(side: HazardWeights, text: str) -> Float:
    places, values = known_marks(side.marks, text)
    odds = (side.weights[places] * np.array(values, np.float32)[:, None]).sum(axis=0) + side.bias
    return np.asarray(1 / (1 + np.exp(-odds.astype(np.float64))))


def known_marks(marks: Mapping[str, int], text: str) -> tuple[list[int], list[float]]:
    """Return the places and values of the marks of a text that are known."""
    words, concepts = words_of(text), concept_marks(text)
    share = WORDS / max(1, len(words)) ** 0.5
    found = [(marks[one], share) for one in words if one in marks] + [
        (marks[one], CONCEPTS) for one in concepts if one in marks
    ]
    return [place for place, _ in found], [value for _, value in found]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, pairs and parts of them. Every number is the same word."""
    words = [_NUMBER.sub("0", word) for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())]
    found = {f"{one} {two}" for one, two in pairwise(words)}
    for word in words:
        if _UNSPACED.search(word):
            found.update(_cut(word, _CHARACTERS))
        else:
            found.add(f"{word} ")
            found.update(_cut(f"<{word}>", _PARTS))
    return frozenset(found)


def concept_marks(text: str) -> frozenset[str]:
    """Return the concepts of a text, the broader ones, and the classes of its words."""
    own = concepts_of(text)
    return frozenset(
        (*(f":{one}" for one in own), *(f"::{one}" for one in widened(own) - own), *(f"#{one}" for one in classes_of(text)))
    )


def _cut(word: str, lengths: Sequence[int]) -> set[str]:
    return {word[at : at + length] for length in lengths for at in range(len(word) - length + 1)}


@lru_cache
def _sides() -> Mapping[str, HazardWeights]:
    """Load the weights that come with the package: 8-bit numbers with a factor for each hazard."""
    data = files("contextd.text").joinpath("learned", "hazards.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {
            side: HazardWeights(
                {mark: place for place, mark in enumerate(str(stored[f"{side}_marks"]).split("\n"))},
                stored[f"{side}_weights"].astype(np.float32) * stored[f"{side}_scale"],
                stored[f"{side}_bias"],
            )
            for side in ("fact", "question")
        }
