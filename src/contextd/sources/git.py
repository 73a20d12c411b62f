"""Git, asked as a program. A repository's configuration and attributes can name programs; none of them is run.

The working tree is never compared with a commit here: that runs the repository's filters, and git has no option against it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

GIT_TIMEOUT = 60
_SETTINGS = (
    "core.fsmonitor=false",  # asked by ls-files
    "core.hooksPath=" + os.devnull,
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "safe.bareRepository=explicit",  # files of a project can look like a bare repository
    "submodule.recurse=false",
    "color.ui=false",
    "i18n.logOutputEncoding=UTF-8",  # what is not UTF-8 would pass the scrubber unseen
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
)
_GIT = ("--no-pager", *(part for setting in _SETTINGS for part in ("-c", setting)))
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone fetches what it lacks through programs of its configuration,
    "GIT_ALLOW_PROTOCOL": "none",  # and versions of git without that variable are allowed no transport
    "LC_ALL": "C",
}
_DIFF = ("--no-ext-diff", "--no-textconv")
_LOG = (*_DIFF, "--no-show-signature", "--no-color", "--submodule=short")  # other formats start git in the submodule
_SAFE = {"blame": _DIFF, "log": _LOG, "show": _LOG}


def git(root: Path, command: str, *arguments: str, stdin: bytes = b"") -> bytes | None:
    """What git prints; None without git, without a repository, or when it takes too long."""
    import subprocess

    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # a hook's are of its repository
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


@lru_cache(maxsize=4)
def _program(path: str) -> str | None:
    """The full path of git; a relative entry of PATH would find a program inside the project."""
    from shutil import which

    found = which("git", path=os.pathsep.join(place for place in path.split(os.pathsep) if Path(place).is_absolute()))
    return found if found and Path(found).is_absolute() else None
