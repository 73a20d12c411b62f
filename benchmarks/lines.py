"""Questions with the lines that answer them, and whether a text has these lines.

A line counts when it stands below the path of its file, white space aside. Lines that are blank, bare punctuation or only
comment are not required, unless a span has no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.data import BENCH, REPOS

BUDGETS = (500, 1000, 1500, 2000, 4000)
_COMMENT = re.compile(r"#(?!include|define|if|endif|else|elif|pragma)|//|/\*|\*|--|;|\"\"\"|'''")
_PROSE = (".md", ".mdx", ".rst", ".txt")
_HEADING = re.compile(r"### (.+?):\d+-\d+|<file path=\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; each alternative is a set of (path, line number, line) that are all required."""

    repository: str
    query: str
    kind: str
    alternatives: tuple[tuple[tuple[str, int, str], ...], ...]


def asked() -> list[Asked]:
    """The questions whose repositories are checked out; the others are named on the way."""
    found = []
    for line in (BENCH / "answers" / "answers_dev.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        root = REPOS / entry["repo"]
        if not root.is_dir():
            print(f"skipped {entry['repo']}: not checked out below CONTEXTD_BENCH_REPOS")
            continue
        alternatives = tuple(
            tuple((span["path"], *one) for span in spans for one in _required(root / span["path"], span))
            for spans in entry["answer"]
        )
        found.append(Asked(entry["repo"], entry["query"], entry["kind"], alternatives))
    return found


def shown(text: str) -> dict[str, set[str]]:
    """The lines of an answer by the path they stand below; of markdown and of XML."""
    found: dict[str, set[str]] = {}
    here: set[str] = set()
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            here = found.setdefault(heading[1] or heading[2], set())
        here.add(_plain(line))
    return found


def chunk_lines(chunks: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The same for chunks by path."""
    found: dict[str, set[str]] = {}
    for path, text in chunks:
        found.setdefault(path, set()).update(_plain(line) for line in text.split("\n"))
    return found


def share(one: Asked, lines: Mapping[str, set[str]]) -> float:
    """The share of the required lines that are there, by the best alternative; 1 for all of them."""
    return max(sum(line in lines.get(path, ()) for path, _, line in need) / len(need) for need in one.alternatives)


def _required(path: Path, span: Mapping[str, int]) -> list[tuple[int, str]]:
    lines = _lines(path)
    inside = [(n, lines[n - 1]) for n in range(span["start_line"], min(span["end_line"], len(lines)) + 1)]
    wordy = [(n, line) for n, line in inside if re.search(r"\w", line)]
    code = wordy if path.suffix in _PROSE else [(n, line) for n, line in wordy if not _COMMENT.match(line.strip())]
    return [(n, _plain(line)) for n, line in code or wordy]


@lru_cache(maxsize=256)
def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").split("\n")


def _plain(line: str) -> str:
    return "".join(line.split())
