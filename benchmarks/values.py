"""Values of facts: how often attribute, value and unit are right, by patterns alone and with what is learned from examples.

`python -m benchmarks.values` judges the shipped weights on tests/remembering/items, by sort of fact; `--folds` judges fresh
weights on examples they were not made from, which is what to develop on; `--learn` makes the weights from the labelled
facts in benchmarks/examples.
"""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import HOME
from benchmarks.guesses import LEARNED, examples, items
from benchmarks.needs import embedders
from contextd.ports.world import Tagger, fact_tagger
from contextd.remembering.attributes import Stated, stated
from contextd.remembering.values import PARTS, Chain, Word, log_shares, marks_of, spoken_for, tagged_by, valued, words_of

_LEAST = 2  # facts a mark must be in
_SMALL = 0.2  # a mark that speaks less for any part is left out: half of them, for half a point
_PENALTY, _RATE, _ROUNDS, _BATCH = 1e-4, 0.02, 14, 32
_NUMBERED = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half|dozen|hundred|thousand|\w+day|january|february|march"
    r"|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)

Float = NDArray[np.float64]
Fact = Mapping[str, Any]
Labelled = tuple[list[list[str]], list[int]]


# Labels


def labelled(fact: Fact) -> Labelled | None:
    """The marks of a fact's words with the part each has in the value; None where the value is not in the text as it is."""
    text = " ".join(fact["text"].split())
    words, lower = words_of(text), text.casefold()
    parts = [0] * len(words)
    if fact.get("attribute"):
        unit, _, period = (fact["unit"] or "").casefold().partition("/")
        value = fact["value"].casefold()
        begins = {"≤": "most", "≥": "least"}.get(value[:1], "value")
        spans = _counted(lower, value) if unit == "times" else _spans(lower, value.lstrip("≤≥ "))
        if not spans or not all(_mark(words, parts, *span, "times" if unit == "times" else begins) for span in spans):
            return None
        if unit and unit != "times":
            places = [match.start() for match in re.finditer(re.escape(unit), lower)]
            if not places:
                return None
            _mark(words, parts, nearest := min(places, key=lambda at: abs(at - spans[0][1])), nearest + len(unit), "unit")
        if period and (at := max(lower.find(period, spans[0][1]), lower.find(period))) >= 0:
            _mark(words, parts, at, at + len(period), "period")
    return marks_of(text, words, stated(text)), parts


def _counted(text: str, count: str) -> list[tuple[int, int]]:
    found = re.search(rf"\b(?:{re.escape(count)}|once|twice|thrice|one|two|three|four|five|six|every|each)\b", text)
    return [found.span()] if found else []


def _spans(text: str, value: str) -> list[tuple[int, int]]:
    """Where a value stands, whole or in parts."""
    spans: list[tuple[int, int]] = []
    for part in [value] if value in text else value.split(", "):
        whole = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)
        start = whole.start() if whole else text.find(part)
        if start < 0:
            return []
        spans.append((start, start + len(part)))
    return spans


def _mark(words: Sequence[Word], parts: list[int], start: int, end: int, part: str) -> bool:
    inside = [place for place, word in enumerate(words) if start <= word.start and word.end <= end and not parts[place]]
    for number, place in enumerate(inside):
        begins = number == 0 or part in ("unit", "period", "times")
        parts[place] = PARTS.index(part if begins else "on")
    return bool(inside)


# Learning


def fitted(known: Sequence[Labelled], seed: int = 0) -> Chain:
    """A conditional random field over the words of facts, by Adam steps on small batches."""
    count = Counter(mark for marks, _ in known for mark in {mark for here in marks for mark in here})
    names = sorted(mark for mark, facts in count.items() if facts >= _LEAST)
    size = len(PARTS)
    chain = Chain(
        {mark: place for place, mark in enumerate(names)},
        *(np.zeros(shape) for shape in ((len(names), size), (size, size), size, size)),
    )
    weights = list(chain[1:])
    means, squares = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    chance, step = np.random.default_rng(seed), 0
    for turn in range(_ROUNDS):
        rate = _RATE * (1 - turn / _ROUNDS) + 1e-4
        order = chance.permutation(len(known))
        for start in range(0, len(order), _BATCH):
            slopes = [np.zeros_like(w) for w in weights]
            for place in order[start : start + _BATCH]:
                _slope(*known[place], chain, slopes)
            slopes = [slope / _BATCH for slope in slopes]
            slopes[0] += _PENALTY * weights[0]
            step += 1
            for w, slope, mean, square in zip(weights, slopes, means, squares, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope**2 - square)
                w -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return chain


def _slope(marks: Sequence[Sequence[str]], parts: Sequence[int], chain: Chain, slopes: Sequence[Float]) -> None:
    """Add the slope of the loss for one fact: what is expected less what is."""
    if not parts:
        return
    scores, last = spoken_for(marks, chain), len(parts) - 1
    ahead, behind = np.empty_like(scores), np.empty_like(scores)
    ahead[0], behind[last] = chain.first + scores[0], chain.last
    for place in range(1, len(parts)):
        ahead[place] = _log_sum(ahead[place - 1][:, None] + chain.steps) + scores[place]
    for place in range(last - 1, -1, -1):
        behind[place] = _log_sum((chain.steps + (scores[place + 1] + behind[place + 1])[None]).T)
    whole = float(_log_sum((ahead[last] + chain.last)[:, None])[0])
    error = np.exp(ahead + behind - whole)
    error[np.arange(len(parts)), parts] -= 1
    for here, wrong in zip(marks, error, strict=True):
        slopes[0][[chain.marks[mark] for mark in set(here) if mark in chain.marks]] += wrong
    for place in range(1, len(parts)):
        pairs = ahead[place - 1][:, None] + chain.steps + (scores[place] + behind[place])[None] - whole
        slopes[1][:] += np.exp(pairs)
        slopes[1][parts[place - 1], parts[place]] -= 1
    slopes[2][:] += error[0]
    slopes[3][:] += error[last]


def _log_sum(values: Float) -> Float:
    most = values.max(axis=0)
    result: Float = most + np.log(np.exp(values - most).sum(axis=0))
    return result


def learn() -> None:
    """Write the weights."""
    known = [one for one in map(labelled, examples("facts")) if one is not None]
    chain = fitted(known)
    told = np.abs(chain.weights).max(axis=1) >= _SMALL
    marks = [mark for mark, place in chain.marks.items() if told[place]]
    parts = {"weights": chain.weights[told], "steps": chain.steps, "first": chain.first, "last": chain.last}
    data = io.BytesIO()
    np.savez_compressed(
        data, marks=np.array("\n".join(marks)), **{name: part.astype(np.float16) for name, part in parts.items()}
    )
    (LEARNED / "values.npz").write_bytes(data.getvalue())
    print(f"learned values: {len(known)} facts, {len(marks)} marks, {len(data.getvalue()) // 1024} kB")


# Judging


def judge(known: Sequence[Fact], guesses: Mapping[str, Callable[[str], Stated]]) -> None:
    """How often value and unit are exactly right, in all and by sort of fact."""
    sorts = {
        "all": [fact for fact in known if fact.get("attribute")],
        "with a number or a day": [fact for fact in known if fact.get("attribute") and _NUMBERED.search(fact["value"])],
        "without": [fact for fact in known if fact.get("attribute") and not _NUMBERED.search(fact["value"])],
    }
    empty = [fact for fact in known if not fact.get("attribute")]
    for name, guess in guesses.items():
        for sort, facts in sorts.items():
            found = [guess(fact["text"]) for fact in facts]
            exact = [_right(got, fact) for got, fact in zip(found, facts, strict=True)]
            named = [_named(got, fact) for got, fact in zip(found, facts, strict=True)]
            both = [value and name_too for value, name_too in zip(exact, named, strict=True)]
            print(
                f"{name}, {sort} ({len(facts)}): found {np.mean([bool(got.value) for got in found]):.3f}, "
                f"value and unit exact {np.mean(exact):.3f}, and the name shares a word {np.mean(both):.3f}"
            )
        filled = sum(bool(guess(fact["text"]).value) for fact in empty)
        print(f"{name}: a value where there is none, {filled} of {len(empty)}")


def _right(got: Stated, fact: Fact) -> bool:
    return _plain(got.value) == _plain(fact["value"]) and _plain(got.unit) == _plain(fact["unit"])


def _named(got: Stated, fact: Fact) -> bool:
    return bool({*got.attribute.split("_"), got.about} & set(fact["attribute"].split("_")))


def _plain(text: str | None) -> str:
    return " ".join((text or "").casefold().split())


def folds() -> None:
    """Fresh weights, judged on the examples they have not seen, with what layers read that have not seen them either."""
    paths = sorted(HOME.glob("read-*.npz"))
    if not paths:
        print("skipped: nothing was read of facts left out; run `python -m benchmarks.fact_tagger`")
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            parts = np.split(log_shares(stored["parts"].astype(np.float64)), stored["ends"][1:-1])
            read = dict(zip(stored["texts"].tolist(), parts, strict=True))
        known = [one for one in examples("facts") if " ".join(one["text"].split()) not in read]
        left = [one for one in examples("facts") if " ".join(one["text"].split()) in read]
        chain = fitted([one for one in map(labelled, known) if one is not None])
        print(f"{path.name}: {len(left)} of {len(known) + len(left)} facts left out", flush=True)
        judge(left, {
            "patterns": stated,
            "with examples": lambda text, chain=chain: valued(text, chain),
            "with the tagger": lambda text, chain=chain, read=read: valued(text, chain, read[" ".join(text.split())]),
        })  # fmt: skip


def _parts_by(tagger: Tagger, text: str) -> NDArray[np.float64] | None:
    found = tagged_by(tagger, text)
    return found.log_parts if found is not None else None


def main() -> None:
    if "--folds" in sys.argv:
        folds()
        return
    if "--learn" in sys.argv:
        learn()
    tagger = fact_tagger(embedders()["deep"])
    guesses: dict[str, Callable[[str], Stated]] = {"patterns": stated, "with examples": valued}
    if tagger is not None:
        guesses["with the tagger"] = lambda text: valued(text, log_parts=_parts_by(tagger, text))
    judge(items("facts"), guesses)


if __name__ == "__main__":
    main()
