"""Match a text to the person's topics: by words of the topic's name, or by meaning."""

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
_NEAR = 0.42  # cosine to a topic's name or one of its keywords
_BESIDE = 0.9  # times the best cosine: other topics above this count, too

# The initial topics, each with keywords. A person's own topics have only their names.
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
        """Return at most `most` topics, nearest first; none if none is near. `vector` is the text's vector, if there is one."""
        if not self.topics:
            return ()
        words = set(split(text))
        names = tuple(topic.name for topic in self.topics)
        spelled = _spelled(names)
        named = [name for name, (own, _) in zip(names, spelled, strict=True) if own <= words]
        mentioned = [name for name, (_, about) in zip(names, spelled, strict=True) if words & about]
        return tuple(dict.fromkeys([*named, *mentioned, *self._near(text, vector)]))[:most]

    def _near(self, text: str, vector: Vector | None) -> list[str]:
        """Return topics by the nearest of their keywords; none if the model is unavailable, which the trace shows."""
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


@lru_cache(maxsize=256)  # one set of topics per person who defined their own
def _spelled(names: tuple[str, ...]) -> list[tuple[set[str], set[str]]]:
    """Return the words of each topic's name, and its keywords."""
    return [(set(split(name)), set(split(STARTING.get(name, "")))) for name in names]


@lru_cache(maxsize=1 << 12)  # topics of all people, mostly the same: 10 kB each
def _embedded(words: tuple[str, ...], static: Embedder) -> Matrix:
    return static.documents(words)


def _words(topic: Topic) -> tuple[str, ...]:
    return topic.name, *STARTING.get(topic.name, "").split()
