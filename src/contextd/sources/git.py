"""Run git as a program. A repository's configuration and attributes can name programs; none of them is run.

The working tree is never compared with a commit here: that runs the repository's filters, and git has no option against it.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

GIT_TIMEOUT = 60
_LONGEST_POINTER = 5000  # bytes of a `.git` file that names a folder
_OWN = (
    "HEAD",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/pack",
    "refs",
    "refs/heads",
    "packed-refs",
    "logs",
    "config",
)
_SETTINGS = (
    "core.fsmonitor=false",  # asked by ls-files
    "core.hooksPath=" + os.devnull,
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "core.bigFileThreshold=512k",  # larger files are shown as binary, since a patch is held in memory
    "safe.bareRepository=explicit",  # files of a project can look like a bare repository
    "submodule.recurse=false",
    "color.ui=false",
    "i18n.logOutputEncoding=UTF-8",  # other encodings would pass the scrubber unseen
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
)
_GIT = ("--no-pager", *(part for setting in _SETTINGS for part in ("-c", setting)))
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone fetches missing objects through programs of its configuration;
    "GIT_ALLOW_PROTOCOL": "none",  # versions of git without that variable are allowed no transport
    "LC_ALL": "C",
}
_DIFF = ("--no-ext-diff", "--no-textconv")
_LOG = (*_DIFF, "--no-show-signature", "--no-color", "--submodule=short")  # other formats start git in the submodule
_SAFE = {"blame": _DIFF, "log": _LOG, "show": _LOG}


def git(root: Path, command: str, *arguments: str, stdin: bytes = b"") -> bytes | None:
    """Return the output of git; None without git, without a repository, on an error, or after a timeout."""
    import subprocess

    if git_folder(root) is None:
        return None
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # a hook's name its repository
    program = _program(os.environ.get("PATH", os.defpath))
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, arguments are ours
            (program, *_GIT, command, *_SAFE.get(command, ()), *arguments),
            cwd=root, env=own | _ENVIRONMENT, input=stdin, capture_output=True, timeout=GIT_TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def git_folder(root: Path) -> Path | None:
    """Return the git folder of the repository a folder is in; None if there is none, or if it belongs to another repository.

    A `.git` file can name any folder. It is accepted if it names a worktree's folder, which names this folder in turn and is
    listed by its repository, or the folder of a submodule of a repository above. A git folder that takes its commits from
    elsewhere, by a common directory, by links or by alternates, is rejected.
    """
    for folder in (root, *root.parents):
        place = folder / ".git"
        try:
            kind = place.lstat().st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISLNK(kind):
            inside = place.resolve().is_relative_to(folder.resolve())
            target = _alone(place.resolve()) if inside and place.is_dir() else None
        else:
            target = _alone(place) if stat.S_ISDIR(kind) else _pointed(folder, place)
        return target if target is not None and _is_regular(target / "HEAD") and not _borrows(target) else None
    return None


def _alone(target: Path) -> Path | None:
    """Return a git folder, unless it takes its commits from another one."""
    return None if _exists(target / "commondir") else target


def _pointed(folder: Path, place: Path) -> Path | None:
    named = _first_line(place)
    if not named.startswith("gitdir:"):
        return None
    target = (folder / named.removeprefix("gitdir:").strip()).resolve()
    back, common = _first_line(target / "gitdir"), _first_line(target / "commondir")
    if back and (target / back).resolve() == place.resolve():
        return target if common and target.parent == (target / common).resolve() / "worktrees" else None
    is_module = any(target.is_relative_to(above.resolve() / ".git" / "modules") for above in folder.parents)
    return target if is_module and not _exists(target / "commondir") else None


def _borrows(target: Path) -> bool:
    """Return whether a part of the git folder, or of the one it is a worktree of, that defines its commits is elsewhere."""
    common = _first_line(target / "commondir")
    folders = [target, (target / common).resolve()] if common else [target]
    return any(_has_links(one) or _has_alternates(one) for one in folders)


def _has_alternates(target: Path) -> bool:
    """Return whether git takes objects from other folders, too: a clone made with `--shared` or `--reference` does."""
    listed = target / "objects/info/alternates"
    if not _is_regular(listed):
        return _exists(listed)
    try:
        lines = listed.read_bytes().splitlines()
    except OSError:
        return True
    return any(line.strip() and not line.startswith(b"#") for line in lines)


def _has_links(target: Path) -> bool:
    ref = _first_line(target / "HEAD").removeprefix("ref:").strip()
    places = [target / name for name in _OWN]
    places += [target / Path(*Path(ref).parts[: count + 1]) for count in range(len(Path(ref).parts))] if ref else []
    return any(place.is_symlink() for place in places) or any(_has_links_below(target / name) for name in ("objects", "refs"))


def _has_links_below(folder: Path) -> bool:
    """Return whether a folder of a repository has links at any depth. Looked at again when an entry of it changes."""
    try:
        return _links_below(str(folder), folder.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=64)
def _links_below(folder: str, changed: int) -> bool:
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    return True
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return False


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _first_line(path: Path) -> str:
    if not _is_regular(path):
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_POINTER).decode("utf-8", "replace").split("\n")[0].replace("\0", "")
    except (OSError, ValueError):
        return ""


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=4)
def _program(path: str) -> str | None:
    """Return the absolute path of git. A relative entry of PATH could name a program inside the project."""
    from shutil import which

    found = which("git", path=os.pathsep.join(place for place in path.split(os.pathsep) if Path(place).is_absolute()))
    return found if found and Path(found).is_absolute() else None
