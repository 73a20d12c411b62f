"""Git, asked as a program: hostile repositories can make it run others through their configuration, so that is switched off."""

from __future__ import annotations

import os
from pathlib import Path

GIT_TIMEOUT = 60
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
        "-c", "diff.external=", "-c", "log.showSignature=false", "-c", "core.pager=cat")  # fmt: skip


def git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes | None:
    """What git prints; None without git, without a repository, or when it takes too long."""
    import subprocess

    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # a hook's are of its repository
    environment = {**own, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, arguments are ours
            (*_GIT, *arguments), cwd=root, env=environment, input=stdin, capture_output=True, timeout=GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
