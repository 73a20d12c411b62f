"""Decide which files are ignored, with git's own semantics.

Inside a git repository git itself is asked; elsewhere the same rules are read from nested `.gitignore` files. In both cases
`.contextignore` files and the configured patterns apply, too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from contextd.sources.git import git
from contextd.sources.patterns import LONGEST, MOST, Patterns, lines_of, parsed

UNLISTED = "cannot be listed"  # prefix of the reason for a folder that could not be listed
_LARGEST = 512 << 10  # bytes of an ignore file
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_SHOWN_HIDDEN = frozenset({".github", ".gitlab", ".circleci", ".devcontainer", ".cargo", ".config"})

T = TypeVar("T")


class Ignore:
    """The ignore rules of one root."""

    def __init__(self, root: Path, patterns: tuple[str, ...], *, gitignore: bool, extra_files: tuple[str, ...]) -> None:
        self.root = root
        self.gitignore = gitignore
        self.extra_files = extra_files
        self._patterns = patterns
        self._specs: dict[str, list[tuple[str, int, Patterns]]] = {}
        self._folders: dict[str, str] = {"": ""}
        self.warnings: list[str] = []  # patterns that are not used
        self.nested: set[str] = set()  # repositories inside this one, whose files git does not list

    @cached_property
    def _configured(self) -> Patterns:
        found: list[bytes] = []
        for pattern in self._patterns:
            lines = [line for line in lines_of(pattern.encode("utf-8", "surrogateescape")) if len(line) <= LONGEST]
            if not lines or None in map(parsed, lines):
                self.warnings.append(f"ignore_patterns: {pattern[:80]!r} is not a valid pattern; correct or remove it")
            found += lines
        return Patterns(found)

    @cached_property
    def listed(self) -> list[str] | None:
        """The tracked and untracked, not ignored files below the root; None if git cannot tell."""
        if not self.gitignore:
            return None
        top = git(self.root, "rev-parse", "--show-toplevel")
        if top is None or not self.root.is_relative_to(os.fsdecode(top.removesuffix(b"\n"))):
            return None  # core.worktree may name any folder
        out = git(self.root, "ls-files", "-co", "--exclude-standard", "-z", "--", ".")
        if out is None:
            return None
        return sorted({name for one in out.split(b"\0") if one and is_below(name := os.fsdecode(one))})

    def reason(self, path: str, *, folder: bool = False) -> str:
        """Return why a path is ignored by rules other than git's list; empty if it is not."""
        parent, _, name = path.rpartition("/")
        if folder:
            return self._folder_reason(path)
        return self._folder_reason(parent) or self._own_reason(path, name, folder=False)

    def _folder_reason(self, path: str) -> str:
        def own(folder: str, above: str) -> str:
            return above or self._own_reason(folder, folder.rpartition("/")[2], folder=True)

        return inherited(self._folders, path, own)

    def _own_reason(self, path: str, name: str, *, folder: bool) -> str:
        if folder and name.startswith(".") and name not in _SHOWN_HIDDEN:
            return f"in the hidden folder {name}"
        probe = _encoded(path)
        if self._configured.verdict(probe, folder=folder):
            return "ignored by ignore_patterns"
        for file_name, start, patterns in self._specs_for(path.rpartition("/")[0]):
            verdict = patterns.verdict(probe[start:], folder=folder)
            if verdict:
                return f"ignored by {file_name}"
            if verdict is False:
                break
        return ""

    def _nested(self, folder: str) -> bool:
        return any(folder == top or folder.startswith(top + "/") for top in self.nested)

    def _specs_for(self, folder: str) -> list[tuple[str, int, Patterns]]:
        """Return the ignore files that apply to a folder, each with its offset in a path. The deepest comes first and wins."""
        if not self._specs:
            self._specs[""] = self._own_specs("")
        return inherited(self._specs, folder, lambda one, above: self._own_specs(one) + above)

    def _own_specs(self, folder: str) -> list[tuple[str, int, Patterns]]:
        git_file = (".gitignore",) if self.gitignore and (self.listed is None or self._nested(folder)) else ()
        own = ((name, self._read(f"{folder}/{name}" if folder else name)) for name in (*self.extra_files, *git_file))
        start = len(_encoded(folder)) + 1 if folder else 0
        return [(name, start, patterns) for name, patterns in own if patterns is not None]

    def _read(self, path: str) -> Patterns | None:
        """Return the patterns of an ignore file; None if it is missing. As in git, links are not followed."""
        data = _content(f"{self.root}/{path}")
        if data is None:
            return None
        lines = lines_of(data[:_LARGEST])
        if len(data) > _LARGEST or len(lines) > MOST:
            self.warnings.append(f"{path} is too long: only the first {MOST} patterns in {_LARGEST >> 10} kB are used")
        if too_long := sum(len(line) > LONGEST for line in lines):
            self.warnings.append(f"{path}: {too_long} patterns longer than {LONGEST} bytes are ignored")
        return Patterns(lines[:MOST])


def inherited(known: dict[str, T], folder: str, step: Callable[[str, T], T]) -> T:
    """Return the value of a folder, computed by `step` from the value of its parent.

    `known` has the root's value and caches the others. There is no recursion: a hostile project may nest folders thousands
    deep.
    """
    missing = []
    while folder not in known:
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    value = known[folder]
    for one in reversed(missing):
        value = known[one] = step(one, value)
    return value


def _encoded(path: str) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:  # no file has this name
        return path.encode("utf-8", "replace")


def _content(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, _OPEN)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def is_folder(path: str) -> bool:
    """Return whether a path is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_below(path: str) -> bool:
    """Return whether a relative path stays below its root, by its text alone. Git's index can be forged to hold any name."""
    return not any(part in ("", ".", "..") for part in path.removesuffix("/").split("/"))


def walk(root: Path, ignore: Ignore) -> Iterator[tuple[str, str]]:
    """Yield every path below the root with the reason it is ignored, or an empty one. Ignored folders are not entered."""
    if ignore.listed is not None:
        yield from _walk_list(root, ignore)
    else:
        yield from _walk_folders(root, "", ignore)


def _walk_list(root: Path, ignore: Ignore) -> Iterator[tuple[str, str]]:
    for path in ignore.listed or ():
        clean = path.rstrip("/")
        if is_folder(f"{root}/{clean}"):
            ignore.nested.add(clean)
            reason = ignore.reason(clean, folder=True)
            yield from [(clean, reason)] if reason else _walk_folders(root, clean, ignore)
        else:
            yield clean, ignore.reason(clean)


def _walk_folders(root: Path, start: str, ignore: Ignore) -> Iterator[tuple[str, str]]:
    stack = [start]
    while stack:
        folder = stack.pop()
        try:
            entries = sorted(os.scandir(f"{root}/{folder}"), key=lambda entry: entry.name)
        except OSError as error:
            yield folder, f"{UNLISTED}: {error.strerror}"
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            reason = ignore.reason(path, folder=is_folder)
            if is_folder and not reason:
                stack.append(path)
            else:
                yield path, reason
