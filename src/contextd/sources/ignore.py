"""Which files are ignored, with git's own semantics.

Inside a git repository git itself is asked; elsewhere the same rules are read from nested `.gitignore` files. On top of
either come `.contextignore` files and the configured patterns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from contextd.sources.git import git

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

UNLISTED = "cannot be listed"  # how the reason of a folder begins that could not be looked into
_MOST_PATTERNS = 5000
_LONGEST_PATTERN = 500
_SHOWN_HIDDEN = frozenset({".github", ".gitlab", ".circleci", ".devcontainer", ".cargo", ".config"})


class Ignore:
    """Decides for one root."""

    def __init__(self, root: Path, patterns: tuple[str, ...], *, gitignore: bool, extra_files: tuple[str, ...]) -> None:
        self.root = root
        self.gitignore = gitignore
        self.extra_files = extra_files
        self._patterns = patterns
        self._specs: dict[str, list[tuple[str, str, GitIgnoreSpec]]] = {}
        self._folders: dict[str, str] = {}
        self.nested: set[str] = set()  # repositories inside this one, whose files git does not list

    @cached_property
    def _configured(self) -> GitIgnoreSpec:
        return _spec(self._patterns)

    @cached_property
    def listed(self) -> list[str] | None:
        """The files git knows or would add, below the root; None where git cannot say."""
        if not self.gitignore:
            return None
        top = git(self.root, "rev-parse", "--show-toplevel")
        if top is None or not self.root.is_relative_to(
            os.fsdecode(top.removesuffix(b"\n"))
        ):  # core.worktree may name any folder
            return None
        out = git(self.root, "ls-files", "-co", "--exclude-standard", "-z", "--", ".")
        if out is None:
            return None
        return sorted({name for one in out.split(b"\0") if one and is_below(name := os.fsdecode(one))})

    def reason(self, path: str, *, folder: bool = False) -> str:
        """Why a path is ignored by anything but git's own list; empty if it is not."""
        parent, _, name = path.rpartition("/")
        if folder:
            return self._folder_reason(path)
        return (self._folder_reason(parent) if parent else "") or self._own_reason(path, name, folder=False)

    def _folder_reason(self, path: str) -> str:
        known = self._folders.get(path)
        if known is None:
            parent, _, name = path.rpartition("/")
            known = (self._folder_reason(parent) if parent else "") or self._own_reason(path, name, folder=True)
            self._folders[path] = known
        return known

    def _own_reason(self, path: str, name: str, *, folder: bool) -> str:
        if folder and name.startswith(".") and name not in _SHOWN_HIDDEN:
            return f"in the hidden folder {name}"
        probe = (path + "/" if folder else path).encode("utf-8", "replace").decode("utf-8")
        if self._configured.match_file(probe):
            return "ignored by ignore_patterns"
        for file_name, base, spec in self._specs_for(path.rpartition("/")[0]):
            verdict = spec.check_file(probe[len(base) + 1 :] if base else probe).include
            if verdict:
                return f"ignored by {file_name}"
            if verdict is False:
                break
        return ""

    def _nested(self, folder: str) -> bool:
        return any(folder == top or folder.startswith(top + "/") for top in self.nested)

    def _specs_for(self, folder: str) -> list[tuple[str, str, GitIgnoreSpec]]:
        """The ignore files that speak about a folder, the deepest first: it has the last word."""
        found = self._specs.get(folder)
        if found is None:
            above = self._specs_for(folder.rpartition("/")[0]) if folder else []
            git_file = (".gitignore",) if self.gitignore and (self.listed is None or self._nested(folder)) else ()
            own = ((name, _read_spec(f"{self.root}/{folder}/{name}")) for name in (*self.extra_files, *git_file))
            found = [(name, folder, spec) for name, spec in own if spec is not None] + above
            self._specs[folder] = found
        return found


def is_below(path: str) -> bool:
    """Whether a relative path stays below its root by its text alone; git's index can be forged to hold any name."""
    return not any(part in ("", ".", "..") for part in path.removesuffix("/").split("/"))


def _read_spec(path: str) -> GitIgnoreSpec | None:
    if not os.path.isfile(path):  # noqa: PTH113 - asked for every folder of the project
        return None
    try:
        text = Path(path).read_text("utf-8", "replace")
    except OSError:
        return None
    lines = [line for line in text.splitlines()[:_MOST_PATTERNS] if len(line) <= _LONGEST_PATTERN]
    return _spec([line for line in lines if line.count("**") <= 4])


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # slow to import, and not needed to answer a question

    return GitIgnoreSpec.from_lines(patterns)


def walk(root: Path, ignore: Ignore) -> Iterator[tuple[str, str]]:
    """Every path below the root with the reason it is ignored, or none. Ignored folders are named, not entered."""
    if ignore.listed is not None:
        yield from _walk_list(root, ignore)
    else:
        yield from _walk_folders(root, "", ignore)


def _walk_list(root: Path, ignore: Ignore) -> Iterator[tuple[str, str]]:
    for path in ignore.listed or ():
        clean = path.rstrip("/")
        if path.endswith("/") or os.path.isdir(f"{root}/{path}"):  # noqa: PTH112 - asked for every file
            ignore.nested.add(clean)
            reason = ignore.reason(clean, folder=True)
            yield from [(clean, reason)] if reason else _walk_folders(root, clean, ignore)
        else:
            yield path, ignore.reason(path)


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
