"""Make a topic private: its memories, and those of topics below it, answer on this machine only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contextd.errors import NotFound
from contextd.settings import config
from contextd.settings.config_file import set_value

if TYPE_CHECKING:
    from contextd.app.session import Session

_KEY = "privacy.topics"


def set_private(session: Session, name: str, *, private: bool) -> None:
    """Add a topic to the private ones in the user's settings, or remove it. Raises NotFound for an unknown topic."""
    path = session.home.path / "config.toml"
    known = config.load(path, None, {}).settings.privacy.topics
    if name not in known and name not in {topic.name for topic in session.memories.topics()}:
        raise NotFound(f"no such topic: {name!r}; run `contextd topics` for a list")
    others = [one for one in known if one != name]
    set_value(path, _KEY, json.dumps([*others, name] if private else others, ensure_ascii=False), trusted=True)
