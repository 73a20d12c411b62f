"""How a commit is written down as a text, and how the files it changed are read from it again."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FILES = "Files: "
_MOST_FILES = 40  # of one commit, by name
_NAMED = re.compile(r"(.+?)(?: \(\+\d+ -\d+\))?(?: and \d+ more)?$")


def written(message: str, author: str, day: str, number: str, files: Sequence[str], changed: Sequence[str]) -> str:
    """What was said, by whom and when, which files it touched and the lines that say most."""
    lines = [message.strip(), "", f"Author: {author}, {day}, {number[:12]}"]
    if files:
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        lines.append(_FILES + ", ".join(files[:_MOST_FILES]) + more)
    return "\n".join([*lines, *(["Changes:", *changed] if changed else [])]) + "\n"


def files_of(text: str) -> list[str]:
    """The files that a commit written down so has changed."""
    line = next((line for line in reversed(text.split("\n")) if line.startswith(_FILES)), "")
    found = (_NAMED.match(part) for part in line.removeprefix(_FILES).split(", ") if part)
    return [match[1] for match in found if match]
