"""What a person wants, by the wording alone, in six languages: the act and the subject of a text.

Used where there are no vectors, and for languages that the models do not know. `classifiers.py` has the learned ones.
"""

from __future__ import annotations

import re

from contextd.text.hard_limits import limit_domains
from contextd.text.patterns import pattern

_SMALL_TALK = 60  # letters at most
_KINDS = ("decision", "goal", "constraint", "preference", "activity", "characteristic")  # the first that fits
_WITHOUT_APOSTROPHE = re.compile(r"\b(what|who|where|when|how)s\b", re.IGNORECASE)
_SUBJECTS = ("shopping", "planning", "recommendation")  # the first that fits


def asks_one_thing(text: str) -> bool:
    """Whether a text looks up one value: when, who, how much, somebody's size. Advice is not looked up."""
    return bool(pattern("one_thing").search(_spelled(text).strip())) and not pattern("advice").search(text)


def speaks_of_oneself(text: str) -> bool:
    """Whether a text has words such as "I", "my" or "we"."""
    return bool(pattern("own").search(text))


def is_for_oneself(text: str) -> bool:
    """Whether a text asks for something for the person alone: "lunch for me"."""
    return bool(pattern("alone").search(text)) and not pattern("together").search(text)


def act_of(text: str) -> str:
    """Return what a text does: recall, task, question or preference_update."""
    if pattern("update").search(text):
        return "preference_update"
    if pattern("recall").search(_spelled(text)):
        return "recall"
    if pattern("task").search(text):
        return "task"
    if pattern("asks").search(text) or not speaks_of_oneself(text):
        return "question"
    return "preference_update"


def subject_of(text: str) -> str:
    """Return what a text is about: shopping, planning, recommendation, information or nothing."""
    found = next((subject for subject in _SUBJECTS if pattern(f"subject_{subject}").search(text)), "")
    if is_about_world(text) and found != "shopping":
        return "information"
    return found or ("information" if act_of(text) in ("question", "recall") else "")


def kind_of(text: str) -> str:
    """Return the kind of a fact by its wording: the first that fits; empty if none does."""
    if limit_domains(text):
        return "constraint"
    return next((kind for kind in _KINDS if pattern(f"kind_{kind}").search(text)), "")


def says_nothing(text: str) -> bool:
    """Return whether a message only keeps a talk going ("ok", "thanks", "go on"), or has no letter."""
    said = text.strip(" \t\n.,!?…\uff01\uff1f\u3002\uff0c¿¡")
    if not any(letter.isalpha() for letter in said):
        return True
    return len(said) <= _SMALL_TALK and bool(pattern("small_talk").search(said))


def is_about_world(text: str) -> bool:
    """Whether a text asks for general knowledge: a question of fact without "I" or "my"."""
    return bool(pattern("world").search(_spelled(text).strip())) and not speaks_of_oneself(text)


def _spelled(text: str) -> str:
    """Return a text with the apostrophe that is often left out: whats, whos."""
    return _WITHOUT_APOSTROPHE.sub("\\1's", text)
