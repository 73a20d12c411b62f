"""Import contextd's own export into the record: only what the reader wrote.

Only known fields of the expected shape and size are read. The author of a memory is decided by the existing row.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.ports.record import Taken
from contextd.ports.world import Matrix, fact_embedder
from contextd.privacy import scrub_text
from contextd.remembering import pipeline
from contextd.values.clock import FIRST, is_clock, moment
from contextd.values.memory import GUESSED, Link, Memory, Topic, TopicChange, Version, fault_of, fault_of_memory, fault_of_time

FORMAT = 2
_READABLE = (1, 2)  # 1 has no removed links, no topic changes and no aliases of clocks
SECTIONS = ("clocks", "topics", "topic_changes", "memories", "tombstones", "links", "unlinked")
_SHAPES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "int | None": (int, type(None)),
}
_LISTS = {"principals": frozenset, "verified": frozenset, "topics": tuple}
_FIELDS = tuple(one for one in fields(Memory) if one.name != "workspace")


@dataclass(slots=True)
class RestoreReport:
    """The result of an import."""

    counts: Counter[str] = field(default_factory=Counter)  # added, changed, known, forgotten, buried, conflicts
    problems: list[str] = field(default_factory=list)


def restore(session: Session, payload: Mapping[str, Any], done: RestoreReport, dry_run: bool) -> None:
    """Import an export. With `dry_run`, only count the memories. Raises InvalidInput for an unsupported format."""
    if payload["contextd"].get("format") not in _READABLE:
        known = " and ".join(map(str, _READABLE))
        raise InvalidInput(
            f"unsupported export format: {payload['contextd'].get('format')!r} (supported: {known}); upgrade contextd"
        )
    places = {"personal": session.memories.personal, "project": session.memories.project}
    if session.project is not None and any(entry.get("in") == "project" for entry in _entries(payload, "memories")):
        session.who()  # raises for readers without access to the project
    found = list(_memories(session, payload, places, done))
    if dry_run:
        done.counts["memories"] += len(found)
        return
    aliases = _clock_aliases(session, payload)

    def clean(name: str) -> str:
        return scrub_text(name, session.setup.rules)[0]

    tombstones = {
        (workspace, str(entry["id"])): _alias(str(entry["clock"]), aliases)
        for entry in _entries(payload, "tombstones")
        if (workspace := places.get(str(entry.get("in")))) is not None
        and not fault_of("id", entry.get("id"))
        and is_clock(entry.get("clock"))
    }
    for entry, memory in found:
        _restore_memory(session, entry, memory, aliases, tombstones.get((memory.workspace, memory.id), ""), done)
    for (workspace, number), clock in tombstones.items():
        done.counts["buried"] += session.home.record.exchange.bury(workspace, number, clock, session.reader)
    for place, workspace in places.items():
        if workspace is not None:
            links, unlinked = (
                [replace(link, kind=clean(link.kind)) for link in _links(payload, name, place, aliases, done)]
                for name in ("links", "unlinked")
            )
            session.home.record.exchange.relate(workspace, links, unlinked, session.reader)
    topics = [replace(one, name=clean(one.name), parent=clean(one.parent)) for one in _topics(payload, aliases, done)]
    changes = [replace(one, name=clean(one.name), new=clean(one.new)) for one in _changes(payload, aliases, done)]
    session.home.record.exchange.name(session.home.personal, session.reader.name, topics, changes)
    session.home.record.exchange.finish()


def plain(memory: Memory) -> dict[str, Any]:
    """Return every field but the workspace as JSON values."""
    found = {one.name: getattr(memory, one.name) for one in _FIELDS}
    return found | {name: sorted(found[name]) if name != "topics" else list(found[name]) for name in _LISTS}


# Memories


def _memories(
    session: Session, payload: Mapping[str, Any], places: Mapping[str, int | None], done: RestoreReport
) -> Iterator[tuple[dict[str, Any], Memory]]:
    """Yield the valid entries with their memories. Invalid entries are reported as problems."""
    for entry in _entries(payload, "memories"):
        name = f"memory {str(entry.get('id'))[:12]!r}"
        workspace = places.get(str(entry.get("in")))
        if workspace is None:
            done.problems.append(f"{name} belongs to a project: left out. Import it inside that project, or with --project")
        elif isinstance(entry.get("author"), str) and entry["author"] != session.reader.name:
            done.problems.append(f"{name} was written by {entry['author'][:80]!r}, who alone can import it: left out")
        else:
            memory, fault = _memory(entry, workspace)
            if memory is not None:
                yield entry, memory
            else:
                done.problems.append(f"{name}: {fault}: left out")


def _restore_memory(
    session: Session, entry: Mapping[str, Any], memory: Memory, aliases: Mapping[str, str], buried: str, done: RestoreReport
) -> None:
    memory = _set_back(memory, aliases)
    try:
        memory, finds = pipeline.clean(memory, session.setup.rules)
    except InvalidInput as error:
        done.problems.append(f"memory {memory.id[:12]!r}: {error}: left out")
        return
    taken = session.home.record.exchange.restore(
        memory,
        pipeline.parsed(memory.text, session.home.tokens),
        _vectors(session, {} if finds else entry, memory.text),  # vectors of a secret are not stored
        _versions(session, entry, memory, aliases),
        session.reader,
        buried,
    )
    _report(taken, memory.id, done)


def _report(taken: Taken, memory: str, done: RestoreReport) -> None:
    name = f"memory {memory[:12]!r}"
    if taken.state == "refused":
        done.problems.append(f"{name} was written by somebody else here, who alone can change it: left out")
        return
    done.counts[taken.state] += 1
    if taken.conflict:
        done.counts["conflicts"] += 1
        done.problems.append(
            f"{name} was changed on two devices within a minute: the later text is kept, the other one is in its history "
            f"(contextd memories history {memory[:12]})"
        )


def _versions(session: Session, entry: Mapping[str, Any], memory: Memory, aliases: Mapping[str, str]) -> list[Version]:
    """Return the scrubbed history of a memory, as far as its author wrote it."""
    found = []
    for one in _entries(entry, "history"):
        before, _ = _memory({**one, "id": memory.id}, memory.workspace)
        if before is not None and before.author == memory.author == one.get("by") and not fault_of_time("at", one.get("at")):
            before, _ = pipeline.scrubbed(_set_back(before, aliases), session.setup.rules)
            found.append(Version(int(one["at"]), memory.author, before))
    return found


def _memory(entry: Mapping[str, Any], workspace: int) -> tuple[Memory | None, str]:
    """Return the memory of an entry, if every field has the right shape and size; else None and the fault."""
    known: dict[str, Any] = {"workspace": workspace}
    for one in _FIELDS:
        value = entry.get("told_topics", entry.get("topics")) if one.name == "topics" else entry.get(one.name)
        if one.name in _LISTS:
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                return None, f"{one.name} is not a list of texts"
            value = _LISTS[one.name](value)
        elif not isinstance(value, _SHAPES[str(one.type)]) or isinstance(value, bool) != (str(one.type) == "bool"):
            return None, f"{one.name} does not have the right shape"
        known[one.name] = value
    if not is_clock(known["clock"]):
        return None, "clock does not have the right shape"
    memory = Memory(**known)
    fault = fault_of_memory(memory)
    return (None, fault) if fault else (replace(memory, verified=memory.verified & {*GUESSED, "valid_from"}), "")


def _vectors(session: Session, entry: Mapping[str, Any], text: str) -> dict[str, Matrix]:
    """Return the vectors of an entry in the current spaces; missing ones are computed."""
    given = entry.get("vectors") if isinstance(entry.get("vectors"), dict) else {}
    deep = session.setup.record_deep()
    embedders = [one for one in (session.setup.static, deep, fact_embedder(deep)) if one is not None]
    found: dict[str, Matrix] = {}
    for embedder in embedders:
        matrix = _decoded(given.get(embedder.space), embedder.dimension)  # type: ignore[union-attr]
        found[embedder.space] = embedder.documents([text]) if matrix is None else matrix
    return found


def _decoded(value: Any, dimension: int) -> Matrix | None:
    if not isinstance(value, str):
        return None
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return None
    matrix = np.frombuffer(data, "<f4").reshape(1, -1) if len(data) == 4 * dimension else None
    return matrix if matrix is not None and np.isfinite(matrix).all() else None


# Clocks


def _clock_aliases(session: Session, payload: Mapping[str, Any]) -> Mapping[str, str]:
    """Return aliases for clocks of the export that are or were ahead of real time."""
    aliases = {
        str(one["original"]): str(one["clock"])
        for one in _entries(payload, "clocks")
        if is_clock(one.get("original")) and is_clock(one.get("clock"))
    }
    dated = [entry for name in SECTIONS if name != "clocks" for entry in _entries(payload, name)]
    dated += [version for entry in _entries(payload, "memories") for version in _entries(entry, "history")]
    clocks = {str(entry["clock"]) for entry in dated if is_clock(entry.get("clock"))}
    return session.home.record.exchange.settle(session.reader.name, clocks, aliases)


def _alias(clock: str, aliases: Mapping[str, str]) -> str:
    while clock in aliases:
        clock = aliases[clock]
    return clock


def _set_back(memory: Memory, aliases: Mapping[str, str]) -> Memory:
    """Return a memory with its alias clock. Times that lie ahead of it are set back."""
    clock = _alias(memory.clock, aliases)
    if clock == memory.clock:
        return memory
    at, immediate = moment(clock) * 1000, memory.valid_from <= memory.said
    return replace(
        memory,
        clock=clock,
        changed=min(memory.changed, at),
        said=min(memory.said, at),
        valid_from=min(memory.valid_from, at) if immediate else memory.valid_from,
        valid_to=min(memory.valid_to, at) if memory.valid_to is not None and memory.replaced_by else memory.valid_to,
    )


# Links and topics


def _links(payload: Mapping[str, Any], name: str, place: str, aliases: Mapping[str, str], done: RestoreReport) -> list[Link]:
    """Return the links of one section, in one place. Links of old exports have a clock as well."""
    found = []
    for entry in _entries(payload, name):
        start, end, kind, clock = (entry.get(part) for part in ("start", "end", "kind", "clock"))
        if entry.get("in") != place or not is_clock(clock):
            continue
        if fault := fault_of("id", start) or fault_of("id", end) or fault_of("link kind", kind):
            done.problems.append(f"a link: {fault}: left out")
        else:
            found.append(Link(str(start), str(end), str(kind), _alias(str(clock), aliases)))
    return found


def _topics(payload: Mapping[str, Any], aliases: Mapping[str, str], done: RestoreReport) -> list[Topic]:
    """Return the topics of an export. Topics of an old export have no clock and count as older than every change."""
    found = []
    for entry in _entries(payload, "topics"):
        name, parent, clock = entry.get("name"), entry.get("parent", ""), entry.get("clock", FIRST)
        if fault := fault_of("topic", name) or (parent and fault_of("topic", parent)):
            done.problems.append(f"a topic: {fault}: left out")
        elif is_clock(clock):
            found.append(Topic(str(name), str(parent), _alias(str(clock), aliases)))
    return found


def _changes(payload: Mapping[str, Any], aliases: Mapping[str, str], done: RestoreReport) -> list[TopicChange]:
    found = []
    for entry in _entries(payload, "topic_changes"):
        name, new, clock = entry.get("name"), entry.get("new"), entry.get("clock")
        if fault := fault_of("topic", name) or (new != "" and fault_of("topic", new)):
            done.problems.append(f"a change of a topic: {fault}: left out")
        elif is_clock(clock):
            found.append(TopicChange(str(name), str(new), _alias(str(clock), aliases)))
    return found


def _entries(payload: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = payload.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
