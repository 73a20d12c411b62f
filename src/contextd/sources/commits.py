"""Commits of a repository as documents: message, files, and the most informative changed lines.

A commit never changes, so it is read once. Commits are read in batches, since one process per commit would take minutes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from contextd.chunking.commit_text import ChangedFile, Hunk, RawCommit, packed_commit
from contextd.chunking.parse import decode
from contextd.ports.world import FileState, Skip
from contextd.sources.filetypes import binary_reason, language_by_content, never_read
from contextd.sources.git import git, git_folder
from contextd.values.document import COMMIT, Stamp

PREFIX = "commit:"
_BATCH = 50
_ENOUGH_LINES = 120  # changed lines read per commit; the first informative ones are shown
_LARGEST_BLOB = 512 << 10
_LARGEST_COMMIT = 4 << 20  # bytes of both versions of all files; files beyond it are listed without lines
_LARGEST_BATCH = 64 << 20
_FORMAT = "%H%x00%ct%x00%an%x00%cs%x00%B%x00"
_NAMED = ("--diff-merges=off", "--no-renames", "--no-abbrev", "--raw")
_SHOWN = (*_NAMED, "--numstat", "-p", "-U0", "--full-index")
_HUNK = re.compile(r"(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")
_BLOBS = re.compile(r"(?m)^index ([0-9a-f]+)\.\.([0-9a-f]+)")
_RAW = re.compile(r"(?m)^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) \w+\t(.+)$")
_ESCAPED = re.compile(rb"\\([0-7]{3}|[abtnvfr\"\\])")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r", b'"': b'"', b"\\": b"\\"}
_NONE = re.compile("0+$")  # the blob of a missing file


@dataclass(slots=True)
class Commits:
    """The newest commits of the checkout at a root, at most `most`; none without git."""

    root: Path
    most: int
    shows: Callable[[str], bool] = lambda path: True  # whether lines of a file may be shown
    _order: list[str] = field(default_factory=list)
    _read: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """Stable for the same folder, and different from the id of its files."""
        return int.from_bytes(blake2b(f"commits {self.root}".encode("utf-8", "replace"), digest_size=8).digest(), "little") >> 1

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Yield every commit reachable from HEAD, newest first."""
        out = git(self.root, "log", "-n", str(self.most), "--format=%H %ct", "HEAD", "--") if self.most else b""
        if out is None and self.position():  # too slow, or no permission: keep the known commits
            yield Skip("", "git does not answer", unseen=True)
        entries = [line.split() for line in (out or b"").decode("ascii", "replace").splitlines()]
        self._order = [number for number, _ in entries]
        for number, seconds in entries:
            yield FileState(PREFIX + number, Stamp(0, int(seconds) * 1_000_000_000, 0, 0), COMMIT)

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """Return one commit with both versions of the changed files. The parser scrubs it."""
        number = uri.removeprefix(PREFIX)
        if number not in self._read:
            self._fetch(number)
        found = self._read.pop(number, None)
        if found is None:
            return Skip(uri, "gone")
        seconds, data = found
        return data, Stamp(0, seconds * 1_000_000_000, 0, 0)

    def _fetch(self, number: str) -> None:
        """Read this commit and the following ones in one batch."""
        start = self._order.index(number) if number in self._order else 0
        wanted = self._order[start : start + _BATCH] or [number]
        border = secrets.token_hex(16)  # a random separator that no file and no message contains
        shown = git(self.root, "show", *_SHOWN, f"--format={border}{_FORMAT}", *wanted, "--")
        if shown is None:  # a partial clone lacks some contents, and nothing is fetched: read only the file names
            shown = git(self.root, "show", *_NAMED, f"--format={border}{_FORMAT}", *wanted, "--")
        entries = [entry.split("\x00", 5) for entry in (shown or b"").decode("utf-8", "replace").split(border)[1:]]
        entries = [entry for entry in entries if len(entry) == 6]
        patches = {entry[0]: _patches(entry[5], self.shows) for entry in entries}
        blobs = self._blobs([blob for several in patches.values() for patch in several for blob in patch.blobs if patch.hunks])
        for found, seconds, author, day, message, _ in entries:
            files = tuple(_changed_files(patches[found], blobs))
            self._read[found] = int(seconds), packed_commit(RawCommit(found, author, day, message, files))

    def _blobs(self, wanted: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of some blobs, in order, up to the limits of size."""
        asked = "\n".join(dict.fromkeys(blob for blob in wanted if not _NONE.match(blob)))
        sizes = git(self.root, "cat-file", "--batch-check", stdin=asked.encode()) if asked else b""
        small = [line.split() for line in (sizes or b"").split(b"\n")]
        names, left = [], _LARGEST_BATCH
        for parts in small:
            if len(parts) == 3 and parts[1] == b"blob" and int(parts[2]) <= min(left, _LARGEST_BLOB):
                left -= int(parts[2])
                names.append(parts[0])
        out = git(self.root, "cat-file", "--batch", stdin=b"\n".join(names)) if names else b""
        return _contents(out or b"")

    def judge(self, path: str) -> FileState | Skip:
        """Commits are not judged one by one."""
        return Skip(path, "not a file")

    def change(self, uri: str, stamp: Stamp) -> str:
        """A commit never changes."""
        return ""

    def position(self) -> str:
        """Return when HEAD's log was last written. A worktree has its own log."""
        try:
            folder = git_folder(self.root)
            return str((folder / "logs" / "HEAD").stat().st_mtime_ns) if folder is not None else ""
        except OSError:
            return ""

    def folders(self) -> frozenset[str]:
        """Commits are in no folder of the project."""
        return frozenset()

    def is_folder(self, path: str) -> bool:
        """Commits are in no folder of the project."""
        return False

    def present(self, path: str) -> bool:
        """Return whether the repository exists. Single commits are always present."""
        return bool(path) or (self.root / ".git").exists()


@dataclass(frozen=True, slots=True)
class _Patch:
    """One changed file: the two blobs, the line counts, and the hunks."""

    path: str
    blobs: tuple[str, str]
    counts: str
    hunks: tuple[Hunk, ...]


def _patches(shown: str, shows: Callable[[str], bool]) -> list[_Patch]:
    """Parse the files of a commit from git's output. Files whose text may not be read have no hunks."""
    head, *blocks = shown.split("\ndiff --git ")
    counts = dict(_counts(head))
    hunks = {found.groups(): _hunks(block) for block in blocks if (found := _BLOBS.search(block))}
    patches, lines = [], 0
    for _, _, old, new, quoted in _RAW.findall(head):
        path = _unquoted(quoted)
        several = hunks.get((old, new), ()) if lines < _ENOUGH_LINES and not never_read(path) and shows(path) else ()
        lines += sum(hunk.old_count + hunk.new_count for hunk in several)
        patches.append(_Patch(path, (old, new), counts.get(quoted, ""), several))
    return patches


def _counts(head: str) -> Iterator[tuple[str, str]]:
    for line in head.split("\n"):
        parts = line.split("\t")
        if len(parts) == 3 and not line.startswith(":"):
            yield parts[2], f" (+{parts[0]} -{parts[1]})" if parts[0] != "-" else ""


def _hunks(block: str) -> tuple[Hunk, ...]:
    found = []
    for old_start, old_count, new_start, new_count, heading in _HUNK.findall(block):
        found.append(Hunk(int(old_start), int(old_count or 1), int(new_start), int(new_count or 1), heading.strip()))
    return tuple(found)


def _unquoted(path: str) -> str:
    """Return a path unquoted. Git quotes special characters as in C."""
    if not path.startswith('"'):
        return path
    plain = _ESCAPED.sub(lambda match: _ESCAPES.get(match[1]) or bytes([int(match[1], 8) & 255]), path[1:-1].encode())
    return plain.decode("utf-8", "replace")


def _contents(out: bytes) -> dict[str, bytes]:
    """Parse the output of `cat-file --batch`: a line with name, kind and size, the bytes, a line feed."""
    found, at = {}, 0
    while (end := out.find(b"\n", at)) >= 0:
        parts = out[at:end].split()
        if len(parts) != 3:
            at = end + 1
            continue
        size = int(parts[2])
        found[parts[0].decode("ascii", "replace")] = out[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found


def _changed_files(patches: Sequence[_Patch], blobs: Mapping[str, bytes]) -> Iterator[ChangedFile]:
    left = _LARGEST_COMMIT
    for patch in patches:
        file = _changed(patch, blobs)
        left -= len(file.old) + len(file.new)
        yield file if left >= 0 else ChangedFile(patch.path, "", patch.counts)


def _changed(patch: _Patch, blobs: Mapping[str, bytes]) -> ChangedFile:
    """Return a changed file with both versions; without them if one is too large or binary."""
    sides = [blobs.get(blob, b"") if not _NONE.match(blob) else b"" for blob in patch.blobs]
    there = all(blob in blobs or _NONE.match(blob) for blob in patch.blobs)
    if not patch.hunks or not there or any(binary_reason(side) for side in sides):
        return ChangedFile(patch.path, "", patch.counts)
    old, new = (decode(side)[0] for side in sides)
    return ChangedFile(patch.path, language_by_content(patch.path, sides[1] or sides[0]), patch.counts, old, new, patch.hunks)
