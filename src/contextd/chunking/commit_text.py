"""The text of a commit: message, files and changed lines, without secrets. Also reads the files back from that text.

The old and the new version of each file are scrubbed as a whole before lines are selected: the header of a key, or the kind of
a manifest, may be far from the changed line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice, takewhile
from typing import Any

from contextd import privacy
from contextd.privacy.formats import Rule
from contextd.values.document import Find

_FILES = "Files:"
_INDENT = "  "
_MOST_FILES = 40  # files listed per commit
_MOST_LINES = 40  # changed lines shown per commit
_MOST_READ = 400  # changed lines read per commit, to find that many distinct ones
_LONGEST_LINE = 160
_LONGEST_HEADING = 75  # git cuts the heading of a hunk at 80 bytes
_COUNTS = re.compile(r" \(\+\d+ -\d+\)$")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a diff: its old and new line ranges, and the heading that git shows."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a commit changed, with its whole old and new text; without text if it is binary, too large or not shown."""

    path: str
    language: str
    counts: str
    old: str = ""
    new: str = ""
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit as read from git, secrets included. Only the result of `commit_text` may be stored."""

    number: str
    author: str
    day: str
    message: str
    files: tuple[ChangedFile, ...]


def packed_commit(commit: RawCommit) -> bytes:
    """Serialize a commit for the parser."""
    return json.dumps(asdict(commit), separators=(",", ":")).encode("utf-8", "replace")


def commit_text(data: bytes, rules: Sequence[Rule]) -> tuple[str, list[Find]]:
    """Return the text of a packed commit, and the secrets found in it."""
    commit = _unpacked(json.loads(data))
    scrubbed: dict[str, str] = {}  # scrubbed line → rule that found its secret

    def clean(text: str) -> str:
        result, finds = privacy.scrub_text(text, rules)
        scrubbed.update({line: finds[0].rule for line in result.split("\n") if finds and privacy.MARK.decode() in line})
        return result

    files = [clean(file.path) + file.counts for file in commit.files]
    changed = islice(chain.from_iterable(_changed(file, rules, scrubbed) for file in commit.files), _MOST_READ)
    text = _written(
        clean(commit.message.strip()), clean(commit.author), commit, files, list(dict.fromkeys(changed))[:_MOST_LINES]
    )
    found = [
        Find(number, scrubbed.get(line, "commit"))
        for number, line in enumerate(text.split("\n"), 1)
        if privacy.MARK.decode() in line
    ]
    return text, found


def _unpacked(entry: dict[str, Any]) -> RawCommit:
    files = tuple(ChangedFile(**{**file, "hunks": tuple(Hunk(**hunk) for hunk in file["hunks"])}) for file in entry["files"])
    return RawCommit(**{**entry, "files": files})


def _written(message: str, author: str, commit: RawCommit, files: Sequence[str], changed: Sequence[str]) -> str:
    """Return the text: message, author, day, changed files and changed lines."""
    lines = [message, "", f"Author: {author}, {commit.day}, {commit.number[:12]}"]
    if files:
        lines += [_FILES, *(_INDENT + name for name in files[:_MOST_FILES])]
        lines += [f"and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
    return "\n".join([*lines, *(["Changes:", *changed] if changed else [])]) + "\n"


def _changed(file: ChangedFile, rules: Sequence[Rule], scrubbed: dict[str, str]) -> Iterator[str]:
    """Yield the headings of the hunks of a file, and its removed and added lines of more than two characters."""
    if not file.hunks:
        return
    old, old_rules = _side(file.old, file, rules)
    new, new_rules = _side(file.new, file, rules)
    headings = {line.strip()[:_LONGEST_HEADING] for line in old} - {""}
    for hunk in file.hunks:
        if hunk.heading[:_LONGEST_HEADING] in headings:  # otherwise it contained a secret
            yield f"@ {hunk.heading[:_LONGEST_HEADING]}"
        for sign, lines, found, start, count in (
            ("-", old, old_rules, hunk.old_start, hunk.old_count),
            ("+", new, new_rules, hunk.new_start, hunk.new_count),
        ):
            for number in range(start, start + count):
                line = lines[number - 1] if 0 < number <= len(lines) else ""
                if len(line.strip()) > 2:
                    shown = (sign + line.rstrip())[:_LONGEST_LINE]
                    if number in found:
                        scrubbed[shown] = found[number]
                    yield shown


def _side(text: str, file: ChangedFile, rules: Sequence[Rule]) -> tuple[list[str], dict[int, str]]:
    """Return the scrubbed lines of one version of a file, and the rules that matched, by line."""
    clean, finds = privacy.scrub(text.encode("utf-8", "replace"), file.language, rules, path=file.path)
    return clean.decode("utf-8", "replace").split("\n"), {find.line: find.rule for find in finds}


def files_of(text: str) -> list[str]:
    """Return the files that a commit changed, read from its text."""
    lines = text.split("\n")
    start = max((at for at, line in enumerate(lines) if line == _FILES), default=len(lines))
    listed = takewhile(lambda line: line.startswith(_INDENT), lines[start + 1 :])
    return list(dict.fromkeys(_COUNTS.sub("", line.removeprefix(_INDENT)) for line in listed))
