"""Facts in fewer tokens: `@attribute value` where that says all of it; the same said twice once; limits on one thing joined.

Nothing is lost: a fact whose words say more than its attribute and value stays as it was told, and limits that no value can
meet are all listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from contextd.terms import plain, split
from contextd.tongues import small_words
from contextd.types import Hit

_RANGE = re.compile(
    r"^(?:(?P<sign>[≤≥])\s*)?(?P<low>\d+(?:\.\d+)?)(?:\s?[-\u2013]\s?(?P<high>\d+(?:\.\d+)?))?\s*(?P<unit>\D*)$"
)
_DENIES = re.compile(
    r"\b(?:no|not|never|nothing|without|except|unless|only|but|kein\w*|nicht|nie|ohne|nur|pas|jamais|sans|nunca|sin)\b", re.I
)
_SAID_BY_SIGN = frozenset(
    term for word in "max maximum most least min minimum under below over above up more less than limit cap within around "
    "about höchstens mindestens maximal bis unter über".split() for term in split(word)
)  # fmt: skip
_SAME = 5  # letters two words share when one is made from the other: allergic, allergy


class Statement(NamedTuple):
    """What a block says of one attribute; or a whole fact, which has none."""

    attribute: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"@{self.attribute} {', '.join(self.values)}" if self.attribute else self.values[0]


def compress(hits: Sequence[Hit]) -> list[Statement]:
    """The statements of some hits, in order; nothing twice."""
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


@lru_cache(maxsize=1 << 12)  # the same facts answer many questions
def _says_all(text: str, attribute: str, value: str) -> bool:
    """Whether attribute and value say everything that the text says."""
    if _DENIES.search(text):
        return False
    said = set(split(f"{attribute.replace('_', ' ')} {value}")) | _SAID_BY_SIGN
    small = small_words(text)
    telling = " ".join(word for word in text.casefold().split() if word.strip(".,:;!?") not in small)
    stems = {term[:_SAME] for term in said}
    return all(term in said or term[:_SAME] in stems for term in split(telling))


class _Limits(NamedTuple):
    low: float | None
    high: float | None
    unit: str


def _joined(values: Sequence[str]) -> list[str]:
    """Limits of one unit as the one range that meets all of them; as they are when there is none, or they are no limits."""
    limits = [_limits(value) for value in values]
    units = {limit.unit for limit in limits if limit is not None}
    if len(values) < 2 or None in limits or len(units) != 1:
        return list(values)
    lows = [limit.low for limit in limits if limit is not None and limit.low is not None]
    highs = [limit.high for limit in limits if limit is not None and limit.high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        return list(values)
    unit = f" {units.pop()}".rstrip()
    if low is not None and high is not None:
        return [f"{low:g}\u2013{high:g}{unit}"]
    return [f"≤ {high:g}{unit}" if high is not None else f"≥ {low:g}{unit}"]


def _limits(value: str) -> _Limits | None:
    match = _RANGE.match(value)
    if match is None or not (match["sign"] or match["high"]):
        return None  # a plain number is no limit
    low, unit = float(match["low"]), match["unit"].strip()
    if match["high"]:
        return _Limits(low, float(match["high"]), unit)
    return _Limits(None, low, unit) if match["sign"] == "≤" else _Limits(low, None, unit)
