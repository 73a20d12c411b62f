"""The names by which people address each other in a chat: questions use them, and exports often have account names instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from contextd.values.conversation import Message

_GREETING = (
    r"hey|hi|hello|dear|thanks|thank you|good (?:morning|evening|night)|bye|sorry|happy birthday|hallo|liebe[r]?|danke"
    r"|guten (?:morgen|abend)|salut|bonjour|bonsoir|merci|cher|chère|hola|gracias|buenos días|querid[oa]"
)
_ADDRESS = re.compile(rf"\b(?i:{_GREETING})[, ] ?([A-Z][^\W\d_]{{2,20}})\b|, ([A-Z][^\W\d_]{{2,20}})(?=\s*[!?])")
_LEAST = 3  # times that a name is used
_SHARE = 0.8  # of its uses that are by the other person
_SHORT = 400  # characters of a message that are read: people address each other at the beginning
_MOST = 3  # nicknames of a person
_READ = 5000  # newest messages; the names that people use change little, and reading 100,000 takes seconds


def nicknames(messages: Sequence[Message]) -> dict[str, tuple[str, ...]]:
    """Return the names by which each of two authors is addressed by the other, besides their own; none for other chats."""
    authors = sorted({message.author for message in messages})
    if len(authors) != 2 or any(message.role for message in messages):
        return {}
    known = {part.lower() for author in authors for part in author.split()}
    used: dict[str, Counter[str]] = {author: Counter() for author in authors}
    for message in messages[-_READ:]:
        found = {first or second for first, second in _ADDRESS.findall(message.text[:_SHORT])}
        used[message.author].update(name for name in found if name.lower() not in known)
    return {
        author: tuple(name for name, count in used[other].most_common() if _is_enough(count, used[author][name]))[:_MOST]
        for author, other in (authors, reversed(authors))
    }


def _is_enough(by_other: int, by_oneself: int) -> bool:
    return by_other >= _LEAST and by_other >= _SHARE * (by_other + by_oneself)
