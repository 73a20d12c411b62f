"""Whether two questions are the same but for words that carry no meaning: articles, polite phrases, contractions of "is".

All other words have to be the same, as they are written, in the same order. Vectors cannot decide this: those of a question and
of its negation are as near as those of two rephrasings.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)?|[^\w\s]")
_FRAME = re.compile(
    r"""(?ix)^ (?: (?:hey|hi|hello|please) \b [\s,:!]* )*
    (?: (?: (?:can|could|would) \s you | i (?:\s would|['\u2019]d) \s like \s to ) \s (?:please \s)?
        (?: (?:tell|show) \s me | explain | know ) \s+
      | (?: (?:tell|show) \s me | explain ) \s+ (?=how|what|when|where|which|who|why) )?"""
)
_COURTESY = re.compile(r"(?i)[\s,]*\b(?:please|thanks|thank you)\s*[.!?]*\s*$")
_END = re.compile(r"[\s.?!]+$")
_ARTICLES = frozenset(("a", "an", "the"))
_IS = {f"{word}'s": (word, "is") for word in ("what", "where", "who", "when", "how")}


@lru_cache(maxsize=4096)
def meaning(text: str) -> tuple[str, ...]:
    """Return the words and signs of a question that decide what it asks for, in order."""
    bare = _END.sub("", _COURTESY.sub("", _FRAME.sub("", " ".join(text.split()), count=1)))
    tokens = [token.replace("\u2019", "'") for token in _TOKEN.findall(bare)]
    words = [tokens[0].lower(), *tokens[1:]] if tokens and tokens[0].capitalize() == tokens[0] else tokens  # a sentence begins
    return tuple(part for word in words if word not in _ARTICLES for part in _IS.get(word, (word,)))


def same_question(one: str, other: str) -> bool:
    """Return whether two questions ask for the same."""
    return bool(meaning(one)) and meaning(one) == meaning(other)
