"""Weigh: read the best messages of a chat, and prefer those that can hold the answer.

Similarity does not tell a question from its answer. A message counts more if it states what the question asks for (a time, a
number, a name), if it is long, if its author speaks of themselves, and if it follows a question with the same words. This holds
for chats between people; what a model answered is long and full of names in any case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextd.text.answer_types import (
    asks,
    asks_for,
    names_in,
    only_asks,
    speaks_of_oneself,
    states_number,
    states_time,
)
from contextd.values.answer import Candidate

MOST = 120  # messages that are read
_LONG = 200  # words; longer messages gain nothing more
# In the unit of the weights in `fuse`, and from the same regression (benchmarks/chat_weights.py), by the best tier there is.
STATIC = {"length": 1.45, "question": -0.66, "time": 1.77, "number": 1.25, "place": 0.97, "names": 0.59, "person": 0.94,
          "reply": 1.38}  # fmt: skip
DEEP = {"length": 1.57, "question": -0.72, "time": 1.7, "number": 1.03, "place": 0.99, "names": 0.62, "person": 0.83,
        "reply": 1.18}  # fmt: skip


def weigh(candidates: Sequence[Candidate], texts: Sequence[tuple[str, str]], question: str) -> list[Candidate]:
    """Return the candidates in their new order. `texts` has the message before and the message, of the first candidates.

    A candidate without a text, such as a chunk of a note or a message to a model, gets the mean of the others.
    """
    read = candidates[: len(texts)]
    if not read:
        return list(candidates)
    weights = DEEP if any(arm.startswith("deep/") for arm in read[0].arms) else STATIC
    columns = signals(question, texts, [one.arms.get("before chunk", 0.0) for one in read])
    worth = [sum(weights[name] * values[place] for name, values in columns.items()) for place in range(len(read))]
    known = [value for value, (_, text) in zip(worth, texts, strict=True) if text]
    usual = sum(known) / len(known) if known else 0.0
    raised = [
        replace(one, score=one.score + (value if text else usual))
        for one, value, (_, text) in zip(read, worth, texts, strict=True)
    ]
    rest = [replace(one, score=one.score + min((usual, *known))) for one in candidates[len(read) :]]
    return sorted((*raised, *rest), key=lambda one: (-one.score, one.chunk))


def signals(question: str, texts: Sequence[tuple[str, str]], before: Sequence[float]) -> Mapping[str, Sequence[float]]:
    """Return the signals of each message. `before` has the word score of the message before it."""
    wanted, best = asks_for(question), max(before, default=0.0) or 1.0
    own = [text for _, text in texts]
    return {
        "length": [min(1.0, math.log1p(len(text.split())) / math.log1p(_LONG)) for text in own],
        "question": [float(only_asks(text)) for text in own],
        "time": [float("time" in wanted and states_time(text)) for text in own],
        "number": [float("number" in wanted and states_number(text)) for text in own],
        "place": [names_in(text) if "place" in wanted else 0.0 for text in own],
        "names": [names_in(text) for text in own],
        "person": [float(speaks_of_oneself(text)) for text in own],
        "reply": [score / best if asks(first) else 0.0 for (first, _), score in zip(texts, before, strict=True)],
    }
