"""Numbers of payment cards: issuers, lengths, and the check digit. One of thirty random numbers passes.

So a number alone is no find: it is written in the groups of a card, or the text before it speaks of a card. Account numbers
(IBAN) are not redacted: people give them away to be paid, and want to look up their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = rb"(?: |\xc2\xa0)"  # or one that does not break
_GROUPS = b"|".join(
    (
        rb"[2-6]\d{3}(?:%s\d{4}){3}" % _SPACE,
        rb"[2-6]\d{3}(?:-\d{4}){3}",
        rb"3[47]\d{2}%s\d{6}%s\d{5}" % (_SPACE, _SPACE),
        rb"3[47]\d{2}-\d{6}-\d{5}",
    )
)
# Bounded, so it takes linear time. A row of a table with five such groups is no card; an expiry date may follow.
_GROUPED = re.compile(rb"(?<![\w.\-/+])(?<!\d[ \t])(?:%s)(?![\w\-/])(?!\.\d)(?![ \t]\d(?!\d?/\d\d))" % _GROUPS)
ANNOUNCED = (
    r"(?i)(?:\b(?:credit|debit|payment|bank|visa|master|charge)[ _-]?cards?|\bcard[ _-]?(?:number|num|no|nr)|\bvisa|\bmastercard|\bamex"
    r"|\bamerican express|kreditkarte\w*|kartennummer|carte (?:bancaire|bleue|de cr[ée]dit)|tarjeta(?: de cr[ée]dito)?)"
    r"[^\n\d]{0,30}[^\w.\-/]((?:\d{4}[ -]?){3}\d{1,7}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})\b"
)
_FEWEST = 5  # different digits: 4242 4242 4242 4242 is a number for tests
_ISSUERS = (  # the first digits, and the lengths that the issuer gives
    (re.compile(rb"4"), (13, 16, 19)),
    (re.compile(rb"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(rb"3[47]"), (15,)),
    (re.compile(rb"6011|64[4-9]|65"), (16, 19)),
    (re.compile(rb"352[89]|35[3-8]"), (16, 19)),
    (re.compile(rb"30[0-5]|36|38|39"), (14,)),
    (re.compile(rb"62"), (16, 17, 18, 19)),
)


def grouped(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of the numbers that are written in the groups of a card."""
    yield from (match.span() for match in _GROUPED.finditer(data) if is_card(match[0]))


def is_card(value: bytes) -> bool:
    """Return whether a number, in groups or not, can be that of a payment card."""
    digits = re.sub(rb"\D", b"", value)
    issued = any(first.match(digits) and len(digits) in lengths for first, lengths in _ISSUERS)
    return issued and len(set(digits)) >= _FEWEST and _checksum(digits) % 10 == 0


def _checksum(digits: bytes) -> int:
    """Return the sum of Luhn: from the right, every second digit counts twice, as the sum of its digits."""
    numbers = [digit - 48 for digit in reversed(digits)]
    return sum(numbers[::2]) + sum(sum(divmod(2 * one, 10)) for one in numbers[1::2])
