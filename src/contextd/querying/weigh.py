"""Weigh: read the best messages of a chat, and prefer those that can hold the answer.

Similarity does not tell a question from its answer. A message counts more if it has the concepts of the question in other words
("which food" and "sushi"). Between people, it also counts more if it states what the question asks for (a time, a number, a
name), if it is long, if its author speaks of themselves, and if it follows a question with the same words. Of a chat with a
model only the messages of the person are read: what a model answered is long and full of names in any case. There the messages
of a session count together, since people come back to a matter in passing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextd.querying.messages import Utterance
from contextd.text.answer_types import (
    asks,
    asks_for,
    names_in,
    only_asks,
    speaks_of_oneself,
    states_number,
    states_time,
)
from contextd.text.thesaurus import concepts_of, widened
from contextd.values.answer import Candidate

MOST = 120  # messages that are read
_LONG = 200  # words; longer messages gain nothing more
_READ = 1000  # characters of a message in which concepts are looked for
# In the unit of the weights in `fuse`, and from the same regressions, by the best tier there is.
STATIC = {"length": 0.85, "question": -0.76, "time": 1.74, "number": 1.23, "place": 0.91, "names": 0.61, "person": 0.89,
          "subject": 1.34, "reply": 1.36}  # fmt: skip
DEEP = {"length": 1.11, "question": -0.71, "time": 1.7, "number": 1.05, "place": 0.96, "names": 0.64, "person": 0.81,
        "subject": 1.06, "reply": 1.15}  # fmt: skip
TO_MODEL_STATIC, TO_MODEL_DEEP = 1.36, 1.35  # for the concepts of the question in a message to a model


def weigh(candidates: Sequence[Candidate], texts: Sequence[Utterance], question: str) -> list[Candidate]:
    """Return the candidates in their new order. `texts` has what was said in the first candidates.

    A candidate between people is compared with the others between people. Any other chunk gets the mean of those.
    """
    read = candidates[: len(texts)]
    if not read:
        return list(candidates)
    worth = _worth(read, texts, question)
    known = [value for value, one in zip(worth, texts, strict=True) if _between_people(one)]
    usual = sum(known) / len(known) if known else 0.0
    raised = [
        replace(one, score=one.score + value + (0.0 if _between_people(text) else usual))
        for one, value, text in zip(read, worth, texts, strict=True)
    ]
    rest = [replace(one, score=one.score + min((usual, *known))) for one in candidates[len(read) :]]
    return sorted(_with_session([*raised, *rest]), key=lambda one: (-one.score, one.chunk))


def _worth(read: Sequence[Candidate], texts: Sequence[Utterance], question: str) -> list[float]:
    """Return what the text of each message adds to its score."""
    deep = any(arm.startswith("deep/") for arm in read[0].arms)
    weights, to_model = (DEEP, TO_MODEL_DEEP) if deep else (STATIC, TO_MODEL_STATIC)
    columns = signals(question, texts, [one.arms.get("before chunk", 0.0) for one in read])
    return [
        sum(weights[name] * values[place] for name, values in columns.items())
        if _between_people(text)
        else to_model * columns["subject"][place]
        for place, text in enumerate(texts)
    ]


def _between_people(one: Utterance) -> bool:
    return bool(one.text) and not one.to_model


def _with_session(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Raise all messages of a chat session with a model by what its messages are worth together beyond the best one."""
    scores: dict[int, list[float]] = {}
    for one in candidates:
        scores.setdefault(one.chunk.document, []).append(one.score)
    of_models = {one.chunk.document for one in candidates if one.arms.get("own", 0.0) > 0}
    more = {document: together(scores[document]) for document in of_models}
    return [replace(one, score=one.score + more.get(one.chunk.document, 0.0)) for one in candidates]


def together(scores: Sequence[float]) -> float:
    """Return by how much the sum of some scores, which are logarithms, exceeds the largest."""
    best = max(scores)
    return math.log(sum(math.exp(score - best) for score in scores))


def signals(question: str, texts: Sequence[Utterance], before: Sequence[float]) -> Mapping[str, Sequence[float]]:
    """Return the signals of each message. `before` has the word score of the message before it."""
    wanted, best = asks_for(question), max(before, default=0.0) or 1.0
    own = [one.text for one in texts]
    return {
        "length": [min(1.0, math.log1p(len(text.split())) / math.log1p(_LONG)) for text in own],
        "question": [float(only_asks(text)) for text in own],
        "time": [float("time" in wanted and states_time(text)) for text in own],
        "number": [float("number" in wanted and states_number(text)) for text in own],
        "place": [names_in(text) if "place" in wanted else 0.0 for text in own],
        "names": [names_in(text) for text in own],
        "person": [float(speaks_of_oneself(text)) for text in own],
        "subject": _shared([text[:_READ] for text in own], concepts_of(question)),
        "reply": [score / best if asks(one.before) else 0.0 for one, score in zip(texts, before, strict=True)],
    }


def _shared(texts: Sequence[str], asked: frozenset[str]) -> list[float]:
    """Return the share of the question's concepts that each text has, itself or by a narrower one."""
    return [len(asked & widened(concepts_of(text))) / len(asked) for text in texts] if asked else [0.0] * len(texts)
