"""Patterns of wording in six languages, written by hand: `learned/patterns.json`.

An entry has `words` (whole words, as regular expressions) and `parts` (anywhere in a text).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files


@lru_cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern by its name, compiled."""
    known = _known()[name]
    words = [rf"\b(?:{'|'.join(known['words'])})\b"] if "words" in known else []
    return re.compile("|".join([*words, *known.get("parts", ())]), re.IGNORECASE)


@lru_cache
def _known() -> Mapping[str, Mapping[str, Sequence[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads(
        files("contextd.text").joinpath("learned", "patterns.json").read_text("utf-8")
    )
    return found
