"""Memories, topics and pushed documents, over the service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from contextd.surfaces.client.connection import Connection, path_of
from contextd.surfaces.client.values import iso, memory, microseconds, remembered
from contextd.values.memory import Link, Memory, Remembered, Topic, Version

_TIMES = ("said", "valid_from", "valid_to")
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class RemoteMemories:
    """The memories of one reader. Has the methods of `MemoryService`."""

    connection: Connection
    project: str | None

    def remember(self, text: str, *, principals: Iterable[str] = (), in_project: bool = False, **known: Any) -> Remembered:
        """Save a fact, personal or of this project."""
        return remembered(self.save(text, principals, in_project=in_project, **known))

    def save(self, text: str, principals: Iterable[str] = (), *, in_project: bool = False, **known: Any) -> Any:
        """Save a fact. Returns the JSON of the service."""
        given = {"text": text, "principals": list(principals), "in_project": in_project, **_fields(known)}
        return self.connection.post("/memories", {"project": self.project, **given})

    def get(self, memory_id: str) -> Memory:
        """Return a memory by its id or a unique prefix of it."""
        return memory(self._shown(memory_id)["memory"])

    def several(self, uris: Sequence[str]) -> list[Memory]:
        """Return the memories of some hits, in their order."""
        return [self.get(uri.removeprefix("memory:")) for uri in uris]

    def all(self) -> list[Memory]:
        """Return every memory this reader may see, newest first."""
        return [memory(one) for one in self._pages("/memories", all=True)]

    def personal_facts(self) -> list[Memory]:
        """Return the personal memories this reader may see that hold now."""
        return [memory(one) for one in RemoteMemories(self.connection, None)._pages("/memories")]

    def history(self, memory_id: str) -> list[Version]:
        """Return the earlier versions of a memory, newest first."""
        items = self.connection.get(path_of("memories", memory_id, "versions"), self._where())["items"]
        return [Version(microseconds(one["at"]) or 0, one["by"], memory(one["before"])) for one in items]

    def update(self, memory_id: str, **fields: Any) -> Remembered:
        """Change a memory."""
        return remembered(self.connection.patch(path_of("memories", memory_id), {**self._where(), **_fields(fields)}))

    def mark(self, memory_id: str, **flags: bool) -> Memory:
        """Set or clear `pinned`, `silent` (never recalled) or `private`."""
        return self.update(memory_id, **flags).memory

    def verify(self, memory_id: str) -> Memory:
        """Mark all guessed fields of a memory as correct."""
        return memory(self.connection.post(path_of("memories", memory_id, "verify"), self._where()))

    def feedback(self, memory_id: str, *, useful: bool) -> Memory:
        """Record whether a memory was useful in an answer."""
        return memory(self.connection.post(path_of("memories", memory_id, "feedback"), {**self._where(), "useful": useful}))

    def forget(self, memory_id: str) -> str:
        """Erase a memory permanently: `gone`, or `pending` while another process still reads."""
        return str(self.connection.delete(path_of("memories", memory_id), self._where())["state"])

    def link(self, start: str, end: str, kind: str = "related") -> Link:
        """Link two memories."""
        made = self.connection.post(path_of("memories", start, "links"), {**self._where(), "other": end, "kind": kind})
        return Link(made["start"], made["end"], made["kind"])

    def unlink(self, start: str, end: str, kind: str = "") -> int:
        """Remove links between two memories. Returns their number."""
        asked = {**self._where(), "other": end, **({"kind": kind} if kind else {})}
        return int(self.connection.delete(path_of("memories", start, "links"), asked)["count"])

    def links(self, memory_id: str) -> list[tuple[Link, Memory]]:
        """Return the links of a memory with the memories at their other ends."""
        found = self._shown(memory_id)["links"]
        return [(Link(one["start"], one["end"], one["kind"]), memory(one["memory"])) for one in found]

    def topics(self) -> list[Topic]:
        """Return the person's topics."""
        return [Topic(one["name"], one["below"]) for one in self.connection.get("/topics", self._where())["items"]]

    def add_topic(self, name: str, parent: str = "") -> Topic:
        """Add a topic, optionally below another."""
        made = self.connection.post("/topics", {**self._where(), "name": name, "below": parent})
        return Topic(made["name"], made["below"])

    def rename_topic(self, name: str, new: str) -> int:
        """Rename a topic. Returns the number of memories that had it."""
        return int(self.connection.patch(path_of("topics", name), {**self._where(), "new": new})["count"])

    def merge_topic(self, name: str, into: str) -> int:
        """Merge a topic into another. Returns the number of memories that had it."""
        return int(self.connection.patch(path_of("topics", name), {**self._where(), "into": into})["count"])

    def delete_topic(self, name: str) -> int:
        """Delete a topic. Its memories stay, without it."""
        return int(self.connection.delete(path_of("topics", name), self._where())["count"])

    def _shown(self, memory_id: str) -> Any:
        return self.connection.get(path_of("memories", memory_id), self._where())

    def _pages(self, path: str, **asked: Any) -> Iterator[Any]:
        cursor = None
        while True:
            answer = self.connection.get(path, {**self._where(), "limit": _PAGE, "cursor": cursor, **asked})
            yield from answer["items"]
            if (cursor := answer.get("next")) is None:
                return

    def _where(self) -> dict[str, Any]:
        return {"project": self.project}


@dataclass(frozen=True, slots=True)
class RemoteDocuments:
    """Documents that programs push."""

    connection: Connection
    project: str | None

    def add(
        self, path: str, text: str, *, language: str | None = None, principals: Iterable[str] | None = None
    ) -> Any:  # fmt: skip
        """Store a text; `principals` as for a session. Returns JSON: chunks, embeddings, secrets_scrubbed."""
        given = {
            "path": path,
            "text": text,
            "language": language,
            "principals": None if principals is None else list(principals),
        }
        return self.connection.post("/documents", {"project": self.project, **given})

    def delete(self, path: str) -> None:
        """Erase a document of this reader. Raises `NotFound`."""
        self.connection.delete("/documents", {"project": self.project, "path": path})


def _fields(known: dict[str, Any]) -> dict[str, Any]:
    """Return fields of a memory as the service wants them."""
    made: dict[str, Any] = {name: list(one) if isinstance(one, tuple | set | frozenset) else one for name, one in known.items()}
    return made | {name: iso(made[name]) for name in _TIMES if name in made}
