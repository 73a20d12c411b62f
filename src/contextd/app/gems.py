"""The backup format of personal stores that call a fact a gem: a JSON object with a list `gems`.

A gem has an id of its own, one or more collections and sub-collections. Its id decides the id of the memory, so that a second
import finds it again, and a forgotten gem stays forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from contextd.app.session import Session

_DIGITS = frozenset("0123456789abcdef")
_ID_BYTES = 16
_MICROSECONDS = 1_000_000


def memory_id(gem: str) -> str:
    """Return the id of the memory of a gem: the same if it is one of ours, else made of it."""
    own = len(gem) == 2 * _ID_BYTES and set(gem) <= _DIGITS
    return gem if own else blake2b(gem.encode(), digest_size=_ID_BYTES, person=b"gem").hexdigest()


def add_sub_collections(session: Session, entry: Mapping[str, Any]) -> None:
    """Add the sub-collections of a gem as topics below its collection, if they are not known."""
    known = {topic.name for topic in session.memories.topics()}
    for name, parent in entry.get("under", {}).items():
        if parent not in known:
            session.memories.add_topic(parent)
        if name not in known:
            session.memories.add_topic(name, parent)
        known |= {parent, name}


def as_gems(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return an export as a backup with `gems`: the current memories that are not private. History and links are left out."""
    parents = {one["name"]: one["parent"] for one in payload["topics"]}
    current = [one for one in payload["memories"] if one["valid_to"] is None and not one["private"]]
    return {
        "timestamp": max((one["said"] for one in current), default=0) // _MICROSECONDS,
        "categories": [{"name": name, "parent": parent or None} for name, parent in sorted(parents.items())],
        "gems": [_gem(one, parents) for one in current],
    }


def _gem(memory: Mapping[str, Any], parents: Mapping[str, str]) -> dict[str, Any]:
    below = [topic for topic in memory["topics"] if parents.get(topic)]
    above = dict.fromkeys([*(one for one in memory["topics"] if one not in below), *(parents[one] for one in below)])
    fields = {
        "semanticType": memory["kind"] if memory["kind"] != "unknown" else "",
        "attribute": memory["attribute"],
        "attributeValue": memory["value"],
        "attributeUnit": memory["unit"],
    }
    gem = {"id": memory["id"], "value": memory["text"], "collections": list(above), "subCollections": below}
    return gem | {"timestamp": memory["said"] // _MICROSECONDS} | {name: value for name, value in fields.items() if value}
