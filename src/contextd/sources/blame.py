"""What git knows of a file: who changed it, when and why, and what changes with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from contextd.sources.git import git
from contextd.types import Edit, History

_MOST = 300  # commits that are looked at
_LARGE = 30  # files of a commit above which it says nothing about what belongs together


class GitPast:
    """The past of the files below a root, as git has it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def history(self, path: str, limit: int) -> History | None:
        """The history of a file or folder; None without git, or when it is not in it."""
        out = git(self._root, "log", "-n", str(_MOST), "--format=%H%x00%an%x00%cs%x00%s%x01", "--", path)
        if not out or not out.strip():
            return None
        edits = [Edit(*entry.strip().split("\x00")) for entry in out.decode("utf-8", "replace").split("\x01") if entry.strip()]
        authors = Counter(edit.author for edit in edits).most_common()
        return History(tuple(edits[:limit]), tuple(authors), self._together(path, [edit.commit for edit in edits]))

    def origin(self, path: str, line: int) -> tuple[Edit, str] | None:
        """The commit that last changed a line, and its whole message; None without git."""
        out = git(self._root, "blame", "--porcelain", "-L", f"{line},{line}", "--", path)
        if not out:
            return None
        number = out.split(b" ", 1)[0].decode("ascii", "replace")
        told = git(self._root, "show", "-s", "--format=%H%x00%an%x00%cs%x00%s%x00%B", number, "--")
        if not told:
            return None
        *edit, message = told.decode("utf-8", "replace").split("\x00", 4)
        return Edit(*edit), message.strip()

    def _together(self, path: str, commits: list[str]) -> tuple[tuple[str, float], ...]:
        """Files that change in the same commits, by the share of this one's commits they are in."""
        out = git(self._root, "show", "--format=%x01", "--name-only", "--diff-merges=off", *commits[:100], "--") or b""
        sets = [set(entry.split("\n")) - {""} for entry in out.decode("utf-8", "replace").split("\x01")[1:]]
        small = [files for files in sets if 1 < len(files) <= _LARGE]
        counts = Counter(other for files in small for other in files if other != path and not other.startswith(path + "/"))
        return tuple((name, count / len(small)) for name, count in counts.most_common(10) if count > 1)
