"""Everything a person can do with memories besides queries. Readers may read a memory; only its author may change it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from contextd import privacy
from contextd.app import private_topics
from contextd.app.memory_fields import (
    FLAGS,
    checked,
    checked_names,
    checked_time,
    checked_topic,
    fault_of_text,
    restated,
    with_fields,
)
from contextd.app.private_topics import PrivateTree
from contextd.errors import Conflict, Forbidden, InvalidInput, NotFound
from contextd.ports.record import Record
from contextd.ports.world import Embedder, Tokens
from contextd.privacy.formats import Rule
from contextd.remembering.topics import STARTING
from contextd.values.clock import FIRST
from contextd.values.memory import ANYONE, GUESSED, PERSON, Link, Memory, Quality, Remembered, Topic, Version, fault_of, renamed
from contextd.values.query import Reader

if TYPE_CHECKING:  # loaded on use: a query saves nothing, and the patterns of attributes take long to compile
    from contextd.app.session import Session
    from contextd.remembering.pipeline import RememberResources

_SHORTEST_ID = 4


@dataclass(frozen=True, slots=True)
class MemoryService:
    """The memories of one reader: personal ones, and those of the project they are in."""

    record: Record
    personal: int
    project: int | None
    reader: Reader
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    tokens: Tokens
    rules: Sequence[Rule] = ()
    private: bool = True  # whether private memories may be seen
    limited: bool = False  # whether memories of other projects do not exist for this reader
    private_topics: frozenset[str] = frozenset()  # memories of these, and of topics below them, are private
    on_erase: Callable[[], None] = lambda: None  # called after text was erased, to erase what logs say of it
    forgotten: Callable[[str, str], None] = lambda uri, text: None  # told of a memory that was erased

    # Saving

    def remember(
        self, text: str, *, principals: Iterable[str] = (), in_project: bool = False, source: str = "person", **known: Any
    ) -> Remembered:
        """Save a fact, personal or of this project. It is on disk when this returns. The author can always read it.

        `known` are fields that are not to be guessed: kind, topics, attribute, value, unit, valid_from, pinned, …
        """
        return self.remember_all([self.draft(text, principals, in_project=in_project, source=source, **known)])[0]

    def draft(
        self, text: str, principals: Iterable[str] = (), *, in_project: bool = False, source: str = "person", **known: Any
    ) -> Memory:
        """Return a checked memory that is not saved yet. Raises InvalidInput."""
        if in_project and self.project is None:
            raise NotFound("no project found; run the command inside a project, or use --project")
        workspace = self.project if in_project and self.project is not None else self.personal
        now = self.record.now()
        said = min(checked_time("said", known.pop("said", None) or now), now)
        readers = checked_names("principals", principals)
        checked(fault_of("source", source) or fault_of("author", self.reader.name) or fault_of_text(text))
        memory = Memory(
            "", workspace, text, frozenset(readers) | {self.reader.name}, self.reader.name, said,
            source=source, valid_from=said, changed=now,
        )  # fmt: skip
        return _by_whom(with_fields(memory, known), source)

    def remember_all(self, memories: Sequence[Memory], *, deep: bool = True) -> list[Remembered]:
        """Save many memories at once. `deep=False` leaves deep vectors to `enrich`."""
        from contextd.remembering import pipeline

        return pipeline.remember(memories, self._resources(self._workspaces_of(memories), deep=deep))

    # Reading

    def get(self, memory: str) -> Memory:
        """Return a memory by its id or a unique prefix of it. Raises InvalidInput if there is none or several."""
        start = memory.removeprefix("memory:").split(":")[0]
        found = [
            (workspace, one)
            for workspace in self._workspaces()
            if len(start) >= _SHORTEST_ID
            for one in self.record.memories.beginning(workspace, start, self.reader)
            if self.private or self._readable(workspace, [one])
        ]
        if not found:
            raise NotFound(
                f"no such memory: {start!r}; run `contextd memories` for a list "
                f"(use an id, or at least its first {_SHORTEST_ID} characters)"
            )
        if len(found) > 1:
            raise InvalidInput(f"several memory ids start with {start!r}: {', '.join(one for _, one in found[:4])}")
        return self.record.memories.get(found[0][0], [found[0][1]])[0]

    def several(self, uris: Sequence[str]) -> list[Memory]:
        """Return the memories of some hits, in their order."""
        ids = [uri.removeprefix("memory:") for uri in uris]
        found = {one.id: one for workspace in self._workspaces() for one in self._readable(workspace, ids)}
        return [found[one] for one in ids if one in found]

    def all(self) -> list[Memory]:
        """Return every memory this reader may see, newest first."""
        found = [memory for workspace in self._workspaces() for memory in self.record.memories.all(workspace, self.reader)]
        return sorted(filter(self._shown(), found), key=lambda memory: (-memory.said, memory.id))

    def personal_facts(self) -> list[Memory]:
        """Return the personal memories this reader may see that hold now."""
        return [one for one in self.all() if one.valid_to is None and one.workspace == self.personal]

    def history(self, memory: str) -> list[Version]:
        """Return the earlier versions of a memory that this reader might have read, newest first."""
        found, shown = self.get(memory), self._shown()
        changes = self.record.relations.topic_changes(found.author)

        def readable(old: Memory) -> bool:
            now = replace(old, topics=(*old.topics, *renamed(old.topics, old.clock, changes)))
            return bool(old.principals & self.reader.principals) and shown(now)

        return [one for one in self.record.memories.versions(found.workspace, found.id) if readable(one.before)]

    # Changing

    def update(self, memory: str, *, source: str = "person", **fields: Any) -> Remembered:
        """Change a memory. Fields set here are not guessed again; fields set for an older text are.

        `source` is who changes it. Raises Forbidden if it may not.
        """
        from contextd.remembering import pipeline
        from contextd.remembering.enrich import VERSION

        old = self._own(memory)
        if not any(value is not None for value in fields.values()):
            raise InvalidInput("nothing to change; give a new text, or a field such as --kind or --until")
        if fields.get("text") not in (None, old.text):
            old = replace(old, verified=old.verified - {"about", "attribute", "value", "unit", "language"})
        changed = replace(restated(old, _by_whom(with_fields(old, fields), source), source), changed=self.record.now())
        if changed.text != old.text or old.enriched < VERSION:
            return pipeline.reword(changed, self.reader.name, self._resources([old.workspace]))
        changed, finds = pipeline.scrubbed(changed, self.rules)
        warnings = tuple(f"a secret was left out (rule {rule})" for rule in finds)
        return Remembered(self.record.memories.change(changed, self.reader.name), warnings=warnings)

    def verify(self, memory: str) -> Memory:
        """Mark all guessed fields of a memory as correct."""
        old = self._own(memory)
        return self._changed(old, verified=old.verified | set(GUESSED), confidence=1.0)

    def mark(self, memory: str, **flags: bool) -> Memory:
        """Set or clear `pinned`, `silent` (never recalled) or `private`."""
        if unknown := set(flags) - set(FLAGS):
            raise InvalidInput(f"unknown flag of a memory: {', '.join(sorted(unknown))}; the flags are {', '.join(FLAGS)}")
        return self._changed(self._own(memory), **flags)

    def feedback(self, memory: str, *, useful: bool) -> Memory:
        """Record whether a memory was useful in an answer."""
        old = self.get(memory)
        more = (1, 0) if useful else (0, 1)
        self.record.memories.note(old, lambda now: replace(now, useful=now.useful + more[0], useless=now.useless + more[1]))
        return self.get(old.id)

    def forget(self, memory: str) -> str:
        """Erase a memory permanently: `gone`, or `pending` while another process still reads."""
        own = self._own(memory)
        state = self.record.memories.forget(own.workspace, own.id)
        self.on_erase()
        self.forgotten(f"memory:{own.id}", own.text)
        return state

    # Relationships

    def link(self, start: str, end: str, kind: str = "related") -> Link:
        """Link two memories."""
        one, other = self._own(start), self.get(end)
        if one.id == other.id:
            raise InvalidInput("a memory cannot be linked to itself")
        if one.workspace != other.workspace:
            raise InvalidInput("memories of different workspaces cannot be linked; save both in one workspace")
        if not kind.strip():
            raise InvalidInput("the kind of the link is empty; use a kind such as related, part_of or contradicts")
        checked(fault_of("link kind", kind))
        kind = self._clean(kind)
        self.record.relations.link(one.workspace, one.id, other.id, kind)
        return Link(one.id, other.id, kind)

    def unlink(self, start: str, end: str, kind: str = "") -> int:
        """Remove links between two memories. Returns their number."""
        one, other = self._own(start), self.get(end)
        return self.record.relations.unlink(one.workspace, one.id, other.id, kind)

    def links(self, memory: str) -> list[tuple[Link, Memory]]:
        """Return the links of a memory with the memories at their other ends, as far as this reader may see them."""
        here = self.get(memory)
        found = self.record.relations.links(here.workspace, [here.id])
        ends = [link.end if link.start == here.id else link.start for link in found]
        visible = {one.id: one for one in self._readable(here.workspace, ends)}
        return [(link, visible[end]) for link, end in zip(found, ends, strict=True) if end in visible]

    # Topics

    def topics(self) -> list[Topic]:
        """Return the person's topics: the defined ones, and those that they gave to a memory without defining them.

        The latter are stored in the memories only, so that nothing of them is left when these are forgotten.
        """
        defined = self._defined_topics()
        if self.private and not self.limited:
            used = set(self.record.relations.used_topics(self.reader.name))
        elif self.private or self.private_topics:
            used = {topic for memory in self._written() for topic in memory.topics}
        else:
            used = set(self.record.relations.openly_used_topics(self.reader.name, self._workspaces()))
        others, hidden = used - {topic.name for topic in defined}, self.hidden_topics()
        return [one for one in (*defined, *(Topic(name) for name in sorted(others))) if one.name not in hidden]

    def add_topic(self, name: str, parent: str = "") -> Topic:
        """Add a topic, optionally below another, or move it there. Raises Conflict if that opens memories."""
        name, known = self._clean(checked_topic(name)), {topic.name for topic in self.topics()}
        if name in self.hidden_topics():
            raise Forbidden(f"the topic {name!r} cannot be changed here; use the command line on this machine")
        if parent and parent not in known:
            raise NotFound(f"no such parent topic: {parent!r}; the topics are {', '.join(sorted(known))}")
        if parent == name:
            raise InvalidInput("a topic cannot be its own parent")
        defined = {topic.name for topic in self._defined_topics()}
        if name in defined and not parent:
            move = f"contextd topics add {quote(name)} --below PARENT"
            raise Conflict(f"the topic {name!r} already exists; to move it, run `{move}`")
        self._private_tree().check_moved(name, parent)
        self._store_initial_topics()
        above = [Topic(parent)] if parent and parent not in defined else []
        self.record.relations.put_topics(self.personal, self.reader.name, [*above, Topic(name, parent)])
        return Topic(name, parent)

    def rename_topic(self, name: str, new: str) -> int:
        """Rename a topic. Returns the number of memories that had it."""
        self._known_topic(name)
        new = self._clean(checked_topic(new))
        if new in {topic.name for topic in self.topics()}:
            raise Conflict(f"the topic {new!r} already exists; use `contextd topics merge` to merge the topics")
        return self._replaced(name, new)

    def merge_topic(self, name: str, into: str) -> int:
        """Merge a topic into another. Returns the number of memories that had it. Raises Conflict if that opens any."""
        self._known_topic(name)
        self._known_topic(into)
        self._private_tree().check_merged(name, into)
        return self._replaced(name, into)

    def delete_topic(self, name: str) -> int:
        """Delete a topic. Its memories stay, without it. Returns their number. Raises Conflict for a private topic."""
        self._known_topic(name)
        self._private_tree().check_deleted(name)
        return self._replaced(name, "")

    def hidden_topics(self) -> frozenset[str]:
        """Return the topics that do not exist for this reader: private ones and those below them."""
        return frozenset() if self.private else self._private_tree().private()

    def hidden(self) -> frozenset[tuple[str, str]]:
        """Return which topics of whose memories do not exist for this reader: author (or ANYONE) and topic."""
        names = frozenset() if self.private else self.private_topics
        return private_topics.hidden(names, self.record.relations, self.personal, self.reader.name)

    # Enrichment

    def enrich(self, *, everything: bool = False, progress: Callable[[int, int], None] = lambda done, of: None) -> Quality:
        """Guess fields again, with deep vectors, for memories enriched provisionally, by an older version or without a model.

        `everything` includes all other memories.
        """
        from contextd.remembering import pipeline

        own = self._written()
        resources = {workspace: self._resources([workspace]) for workspace in self._workspaces_of(own)}
        old = own if everything else [
            memory
            for workspace, models in resources.items()
            for memory in pipeline.outdated([one for one in own if one.workspace == workspace], models)
        ]  # fmt: skip
        for done, memory in enumerate(old, 1):
            pipeline.refresh(memory, resources[memory.workspace])
            progress(done, len(old))
        return self.quality()

    def quality(self) -> Quality:
        """Return statistics on kinds, attributes and verified fields."""
        return Quality.of(self.all())

    # Private

    def _workspaces(self) -> list[int]:
        return [self.personal, *([self.project] if self.project is not None else [])]

    def _workspaces_of(self, memories: Iterable[Memory]) -> list[int]:
        return list(dict.fromkeys(memory.workspace for memory in memories))

    def _readable(self, workspace: int, ids: Collection[str]) -> list[Memory]:
        found, shown = self.record.memories.get(workspace, ids), self._shown()
        return [memory for memory in found if memory.principals & self.reader.principals and shown(memory)]

    def _shown(self) -> Callable[[Memory], bool]:
        """Return a function that tells whether a memory exists for this reader."""
        hidden = self.hidden()
        return lambda memory: (
            self.private
            or not (
                memory.private
                or any((author, topic) in hidden for author in (ANYONE, memory.author) for topic in memory.topics)
            )
        )

    def _own(self, memory: str) -> Memory:
        found = self.get(memory)
        if found.author != self.reader.name:
            raise Forbidden(f"memory {found.id!r} was written by {found.author}; only the author can change or delete it")
        return found

    def _changed(self, memory: Memory, **fields: Any) -> Memory:
        changed = replace(memory, **fields, changed=self.record.now())
        return self.record.memories.change(changed, self.reader.name)

    def _clean(self, name: str) -> str:
        return privacy.scrub_text(name.strip(), self.rules)[0]

    def _known_topic(self, name: str) -> None:
        if name not in (known := {topic.name for topic in self.topics()}):
            raise NotFound(f"no such topic: {name!r}; the topics are {', '.join(sorted(known))}")

    def _store_initial_topics(self) -> None:
        """Store the initial topics before they are changed."""
        known = self.record.relations.topics(self.personal, self.reader.name)
        if not known and not self._changed_topics():
            starting = [Topic(name, clock=FIRST) for name in STARTING]  # a change on any device is later
            self.record.relations.put_topics(self.personal, self.reader.name, starting)

    def _defined_topics(self) -> list[Topic]:
        """Return the topics that the person defined; the initial set until they change it."""
        found = self.record.relations.topics(self.personal, self.reader.name)
        return found if found or self._changed_topics() else [Topic(name) for name in STARTING]

    def _changed_topics(self) -> bool:
        return bool(self.record.relations.topic_changes(self.reader.name))

    def _written(self) -> list[Memory]:
        return [memory for memory in self.all() if memory.author == self.reader.name]

    def _replaced(self, name: str, new: str) -> int:
        """Replace a topic in memories. While memories that this reader does not see have it, it stays for those."""
        self._store_initial_topics()
        relations, author, sees_all = self.record.relations, self.reader.name, self.private and not self.limited
        seen = [] if sees_all else [one for one in self._written() if name in one.topics]
        if sees_all or len(seen) == relations.count_topic(author, name):
            return relations.replace_topic(self.personal, author, name, new)
        for memory in seen:
            topics = dict.fromkeys(new if one == name else one for one in memory.topics)
            self._changed(memory, topics=tuple(one for one in topics if one))
        defined = {topic.name: topic.parent for topic in self._defined_topics()}
        if new and name in defined and new not in defined:
            relations.put_topics(self.personal, author, [Topic(new, defined[name])])
        return len(seen)

    def _resources(self, workspaces: Sequence[int], *, deep: bool = True) -> RememberResources:
        from contextd.app.saving import resources_of

        return resources_of(self, self._defined_topics(), self._shown(), workspaces, deep=deep)

    def _private_tree(self) -> PrivateTree:
        return private_topics.tree(self.private_topics, self.record.relations, self.personal, self.reader.name)


def memory_service(session: Session) -> MemoryService:
    """Return the memories of a session's reader."""
    project = session.project.workspace if session.project is not None else None
    home, setup = session.home, session.setup
    made = (setup.static, setup.record_deep, home.tokens, setup.rules)
    private = (session.private, session.limited, frozenset(session.settings.privacy.topics))
    erased = (home.usage.log.drop_texts, home.interactions.purge)
    return MemoryService(home.record, home.personal, project, session.reader, *made, *private, *erased)


def _by_whom(memory: Memory, source: str) -> Memory:
    """Return a memory as it is if the person gave its fields. A program verifies no memory as a whole."""
    return memory if source == PERSON else replace(memory, verified=memory.verified - {"language"})
