"""How a commit is written down as a text, and how the files it changed are read from it again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

_FILES = "Files:"
_INDENT = "  "
_MOST_FILES = 40  # of one commit, by name
_COUNTS = re.compile(r" \(\+\d+ -\d+\)$")


def written(message: str, author: str, day: str, number: str, files: Sequence[str], changed: Sequence[str]) -> str:
    """What was said, by whom and when, which files it touched and the lines that say most."""
    lines = [message.strip(), "", f"Author: {author}, {day}, {number[:12]}"]
    if files:
        lines += [_FILES, *(_INDENT + name for name in files[:_MOST_FILES])]
        lines += [f"and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
    return "\n".join([*lines, *(["Changes:", *changed] if changed else [])]) + "\n"


def files_of(text: str) -> list[str]:
    """The files that a commit written down so has changed."""
    lines = text.split("\n")
    start = max((at for at, line in enumerate(lines) if line == _FILES), default=len(lines))
    listed = takewhile(lambda line: line.startswith(_INDENT), lines[start + 1 :])
    return list(dict.fromkeys(_COUNTS.sub("", line.removeprefix(_INDENT)) for line in listed))
