"""Git history of a file: who changed it, when and why, and which files change with it.

Only commits are read. Comparing a file with its last commit is done here, because git would run the repository's filters.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from contextd import privacy
from contextd.errors import InvalidInput, NotFound
from contextd.privacy.formats import Rule
from contextd.sources.files import open_below
from contextd.sources.git import git
from contextd.values.git_history import Edit, History

_MOST = 300  # maximum number of commits read
_LARGE = 30  # a commit with more files says nothing about which files belong together
_MOST_COMPARED = 1000  # lines between the first and the last difference; comparing takes quadratic time
_LARGEST_COMPARED = 32 << 20


class GitPast:
    """Git history of the files below a root."""

    def __init__(self, root: Path, rules: Sequence[Rule] = ()) -> None:
        self._root, self._rules = root, rules

    def history(self, path: str, limit: int) -> History | None:
        """Return the history of a file or folder; None without git, or if it is not in the history."""
        border = secrets.token_hex(16)  # a random separator that no message contains
        out = git(self._root, "log", "-n", str(_MOST), f"--format={border}%H%x00%an%x00%cs%x00%s", "--", path)
        if not out or not out.strip():
            return None
        entries = out.decode("utf-8", "replace").split(border)[1:]
        edits = [self._edit(entry.removesuffix("\n").split("\x00", 3)) for entry in entries]
        authors = Counter(edit.author for edit in edits).most_common()
        return History(tuple(edits[:limit]), tuple(authors), self._together(path, [edit.commit for edit in edits]))

    def origin(self, path: str, line: int) -> tuple[Edit, str] | None:
        """Return the commit that last changed a line, and its whole message; None without git.

        Raises InvalidInput for a line that is not in the last commit.
        """
        number = self._committed(path, line)
        out = git(self._root, "blame", "--porcelain", "-L", f"{number},{number}", "HEAD", "--", path) if number else None
        if not out:
            return None
        commit = out.split(b" ", 1)[0].decode("ascii", "replace")
        shown = git(self._root, "show", "-s", "--format=%H%x00%an%x00%cs%x00%s%x00%B", commit, "--")
        if not shown:
            return None
        *edit, message = shown.decode("utf-8", "replace").split("\x00", 4)
        return self._edit(edit), privacy.scrub_text(message.strip(), self._rules)[0]

    def _edit(self, fields: Sequence[str]) -> Edit:
        """Return an edit after scrubbing author and subject."""
        commit, author, day, subject = fields
        return Edit(commit, privacy.scrub_text(author, self._rules)[0], day, privacy.scrub_text(subject, self._rules)[0])

    def _committed(self, path: str, line: int) -> int | None:
        """Map a line of the working tree to its number in the last commit; None if the file is not in it."""
        out = git(self._root, "cat-file", "blob", f"HEAD:./{path}")
        if out is None:
            return None
        committed = _lines(out)
        current = self._current(path, committed)
        if not 1 <= line <= len(current):
            raise NotFound(f"no line {line} in {path}: the file has {len(current)} lines")
        number = _place(committed, current, line)
        if number is None:
            raise InvalidInput(f"line {line} of {path} has uncommitted changes; commit them first")
        return number

    def _current(self, path: str, committed: list[bytes]) -> list[bytes]:
        """Return the current lines of a file; the committed lines if it cannot be read."""
        try:
            with os.fdopen(open_below(self._root, path), "rb") as file:
                return _lines(file.read(_LARGEST_COMPARED))
        except OSError:
            return committed

    def _together(self, path: str, commits: list[str]) -> tuple[tuple[str, float], ...]:
        """Return files that change in the same commits, by the share of these commits they are in."""
        border = secrets.token_hex(16)
        out = (
            git(self._root, "show", f"--format=tformat:{border}", "--name-only", "--diff-merges=off", *commits[:100], "--")
            or b""
        )
        sets = [set(entry.split("\n")) - {""} for entry in out.decode("utf-8", "replace").split(border)[1:]]
        small = [files for files in sets if 1 < len(files) <= _LARGE]
        counts = Counter(other for files in small for other in files if other != path and not other.startswith(path + "/"))
        often = [(name, count / len(small)) for name, count in counts.most_common(10) if count > 1]
        return tuple((privacy.scrub_text(name, self._rules)[0], share) for name, share in often)


def _lines(text: bytes) -> list[bytes]:
    """Split into lines as git counts them, without line ends, which a checkout may have changed."""
    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
    return lines if lines[-1] else lines[:-1]


def _place(before: Sequence[bytes], after: Sequence[bytes], line: int) -> int | None:
    """Return the number in `before` of a line of `after`; None if it is new, or if too much has changed around it."""
    shorter = min(len(before), len(after))
    same = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    if line <= same:
        return line
    tail = next((n for n in range(shorter - same) if before[-1 - n] != after[-1 - n]), shorter - same)
    if line > len(after) - tail:
        return line - len(after) + len(before)
    old, new = before[same : len(before) - tail], after[same : len(after) - tail]
    if max(len(old), len(new)) > _MOST_COMPARED:
        return None
    from difflib import SequenceMatcher

    for start, place, size in SequenceMatcher(None, old, new).get_matching_blocks():
        if place <= line - same - 1 < place + size:
            return line - place + start
    return None
