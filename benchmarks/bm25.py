"""The baseline: plain BM25 over whole texts, with the same tokenizer and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from contextd.querying.understand import STOP
from contextd.text.terms import split

_K1, _B = 1.2, 0.75


class Bm25:
    """Okapi BM25 in memory."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._counts = {name: Counter(split(text)) for name, text in texts.items()}
        self._lengths = {name: sum(counts.values()) for name, counts in self._counts.items()}
        self._average = sum(self._lengths.values()) / max(1, len(self._lengths))
        self._postings: dict[str, list[str]] = {}
        for name, counts in self._counts.items():
            for term in counts:
                self._postings.setdefault(term, []).append(name)

    def search(self, question: str, k: int) -> list[str]:
        """The names of the k best texts."""
        scores: Counter[str] = Counter()
        words = " ".join(word for word in question.split() if word.lower() not in STOP) or question
        for term in set(split(words)):
            found = self._postings.get(term, [])
            idf = math.log1p((len(self._counts) - len(found) + 0.5) / (len(found) + 0.5))
            for name in found:
                times = self._counts[name][term]
                norm = _K1 * (1 - _B + _B * self._lengths[name] / self._average)
                scores[name] += idf * times * (_K1 + 1) / (times + norm)  # type: ignore[assignment]
        return [name for name, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]]
