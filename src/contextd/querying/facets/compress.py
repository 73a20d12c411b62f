"""Shorten facts: `@attribute value` where that says it all, duplicates once, limits on one thing joined.

No information is lost. A fact that says more than its attribute and value stays as it is. Contradictory limits are all listed.
Attributes whose words mean the same (`budget_shoes`, `budget_sneaker`) are one statement that names both. Relative times have
their date beside them, counted from the day the fact was told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from contextd.text.natural_language import ANY_SMALL
from contextd.text.relative_times import resolved
from contextd.text.terms import plain, split
from contextd.text.thesaurus import concepts_of
from contextd.values.answer import Hit

_RANGE = re.compile(
    r"^(?:(?P<sign>[≤≥])\s*)?(?P<low>\d+(?:\.\d+)?)(?:\s?[-\u2013]\s?(?P<high>\d+(?:\.\d+)?))?\s*(?P<unit>\D*)$"
)
_DENIES = re.compile(
    r"\b(?:no|not|never|nothing|without|except|unless|only|but|kein\w*|nicht|nie|ohne|nur|pas|jamais|sans|nunca|sin)\b", re.I
)
_DIGIT = re.compile(r"\d")
_FORGES = re.compile(r"[@;\n]")  # what begins and ends a statement
_SAME = 5  # letters that two related words share: allergic, allergy
# Words that weaken a value, and how a statement writes them.
_WEAKENED = tuple(
    (sign, re.compile(rf"\b(?:{words})\b", re.I))
    for sign, words in (
        (
            "prefer ",
            "prefer(?:s|red|ably)?|ideally|am liebsten|bevorzugt|vorzugsweise|de préférence|preferiblemente",
        ),
        ("~ ", "around|about|roughly|approximately|approx|circa|ca|etwa|ungefähr|rund|environ|unos|alrededor"),
    )
)
_SAID_BY_BUDGET = frozenset(term[:_SAME] for term in split("spend spending pay paying cost costs ausgeben"))
_SAID_BY_SIGN = frozenset(
    term[:_SAME] for word in "max maximum most least min minimum under below over above up more less than limit cap within "
    "höchstens mindestens maximal bis unter über".split() for term in split(word)
)  # fmt: skip


class Statement(NamedTuple):
    """The values of one attribute; or a whole fact, without an attribute. A fact cannot forge statements."""

    attribute: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.attribute:
            return f"@{self.attribute} {', '.join(self.values)}"
        return f'"{self.values[0]}"' if self.values[0].lstrip().startswith("@") else self.values[0]


def compress(hits: Sequence[Hit]) -> list[Statement]:
    """Return the statements of some hits, in order, without duplicates."""
    values: dict[tuple[str, str, bool], list[str]] = {}
    for hit in hits:
        name, value = _stated(hit)
        known = values.setdefault((name, "" if name else plain(value), hit.chunk.stated or not name), [])
        if value not in known:
            known.append(value)
    found: dict[bool, list[Statement]] = {True: [], False: []}  # what a program says is not joined with what a person states
    for (name, _, stated), its in values.items():
        _add(Statement(name, tuple(_joined(its)) if name else tuple(its[:1])), found[stated])
    return [*found[True], *found[False]]


def _add(new: Statement, found: list[Statement]) -> None:
    """Add a statement; join it to one about the same thing by another name if their limits agree."""
    for place, old in enumerate(found):
        both = [*old.values, *new.values]
        if new.attribute and old.attribute and _meaning(old.attribute) == _meaning(new.attribute) and _agree(both):
            found[place] = Statement(_name(old.attribute, new.attribute), tuple(_joined(both)))
            return
    found.append(new)


def _stated(hit: Hit) -> tuple[str, str]:
    """Return attribute and value of a hit; no attribute and the whole text if the text says more."""
    chunk = hit.chunk
    if chunk.label and chunk.value and not chunk.told_by and not _FORGES.search(chunk.label + chunk.value):
        text, weak = _weakened(chunk.text) if chunk.value[0].isdigit() else (chunk.text, "")
        if _says_all(text, chunk.label, chunk.value):
            return chunk.label, weak + resolved(chunk.value, chunk.modified)
    return "", resolved(" ".join(chunk.as_told.split()), chunk.modified)


def _weakened(text: str) -> tuple[str, str]:
    """Return a text without the words that weaken its value, and these words as a statement writes them."""
    found = [(sign, pattern) for sign, pattern in _WEAKENED if pattern.search(text)]
    for _, pattern in found:
        text = pattern.sub(" ", text)
    return text, "".join(sign for sign, _ in found)


def _meaning(attribute: str) -> frozenset[str]:
    """Return the concepts of an attribute's words; of a word without a concept, its terms."""
    words = attribute.split("/")[0].split("_")
    return frozenset(one for word in words for one in concepts_of(word) or split(word))


def _name(old: str, new: str) -> str:
    """Return one name for two attributes of the same meaning: `budget_shoes/sneaker`."""
    known, words = old.split("/")[0].split("_"), new.split("_")
    same = next((place for place, (one, other) in enumerate(zip(known, words, strict=False)) if one != other), 0)
    return f"{old}/{'_'.join(words[same:])}"


def _says_all(text: str, attribute: str, value: str) -> bool:
    """Return whether attribute and value cover every word of the text."""
    if _DENIES.search(text) or _DIGIT.search(attribute):  # an attribute does not spell a name such as canary-7 as it is
        return False
    covered = {term[:_SAME] for term in split(f"{attribute.replace('_', ' ')} {value}")} | _SAID_BY_SIGN
    if attribute.startswith("budget"):
        covered |= _SAID_BY_BUDGET
    telling = (word for word in text.casefold().split() if word.strip(".,:;!?") not in ANY_SMALL)
    return all(term[:_SAME] in covered for word in telling for term in split(word))


class _Limit(NamedTuple):
    """An end of a range: the number, and its text as written."""

    number: float
    text: str


class _Range(NamedTuple):
    """A limit, or both ends of a range, and the unit."""

    low: _Limit | None
    high: _Limit | None
    unit: str


def _joined(values: Sequence[str]) -> list[str]:
    """Join the limits of each unit to the range within all of them. Other values follow; contradictory limits are unchanged."""
    by_unit: dict[str, list[_Range]] = {}
    limits = {value: found for value in values if (found := _limits(value))}
    for found in limits.values():
        by_unit.setdefault(found.unit, []).append(found)
    ranges = {unit: _range(found) for unit, found in by_unit.items()}
    return list(
        dict.fromkeys(
            [ranges[found.unit] or value for value, found in limits.items()] + [one for one in values if one not in limits]
        )
    )


def _agree(values: Sequence[str]) -> bool:
    """Return whether values are limits of one unit that name the same ends, and at most one preferred amount."""
    limits = [found for value in values if (found := _limits(value))]
    preferred = [value for value in values if any(value.startswith(sign) for sign, _ in _WEAKENED)]
    ends = ({one.unit for one in limits}, {one.low for one in limits} - {None}, {one.high for one in limits} - {None})
    known = len(limits) + len(preferred) == len(values)
    return known and bool(limits) and len(preferred) <= 1 and all(len(end) <= 1 for end in ends)


def _range(limits: Sequence[_Range]) -> str:
    """Return the range within all limits; empty if there is one limit only, or no number within all."""
    low = max((one.low for one in limits if one.low is not None), default=None)
    high = min((one.high for one in limits if one.high is not None), default=None)
    if len(limits) < 2 or (low is not None and high is not None and low.number > high.number):
        return ""
    if low is not None and high is not None:
        return f"{low.text}\u2013{high.text} {limits[0].unit}".rstrip()
    end = f"≤ {high.text}" if high is not None else f"≥ {low.text if low is not None else ''}"
    return f"{end} {limits[0].unit}".rstrip()


def _limits(value: str) -> _Range | None:
    """Parse a limit or a range; None for any other value. A plain number is no limit."""
    match = _RANGE.match(value)
    if match is None or not (match["sign"] or match["high"]):
        return None
    low, unit = _Limit(float(match["low"]), match["low"]), match["unit"].strip()
    if match["high"]:
        return _Range(low, _Limit(float(match["high"]), match["high"]), unit)
    return _Range(None, low, unit) if match["sign"] == "≤" else _Range(low, None, unit)
