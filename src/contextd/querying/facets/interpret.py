"""Classify a question: its act, its subject, whether it is private. Uses examples and patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from contextd.text.classifiers import Guess, guess
from contextd.text.hard_limits import is_limit
from contextd.text.natural_language import is_foreign
from contextd.text.patterns import pattern
from contextd.text.private_matters import is_private
from contextd.text.wording import act_of, says_nothing, speaks_of_oneself, subject_of
from contextd.values.query import Plan

UPDATE = "preference_update"
_SURE = 0.5  # below, act and subject stay empty
_SURE_OF_OTHERS = 0.75  # for a question without words such as "I" or "my"
_AMOUNT = re.compile(
    r"(?:\b(?:under|below|for|max(?:imum)?|up to|less than|at most|around|about|over|unter|bis|für|maximal)\.? )?"
    r"(?:[€$£¥₹] ?\d[\d.,]*\b|\b\d[\d.,]* ?(?:[€$£¥₹]|eur\b|euros?\b|usd\b|dollars?\b|bucks\b|pounds?\b|chf\b))",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:ok|okay|so|well|actually|please|also|and|oh|btw|by the way|fyi|note|remember|keep in mind|merk dir|note that|"
    r"just so you know|for the record|from now on|ab jetzt)\b[ ,:\-\u2013]*(?:that\b |dass\b )?)+",
    re.IGNORECASE,
)


def interpret(plan: Plan, vectors: Mapping[str, NDArray[np.float32]]) -> Plan:
    """Return the plan with act, subject, privacy and a memory to propose. Without vectors of its language, by the wording."""
    text = plan.text
    if vectors and not is_foreign(text):
        found, about = guess("act", text, vectors), guess("subject", text, vectors)
        confidence = found.confidence if found is not None else 0.0
        act = found.label if found is not None and confidence >= _SURE else ""
        subject = _subject(text, about)
    else:
        act, subject, confidence = act_of(text), subject_of(text), 0.0
        subject = subject if subject != "information" or speaks_of_oneself(text) else ""
    proposal = proposed(text) if act == UPDATE else ""
    return replace(plan, act=act, subject=subject, private=is_private(text), proposal=proposal, confidence=round(confidence, 3))


def without_amounts(text: str) -> str:
    """Remove prices and numbers from a question: they limit a thing and do not name it."""
    rest = " ".join(_AMOUNT.sub(" ", text).split())
    return rest if len(rest) > 3 else text


def proposed(text: str) -> str:
    """Return a statement about oneself as it would be remembered: without a lead-in such as "by the way".

    Empty for a request, and for trouble of the moment: "my laptop won't boot, help me". A limit is neither.
    """
    if says_nothing(text) or pattern("orders").search(text) or (pattern("passing").search(text) and not is_limit(text)):
        return ""
    rest = _LEAD.sub("", " ".join(text.split()))
    return rest[:1].upper() + rest[1:]


def _subject(text: str, found: Guess | None) -> str:
    """Return the subject, if a person's own facts can matter for it; empty for a question about the world."""
    own = speaks_of_oneself(text)
    if found is None:
        return ""
    if found.label not in ("None", "information") and found.confidence >= (_SURE if own else _SURE_OF_OTHERS):
        return found.label
    return "information" if own else ""
