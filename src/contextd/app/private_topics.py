"""Private topics: their memories, and those of topics below them, answer on this machine only."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from contextd.errors import Conflict, NotFound
from contextd.ports.record import Relations
from contextd.settings import config
from contextd.settings.config_file import set_value
from contextd.values.memory import ANYONE, renamed

if TYPE_CHECKING:
    from contextd.app.session import Session

_KEY = "privacy.topics"
_OPEN = "contextd topics private --off"


def set_private(session: Session, name: str, *, private: bool) -> None:
    """Add a topic to the private ones in the user's settings, or remove it. Raises NotFound for an unknown topic."""
    path = session.home.path / "config.toml"
    known = config.load(path, None, {}).settings.privacy.topics
    if name not in known and name not in {topic.name for topic in session.memories.topics()}:
        raise NotFound(f"no such topic: {name!r}; run `contextd topics` for a list")
    others = [one for one in known if one != name]
    set_value(path, _KEY, json.dumps([*others, name] if private else others, ensure_ascii=False), trusted=True)


@dataclass(frozen=True, slots=True)
class PrivateTree:
    """The topics of a person, and which of them are private."""

    named: frozenset[str]  # private themselves, by their old and new names
    above: Mapping[str, str]  # parents

    def private(self) -> frozenset[str]:
        """Return the private topics and all topics below them."""
        found = set(self.named)
        while more := {name for name, parent in self.above.items() if parent in found} - found:
            found |= more
        return frozenset(found)

    def check_deleted(self, name: str) -> None:
        """Raise Conflict if deleting a topic opens its memories."""
        self._check([name] if name in self.private() else [])

    def check_moved(self, name: str, parent: str) -> None:
        """Raise Conflict if moving a topic opens memories, its own or of topics below it."""
        self._check(self.private() - PrivateTree(self.named, {**self.above, name: parent}).private())

    def check_merged(self, name: str, into: str) -> None:
        """Raise Conflict if merging a topic opens memories. What a private topic itself is merged into is private."""
        named = frozenset(into if one == name else one for one in self.named)
        above = {one: into if parent == name else parent for one, parent in self.above.items() if one != name}
        after = PrivateTree(named, {into: self.above.get(name, ""), **above}).private()
        self._check(one for one in self.private() if (into if one == name else one) not in after)

    def _check(self, opened: Iterable[str]) -> None:
        for name in sorted(opened):
            top = name
            while top not in self.named:
                top = self.above[top]
            why = "is private" if top == name else f"is below the private topic {top!r}"
            raise Conflict(f"the topic {name!r} {why}, and agents would see its memories; first run `{_OPEN} {quote(top)}`")


def tree(names: Collection[str], relations: Relations, personal: int, author: str) -> PrivateTree:
    """Return the topics of a person, and which are private if those of some names are."""
    named = frozenset((*names, *renamed(names, "", relations.topic_changes(author))))
    return PrivateTree(named, {topic.name: topic.parent for topic in relations.topics(personal, author)})


def hidden(names: Collection[str], relations: Relations, personal: int, reader: str) -> frozenset[tuple[str, str]]:
    """Return which topics of whose memories are private: author and topic.

    Both the topics of the author and those of the reader decide: a shared memory keeps the privacy that its author gave it.
    """
    if not names:
        return frozenset()
    trees = [(ANYONE, reader), *((author, author) for author in relations.topic_authors(personal))]
    return frozenset((author, name) for author, whose in trees for name in tree(names, relations, personal, whose).private())
