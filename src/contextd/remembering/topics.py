"""Which of a person's own topics a text belongs to: by the words of the topic's name, or by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.ports.world import Embedder, Matrix
from contextd.text.terms import split
from contextd.values.memory import Topic

Vector = NDArray[np.float32]

MOST = 3
_NEAR = 0.42  # cosine to the name of a topic with what it is about
_BESIDE = 0.9  # of the nearest, to count as well

# The small starting set, each with what it is about; a person's own have their names.
STARTING = {
    "Fashion": "clothes shoes sneakers style outfit brand size fit color",
    "Nutrition": "food diet cooking recipe restaurant allergy eating drink coffee meal cuisine",
    "Fitness": "sport workout running gym training exercise cycling swimming",
    "Health": "doctor medication illness sleep allergy therapy body weight",
    "Travel": "trip flight hotel vacation city holiday train luggage",
    "Home": "house apartment rent furniture garden kitchen household",
    "Work": "job project team meeting office deadline colleague career",
    "Technology": "software programming computer laptop phone database server code",
    "Finance": "money budget salary savings bank insurance tax price",
    "Family": "family children parents partner birthday wife husband pet dog cat",
    "Leisure": "hobby music film book game concert art reading",
    "Learning": "learning course language study school exam university",
}


@dataclass(frozen=True, slots=True)
class Routing:
    """The topics of a person, ready to be compared with texts."""

    topics: Sequence[Topic]
    static: Embedder | None

    def topics_of(self, text: str, vector: Vector | None = None, most: int = MOST) -> tuple[str, ...]:
        """At most so many topics, the nearest first; none where none is near. `vector` is the text's, if there is one."""
        if not self.topics:
            return ()
        words = set(split(text))
        names = tuple(topic.name for topic in self.topics)
        spelled = _spelled(names)
        named = [name for name, (own, _) in zip(names, spelled, strict=True) if own <= words]
        spoken_of = [name for name, (_, about) in zip(names, spelled, strict=True) if words & about]
        return tuple(dict.fromkeys([*named, *spoken_of, *self._near(text, vector)]))[:most]

    def _near(self, text: str, vector: Vector | None) -> list[str]:
        """Topics by the nearest of the words they are about; none without a model that answers, which the trace tells."""
        if self.static is None:
            return []
        about = [_words(topic) for topic in self.topics]
        try:
            matrix = np.vstack([_embedded(words, self.static) for words in about])  # type: ignore[arg-type]
            cosines = matrix @ (self.static.documents([text])[0] if vector is None else vector)
        except Unavailable:
            return []
        best = np.full(len(self.topics), -1.0)
        np.maximum.at(best, [place for place, words in enumerate(about) for _ in words], cosines)
        order = np.argsort(-best)
        least = max(_NEAR, _BESIDE * float(best[order[0]]))
        return [self.topics[place].name for place in order.tolist() if best[place] >= least]


@lru_cache(maxsize=256)  # sets of topics, one for each person who has some of their own
def _spelled(names: tuple[str, ...]) -> list[tuple[set[str], set[str]]]:
    """The words of each topic's name, and of what it is about."""
    return [(set(split(name)), set(split(STARTING.get(name, "")))) for name in names]


@lru_cache(maxsize=1 << 12)  # topics of all people, most of which are the same: 10 kB each
def _embedded(words: tuple[str, ...], static: Embedder) -> Matrix:
    return static.documents(words)


def _words(topic: Topic) -> tuple[str, ...]:
    return topic.name, *STARTING.get(topic.name, "").split()
