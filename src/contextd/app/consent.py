"""Whether texts of a project may go to a model on another machine: only if the user's own settings name it."""

from __future__ import annotations

from pathlib import Path

PERSONAL = "personal"  # in privacy.remote_models: memories and chats


def may_leave(allowed: tuple[str, ...], name: str, root: Path | None) -> bool:
    """Return whether a project is named, by its name or its directory. Without a root: whether personal data is."""
    if root is None:
        return PERSONAL in allowed
    return name in set(allowed) - {PERSONAL} or any(Path(one).expanduser() == root for one in allowed if "/" in one)
