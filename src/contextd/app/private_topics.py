"""Private topics: their memories, and those of topics below them, answer on this machine only."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from contextd.errors import NotFound
from contextd.ports.record import Relations
from contextd.settings import config
from contextd.settings.config_file import set_value
from contextd.values.memory import ANYONE, renamed

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


def below(names: Collection[str], relations: Relations, personal: int, author: str) -> frozenset[str]:
    """Return topics by their old and new names, and all topics that a person has below them."""
    found = {*names, *renamed(names, "", relations.topic_changes(author))}
    above = {topic.name: topic.parent for topic in relations.topics(personal, author)}
    while more := {name for name, parent in above.items() if parent in found} - found:
        found |= more
    return frozenset(found)


def hidden(names: Collection[str], relations: Relations, personal: int, reader: str) -> frozenset[tuple[str, str]]:
    """Return which topics of whose memories are private: author and topic.

    Both the topics of the author and those of the reader decide: a shared memory keeps the privacy that its author gave it.
    """
    if not names:
        return frozenset()
    trees = [(ANYONE, reader), *((author, author) for author in relations.topic_authors(personal))]
    return frozenset((author, name) for author, whose in trees for name in below(names, relations, personal, whose))
