"""How likely a new fact overtakes an older one: "Groceries got dearer, we budget 165 € now", and it was "140 € for food".

Few changes are told in the words of the old fact, so rules (`text/changes.py`) recognize some of them. A logistic regression
recognizes more: on how near the two facts are beside all others, whether they are about the same person, a few words, and what
the new fact is as a whole, by the vector of the tagger. It knows English (`python -m benchmarks.overtaken`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextd.text.changes import change_of, says_more, speaks_of, telling
from contextd.text.classifiers import learned
from contextd.values.memory import Memory

Vectors = Mapping[str, NDArray[np.float32]]
Float = NDArray[np.float64]

# How near two facts are is measured in each of these spaces. The cosines are usual ones of facts that have nothing to do with
# each other: beside them, the first fact of a person stands out as little as among many.
SPACES = {
    "deep": (0.68, 0.71, 0.73, 0.75, 0.77), "facts": (0.09, 0.15, 0.2, 0.26, 0.34), "static": (-0.02, 0.03, 0.07, 0.11, 0.17)
}  # fmt: skip
COMPARED = 12  # older facts that are compared, the nearest ones
SHOWN = 0.5  # probability from which a fact is shown as contradicted
WHOLE = 6.0  # weight of the vector of the tagger, whose length is one
_ADDS = re.compile(r"\b(?:also|too|another|second|both|besides|extra|as well)\b", re.IGNORECASE)
_UNSURE = re.compile(r"\b(?:might|maybe|thinking|considering|perhaps|probably|could)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d")
_LENGTH, _LONGEST = 10, 5.0  # words that count as one, and how many of them at most


_NONE = np.zeros(0, np.float32)


class Told(NamedTuple):
    """A fact with its vectors, one for each space; the new one also has that of the tagger."""

    memory: Memory
    vectors: Vectors
    whole: NDArray[np.float32] = _NONE


def overtaken(new: Told, olds: Sequence[Told]) -> list[str]:
    """Return the ids of the older facts that the new one may overtake, of those with vectors in the same spaces."""
    spaces = _spaces(new)
    olds = [old for old in olds if all(_shape(old, space) == _shape(new, space) for space in spaces)]
    if not olds or not len(new.whole) or set(spaces.values()) != SPACES.keys():
        return []
    nearest, rows = evidence(new, olds)
    weights = learned("overtaken").weights[:, 0]
    likely = 1 / (1 + np.exp(-np.clip(rows @ weights[:-1] + weights[-1], -30, 30)))
    return [olds[place].memory.id for place, one in zip(nearest, likely, strict=True) if one >= SHOWN]


def evidence(new: Told, olds: Sequence[Told]) -> tuple[list[int], Float]:
    """Return the places of the nearest older facts, and what tells whether the new one overtakes each of them, as rows."""
    spaces = {kind: space for space, kind in _spaces(new).items()}
    near = np.stack(
        [_near(new.vectors[spaces[kind]], [old.vectors[spaces[kind]] for old in olds], usual) for kind, usual in SPACES.items()]
    )
    cosines = near[list(SPACES).index("facts"), :, 0]
    nearest = np.argsort(-cosines, kind="stable")[:COMPARED].tolist()
    change, words = change_of(new.memory.text), telling(new.memory.text, new.memory.text)
    said = [bool(pattern.search(new.memory.text)) for pattern in (_ADDS, _UNSURE)]
    rows = []
    for place in nearest:
        old = olds[place].memory
        numbers = [bool(_NUMBER.search(one.text)) for one in (old, new.memory)]
        own = telling(old.text, old.text)
        owners = (old.about == new.memory.about, bool(old.about), bool(new.memory.about))
        is_about = change is not None and bool(change.thing) and speaks_of(change.thing, old.text)
        lengths = [min(_LONGEST, len(one.text.split()) / _LENGTH) for one in (old, new.memory)]
        rows.append(
            [*near[:, place].ravel(), len(own & words) / max(1, len(own)), *numbers, all(numbers), *owners, all(owners),
             change is not None, is_about, *said, says_more(old.text), *lengths]
        )  # fmt: skip
    whole = np.tile(WHOLE * new.whole.astype(np.float64), (len(rows), 1))
    return nearest, np.hstack([np.array(rows, float), whole])


def _near(new: NDArray[np.float32], olds: Sequence[NDArray[np.float32]], usual: Sequence[float]) -> Float:
    """Return for each older fact its cosine to the new one, its lead over the best other, and its standing among all."""
    cosines = np.stack(olds).astype(np.float64) @ new.astype(np.float64)
    among = np.sort([*cosines, *usual])[::-1]
    lead = cosines - np.where(cosines == among[0], among[1], among[0])
    return np.stack([cosines, lead, (cosines - among.mean()) / among.std()], axis=1)


def _shape(one: Told, space: str) -> tuple[int, ...]:
    return one.vectors[space].shape if space in one.vectors else ()


def _spaces(one: Told) -> dict[str, str]:
    """Return the kind of each space that a fact has a vector in. Vectors of two models are never compared."""
    return {space: kind for space in one.vectors if (kind := space.split("/")[0]) in SPACES}
