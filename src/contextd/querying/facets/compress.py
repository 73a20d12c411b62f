"""Shorten facts: `@attribute value` where that says it all, duplicates once, limits on one thing joined.

No information is lost. A fact that says more than its attribute and value stays as it is. Contradictory limits are all listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from contextd.text.natural_language import ANY_SMALL
from contextd.text.terms import plain, split
from contextd.values.answer import Hit

_RANGE = re.compile(
    r"^(?:(?P<sign>[≤≥])\s*)?(?P<low>\d+(?:\.\d+)?)(?:\s?[-\u2013]\s?(?P<high>\d+(?:\.\d+)?))?\s*(?P<unit>\D*)$"
)
_DENIES = re.compile(
    r"\b(?:no|not|never|nothing|without|except|unless|only|but|kein\w*|nicht|nie|ohne|nur|pas|jamais|sans|nunca|sin)\b", re.I
)
_DIGIT = re.compile(r"\d")
_SAME = 5  # letters that two related words share: allergic, allergy
_SAID_BY_SIGN = frozenset(
    term[:_SAME] for word in "max maximum most least min minimum under below over above up more less than limit cap within "
    "höchstens mindestens maximal bis unter über".split() for term in split(word)
)  # fmt: skip


class Statement(NamedTuple):
    """The values of one attribute; or a whole fact, without an attribute."""

    attribute: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"@{self.attribute} {', '.join(self.values)}" if self.attribute else self.values[0]


def compress(hits: Sequence[Hit]) -> list[Statement]:
    """Return the statements of some hits, in order, without duplicates."""
    found: dict[str, list[str]] = {}
    for hit in hits:
        chunk = hit.chunk
        short = bool(chunk.label and chunk.value) and _says_all(chunk.text, chunk.label, chunk.value)
        key = f"@{chunk.label}" if short else plain(chunk.text)
        value = chunk.value if key.startswith("@") else " ".join(chunk.text.split())
        if value not in found.setdefault(key, []):
            found[key].append(value)
    return [
        Statement(key[1:] if key.startswith("@") else "", tuple(_joined(values) if key.startswith("@") else values[:1]))
        for key, values in found.items()
    ]


def _says_all(text: str, attribute: str, value: str) -> bool:
    """Return whether attribute and value cover every word of the text."""
    if _DENIES.search(text) or _DIGIT.search(attribute):  # an attribute does not spell a name such as canary-7 as it is
        return False
    covered = {term[:_SAME] for term in split(f"{attribute.replace('_', ' ')} {value}")} | _SAID_BY_SIGN
    telling = (word for word in text.casefold().split() if word.strip(".,:;!?") not in ANY_SMALL)
    return all(term[:_SAME] in covered for word in telling for term in split(word))


class _Limit(NamedTuple):
    """An end of a range: the number, and its text as written."""

    number: float
    text: str


def _joined(values: Sequence[str]) -> list[str]:
    """Join limits of one unit to the range that satisfies all of them. Other values and contradictory limits are unchanged."""
    ranges = [_limits(value) for value in values]
    units = {found[2] for found in ranges if found is not None}
    if len(values) < 2 or None in ranges or len(units) != 1:
        return list(values)
    low = max((found[0] for found in ranges if found is not None and found[0] is not None), default=None)
    high = min((found[1] for found in ranges if found is not None and found[1] is not None), default=None)
    if low is not None and high is not None and low.number > high.number:
        return list(values)
    unit = f" {units.pop()}".rstrip()
    if low is not None and high is not None:
        return [f"{low.text}\u2013{high.text}{unit}"]
    return [f"≤ {high.text}{unit}" if high is not None else f"≥ {low.text if low is not None else ''}{unit}"]


def _limits(value: str) -> tuple[_Limit | None, _Limit | None, str] | None:
    match = _RANGE.match(value)
    if match is None or not (match["sign"] or match["high"]):
        return None  # a plain number is no limit
    low, unit = _Limit(float(match["low"]), match["low"]), match["unit"].strip()
    if match["high"]:
        return low, _Limit(float(match["high"]), match["high"]), unit
    return (None, low, unit) if match["sign"] == "≤" else (low, None, unit)
