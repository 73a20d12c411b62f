"""Questions of the benchmark with the lines that answer them, and the lines of an answer as a client receives it.

What is required, and what counts as shown, is decided by the product (`contextd.app.line_answers`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.data import BENCH, REPOS
from contextd.app.line_answers import Line, Shown, line_question, plain, required

_HEADING = re.compile(r"### (.+?):\d+-\d+|<file path=\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; each alternative is a list of lines that are all required."""

    repository: str
    query: str
    kind: str
    alternatives: tuple[tuple[Line, ...], ...]


def asked() -> list[Asked]:
    """The questions whose repositories are checked out; the others are named on the way."""
    found = []
    for line in (BENCH / "answers" / "answers_dev.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        root = REPOS / entry["repo"]
        if not root.is_dir():
            print(f"skipped {entry['repo']}: not checked out below CONTEXTD_BENCH_REPOS")
            continue
        one = line_question(entry)
        needed = required(one, lambda path, root=root: _text(root / path))  # type: ignore[misc]
        found.append(Asked(entry["repo"], one.query, entry["kind"], tuple(tuple(lines) for lines in needed)))
    return found


def shown_in(text: str) -> Shown:
    """The lines of an answer by the path they stand under; of markdown and of XML."""
    found: dict[str, set[str]] = {}
    here: set[str] = set()
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            here = found.setdefault(heading[1] or heading[2], set())
        here.add(plain(line))
    return {path: frozenset(lines) for path, lines in found.items()}


@lru_cache(maxsize=256)
def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")
