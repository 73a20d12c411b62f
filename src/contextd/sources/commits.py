"""The commits of a repository as documents: message, files, and the changed lines that say most.

A commit never changes, so it is read once. They are read in batches: a process for each would take minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from contextd.committed import written
from contextd.ports import FileState, Skip
from contextd.sources.git import git
from contextd.types import COMMIT, Stamp

PREFIX = "commit:"
_BATCH = 50
_MOST_LINES = 40  # changed lines of one commit
_LONGEST_LINE = 160
_FORMAT = "%x01%H%x00%ct%x00%an%x00%cs%x00%B%x00"
_SHOWN = ("--no-color", "--no-ext-diff", "--no-textconv", "-U0", "--diff-merges=off", "--no-renames", "--numstat", "-p")
_HUNK = re.compile(r"^@@ [^@]* @@ ?(.*)")


@dataclass(slots=True)
class Commits:
    """The newest commits of the checkout at a root, at most so many; none without git."""

    root: Path
    most: int
    _order: list[str] = field(default_factory=list)
    _texts: dict[str, bytes] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """Stable for the same folder, and not that of its files."""
        return int.from_bytes(blake2b(f"commits {self.root}".encode("utf-8", "replace"), digest_size=8).digest(), "little") >> 1

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Every commit that is reachable from here, the newest first."""
        out = git(self.root, "log", "-n", str(self.most), "--format=%H %ct", "HEAD", "--") if self.most else b""
        if out is None and self.position():  # too slow, or not allowed to look: no reason to forget what is known
            yield Skip("", "git does not answer", unseen=True)
        entries = [line.split() for line in (out or b"").decode("ascii", "replace").splitlines()]
        self._order = [number for number, _ in entries]
        for number, seconds in entries:
            yield FileState(PREFIX + number, Stamp(0, int(seconds) * 1_000_000_000, 0, 0), COMMIT)

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """One commit as a text."""
        number = uri.removeprefix(PREFIX)
        if number not in self._texts:
            self._fetch(number)
        text = self._texts.pop(number, None)
        if text is None:
            return Skip(uri, "gone")
        seconds, _, body = text.partition(b"\n")
        return body, Stamp(0, int(seconds) * 1_000_000_000, 0, 0)

    def _fetch(self, number: str) -> None:
        """This commit and those after it in the order they are asked for."""
        start = self._order.index(number) if number in self._order else 0
        wanted = self._order[start : start + _BATCH] or [number]
        shown = git(self.root, "show", *_SHOWN, f"--format={_FORMAT}", *wanted, "--")
        for entry in (shown or b"").decode("utf-8", "replace").split("\x01")[1:]:
            parts = entry.split("\x00", 5)
            if len(parts) == 6:
                self._texts[parts[0]] = _text(*parts).encode("utf-8", "replace")

    def judge(self, path: str) -> FileState | Skip:
        """Commits are not judged one by one."""
        return Skip(path, "not a file")

    def change(self, uri: str, stamp: Stamp) -> str:
        """A commit never changes."""
        return ""

    def position(self) -> str:
        """When the log of what is checked out was last written; a worktree has its own."""
        place = self.root / ".git"
        try:
            if place.is_file():
                place = self.root / place.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
            return str((place / "logs" / "HEAD").stat().st_mtime_ns)
        except OSError:
            return ""

    def folders(self) -> frozenset[str]:
        """Commits lie in no folder of the project."""
        return frozenset()

    def is_folder(self, path: str) -> bool:
        """Commits lie in no folder of the project."""
        return False

    def present(self, path: str) -> bool:
        """Whether there is a repository; of single commits nothing is said."""
        return bool(path) or (self.root / ".git").exists()


def _text(number: str, seconds: str, author: str, day: str, message: str, rest: str) -> str:
    """The time for the reader of this file, then what is indexed."""
    counts, _, patch = rest.partition("\ndiff --git ")
    return f"{seconds}\n{written(message, author, day, number, _files(counts), _changed(patch))}"


def _files(counts: str) -> list[str]:
    found = []
    for line in counts.splitlines():
        parts = line.split("\t")
        if len(parts) == 3:
            found.append(f"{parts[2]} (+{parts[0]} -{parts[1]})" if parts[0] != "-" else parts[2])
    return found


def _changed(patch: str) -> list[str]:
    """Where it changed, and the lines that were added or taken away, as many as say something."""
    found: list[str] = []
    for line in patch.splitlines():
        if len(found) >= _MOST_LINES:
            break
        hunk = _HUNK.match(line)
        if hunk and hunk[1].strip():
            found.append(f"@ {hunk[1].strip()[:_LONGEST_LINE]}")
        elif line[:1] in "+-" and not line.startswith(("+++", "---")) and len(line.strip()) > 3:
            found.append(line.rstrip()[:_LONGEST_LINE])
    return list(dict.fromkeys(found))
