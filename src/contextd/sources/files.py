"""Files of a project: which belong to it, why others are skipped, and how a file is read safely.

A file is opened by walking down from the root without following links. Nothing outside the root can be reached, even if a
folder is replaced by a link between check and read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from contextd.chunking.extraction import missing
from contextd.ports.world import FileState, Skip
from contextd.privacy.formats import Rule
from contextd.sources.filetypes import BINARY, DOCUMENTS, binary_reason, language_of, never_read
from contextd.sources.ignore import UNLISTED, Ignore, inherited, is_below, is_folder, walk
from contextd.values.document import Stamp

_SUSPECT = re.compile(r"(?i)[A-Za-z0-9_-]{20}|pass|pwd|secret|token|key")  # other names cannot contain a secret
_ALTERED = re.compile(r"~[0-9a-f]{8}$")
_MOST = (1 << 63) - 1
_NEVER = "never read: this name holds secrets"
_GONE = "gone"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The settings that decide which files belong to a project. Stored with the index; a change triggers a new scan."""

    watch_paths: tuple[str, ...] = ()
    ignore_patterns: tuple[str, ...] = ()
    use_gitignore: bool = True
    use_contextignore: bool = True
    use_dockerignore: bool = False
    allowed_extensions: tuple[str, ...] = ()
    blocked_extensions: tuple[str, ...] = ()
    max_bytes: int = 5 << 20
    size_exceptions: tuple[str, ...] = ()
    follow_symlinks: bool = False
    binary_threshold: int = 30


@dataclass(slots=True)
class Files:
    """A project's folder as a source of documents."""

    root: Path
    boundaries: Boundaries
    rules: tuple[Rule, ...] = ()
    ignore: Ignore = field(init=False)
    _raw: dict[str, str] = field(init=False, default_factory=dict)
    _linked: dict[str, bool] = field(init=False, default_factory=lambda: {"": False})  # folders that are links, or behind one

    def __post_init__(self) -> None:
        self.ignore = self._fresh_ignore()

    def _fresh_ignore(self) -> Ignore:
        extra = [".contextignore"] if self.boundaries.use_contextignore else []
        extra += [".dockerignore"] if self.boundaries.use_dockerignore else []
        patterns = self.boundaries.ignore_patterns
        return Ignore(self.root, patterns, gitignore=self.boundaries.use_gitignore, extra_files=tuple(extra))

    @property
    def id(self) -> int:
        """Stable for the same folder."""
        return int.from_bytes(blake2b(os.fsencode(self.root), digest_size=8).digest(), "little") >> 1

    def scan(self, paths: Sequence[str] = ()) -> Iterator[FileState | Skip]:
        """Yield every file below the root, or at and below some paths; skipped files with the reason."""
        self.ignore = self._fresh_ignore()  # the ignore files may have changed
        self._linked = {"": False}
        folders = [path for path in paths if is_folder(f"{self.root}/{path}")]
        yield from (self.judge(path) for path in paths if path not in folders)
        if paths and not folders:
            return
        for path, ignored in walk(self.root, self.ignore):
            if folders and not any(path == folder or path.startswith(folder + "/") for folder in folders):
                continue
            uri = self._uri(path)
            yield Skip(uri, ignored, ignored.startswith(UNLISTED)) if ignored else self._judge(uri, path)

    def warnings(self) -> tuple[str, ...]:
        """Return the ignore patterns that the last scan could not use."""
        return tuple(self.ignore.warnings)

    def position(self) -> str:
        """Always empty: changes of files are known by events."""
        return ""

    def folders(self) -> frozenset[str]:
        """Return the folders with files that are not ignored, and their parents."""
        found = {""}
        for path, ignored in walk(self.root, self._fresh_ignore()):
            folder = path.rpartition("/")[0]
            while not ignored and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    def change(self, uri: str, stamp: Stamp) -> str:
        """Return what happened to a file since it had this stamp; empty if nothing did, or if the uri is not its real path."""
        if uri not in self._raw and _ALTERED.search(uri):
            return ""
        try:
            return "" if _stamp((self.root / self._raw.get(uri, uri)).stat()) == stamp else "has changed"
        except OSError:
            return "is gone"

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder that is not ignored."""
        return is_folder(f"{self.root}/{path}") and not self.ignore.reason(path, folder=True)

    def present(self, path: str) -> bool:
        """Return whether anything exists at a path below the root."""
        return os.path.lexists(self.root / path)

    def judge(self, path: str) -> FileState | Skip:
        """Return the same verdict as `scan` for one path below the root."""
        uri, listed = self._uri(path), self.ignore.listed
        if not is_below(path):
            return Skip(uri, "outside the project")
        if listed is not None and path not in listed and (self.root / path).exists():
            return Skip(uri, self.ignore.reason(path) or "ignored by git")
        return self._judge(uri, path) if not (ignored := self.ignore.reason(path)) else Skip(uri, ignored)

    def read(self, uri: str) -> tuple[bytes, Stamp] | Skip:
        """Return the bytes and stamp of a file, or why it cannot be read. A file that changes meanwhile is read again once."""
        path = self._raw.get(uri, uri)
        if never_read(path):  # also for names that did not come from a scan
            return Skip(uri, _NEVER)
        for _ in range(2):
            try:
                data, before, after = self._read_once(path)
            except OSError as error:
                return Skip(uri, reason := _denied(error), failed=reason != _GONE)
            if before == after and len(data) == after.size:
                document = language_of(path) in DOCUMENTS
                reason = "" if document else binary_reason(data, self.boundaries.binary_threshold)
                return Skip(uri, reason) if reason else (data, after)
        return Skip(uri, "changed while it was read; the next run indexes it")

    def _uri(self, path: str) -> str:
        """Return the path as printable, scrubbed text. If that changed it, a hash is added to keep it unique."""
        shown = _shown(path)
        if self.rules or _SUSPECT.search(shown):
            from contextd.privacy import scrub_text

            shown, _ = scrub_text(shown, self.rules)
        if shown == path:
            return path
        uri = f"{shown}~{blake2b(os.fsencode(path), digest_size=4).hexdigest()}"
        self._raw[uri] = path
        return uri

    def _judge(self, uri: str, path: str) -> FileState | Skip:
        if not self._watched(path):
            return Skip(uri, "outside watch_paths")
        if never_read(path):
            return Skip(uri, _NEVER)
        extension = os.path.splitext(path)[1].lower()  # noqa: PTH122 - a third of the time of a Path
        if reason := self._extension_reason(extension):
            return Skip(uri, reason)
        try:
            if self._behind_link(path.rpartition("/")[0]):
                return Skip(uri, "behind a symbolic link")
            info = os.lstat(f"{self.root}/{path}")
            if stat.S_ISLNK(info.st_mode):
                reason, info = self._through_link(uri, path)
                if reason:
                    return Skip(uri, reason)
        except OSError as error:
            return Skip(uri, _denied(error), unseen=not isinstance(error, FileNotFoundError | NotADirectoryError))
        if not stat.S_ISREG(info.st_mode):
            return Skip(uri, "not a regular file")
        limit = self.boundaries.max_bytes
        if info.st_size > limit and path not in self.boundaries.size_exceptions:
            return Skip(uri, f"larger than {limit / (1 << 20):g} MB ({info.st_size / (1 << 20):.1f} MB)")
        return FileState(uri, _stamp(info), language_of(path))

    def _watched(self, path: str) -> bool:
        watch = self.boundaries.watch_paths
        return not watch or any(path == folder or path.startswith(folder + "/") for folder in watch)

    def _extension_reason(self, extension: str) -> str:
        if self.boundaries.allowed_extensions and extension not in self.boundaries.allowed_extensions:
            return f"extension {extension or 'none'} is not in allowed_extensions"
        if extension in self.boundaries.blocked_extensions:
            return f"extension {extension} is in blocked_extensions"
        if extension[1:] in DOCUMENTS and (needed := missing(extension[1:])):
            return f"needs the documents extra: {needed}"
        return f"binary (extension {extension})" if extension[1:] in BINARY else ""

    def _behind_link(self, folder: str) -> bool:
        """Return whether a folder is a link or behind one. A path listed by git may have become one since."""

        def own(one: str, above: bool) -> bool:
            return above or stat.S_ISLNK(os.lstat(f"{self.root}/{one}").st_mode)

        return inherited(self._linked, folder, own)

    def _through_link(self, uri: str, path: str) -> tuple[str, os.stat_result]:
        link = self.root / path
        info = os.lstat(link)
        if not self.boundaries.follow_symlinks:
            return "symbolic link", info
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            return "symbolic link to nothing, or in a circle", info
        if not target.is_relative_to(self.root):
            return "symbolic link out of the project", info
        if target.is_dir():
            return "symbolic link to a folder", info
        inside = target.relative_to(self.root).as_posix()
        if reason := self.ignore.reason(inside) or (_NEVER if never_read(inside) else ""):
            return f"symbolic link to a file that is left out ({reason})", info
        self._raw[uri] = inside
        return "", target.stat()

    def _read_once(self, path: str) -> tuple[bytes, Stamp, Stamp]:
        descriptor = open_below(self.root, path)
        with os.fdopen(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(0, "not a regular file")
            data = file.read(info.st_size + 1)
            return data, _stamp(info), _stamp(os.fstat(descriptor))


def _shown(path: str) -> str:
    """Return a path with invalid bytes and unprintable characters escaped."""
    if path.isprintable() and path.isascii():
        return path
    try:
        path.encode("utf-8")
        if path.isprintable():
            return path
    except UnicodeEncodeError:
        pass
    return os.fsencode(path).decode("utf-8", "backslashreplace").encode("unicode_escape").decode("ascii")


def open_below(root: Path, path: str) -> int:
    """Open a file by walking down from the root. Raises OSError for a link anywhere on the way."""
    if not is_below(path):
        raise OSError(0, "outside the project")
    if os.open not in os.supports_dir_fd:  # Windows
        target = (root / path).resolve(strict=True)
        if not target.is_relative_to(root):
            raise OSError(0, "outside the project")
        return os.open(target, _OPEN)
    *folders, name = path.split("/")
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, _OPEN | _NO_FOLLOW, dir_fd=here)
    finally:
        os.close(here)


def _stamp(info: os.stat_result) -> Stamp:
    """Return the stamp of a file. Times after 2262 and huge inode numbers are clamped to 64 bits."""
    return Stamp(info.st_size, _fitting(info.st_mtime_ns), _fitting(info.st_ctime_ns), info.st_ino & _MOST)


def _fitting(number: int) -> int:
    return max(-_MOST, min(_MOST, number))


def _denied(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _GONE
    return f"cannot be read: {error.strerror or error}"
