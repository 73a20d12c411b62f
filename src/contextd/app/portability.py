"""Export and import memories: JSON (optionally with vectors), JSON lines, Markdown, and backups of other personal stores.

contextd's own export as JSON or JSON lines is lossless: clocks, history, links, topics and tombstones included. The later
write wins, and memories forgotten on either side stay forgotten. Any other file with texts is saved memory by memory. Only
known fields of the expected shape are read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contextd.app.gems import add_sub_collections, as_gems, memory_id
from contextd.app.restoring import FORMAT, SECTIONS, RestoreReport, plain, restore
from contextd.app.session import Session
from contextd.errors import InvalidInput
from contextd.ports.world import Matrix
from contextd.sandbox.reading import memory_file, read_memories
from contextd.values.memory import Memory

__all__ = ["as_gems", "as_lines", "as_markdown", "exported", "for_people", "imported", "memory_file"]


def exported(session: Session, *, vectors: bool = False) -> dict[str, Any]:
    """Return everything this reader wrote, personal and of the session's project."""
    service, author = session.memories, session.reader.name
    payload: dict[str, Any] = {name: [] for name in SECTIONS}
    aliases = session.home.record.exchange.aliases(author)  # first, because it sets back clocks ahead of real time
    stated = session.home.record.exchange.told_topics(author)
    for place, workspace in {"personal": service.personal, "project": service.project}.items():
        if workspace is not None:
            _export_workspace(session, place, workspace, payload, stated, vectors)
    payload["topics"] = [
        {"name": one.name, "parent": one.parent, "clock": one.clock}
        for one in session.home.record.exchange.topics(service.personal, author)
    ]
    payload["topic_changes"] = [
        {"name": one.name, "new": one.new, "clock": one.clock} for one in session.home.record.relations.topic_changes(author)
    ]
    payload["clocks"] = [{"original": original, "clock": clock} for original, clock in aliases.items()]
    manifest = {name: len(entries) for name, entries in payload.items()}
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    return {"contextd": {"format": FORMAT, "exported": stamp, "vectors": vectors, **manifest}, **payload}


def _export_workspace(
    session: Session, place: str, workspace: int, payload: dict[str, Any], stated: Mapping[str, Sequence[str]], vectors: bool
) -> None:
    record, reader = session.home.record, session.reader
    readable = record.memories.all(workspace, reader)
    own = sorted((one for one in readable if one.author == reader.name), key=lambda one: one.id)
    ids = [one.id for one in own]
    held = record.memories.vectors(workspace, ids) if vectors else {}
    for memory in own:
        entry = {"in": place, **plain(memory)}
        entry |= {"told_topics": list(stated[memory.id])} if memory.id in stated else {}
        versions = record.memories.versions(workspace, memory.id)
        entry["history"] = [{"at": one.at, "by": one.by, **plain(one.before)} for one in versions]
        if vectors:
            entry["vectors"] = {space: _encoded(matrix) for space, matrix in held.get(memory.id, {}).items()}
        payload["memories"].append(entry)
    ends = {one.id for one in readable}
    links = [one for one in record.relations.links(workspace, ids) if one.start in set(ids) and one.end in ends]
    for name, found in (("links", links), ("unlinked", record.exchange.unlinked(workspace, ids))):
        payload[name] += [
            {"in": place, "start": one.start, "end": one.end, "kind": one.kind, "clock": one.clock} for one in found
        ]
    payload["tombstones"] += [
        {"in": place, "id": one, "clock": clock} for one, clock in record.memories.tombstones(workspace, reader.name)
    ]


def as_lines(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield an export as JSON lines: the manifest, then one entry per line."""
    yield json.dumps({"type": "manifest", **payload["contextd"]}, ensure_ascii=False)
    for name in SECTIONS:
        for entry in payload[name]:
            yield json.dumps({"type": name, **entry}, ensure_ascii=False)


def for_people(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the memories of an export that its Markdown has."""
    return [one for one in payload["memories"] if one["valid_to"] is None and not one["private"] and not one["silent"]]


def as_markdown(payload: Mapping[str, Any]) -> str:
    """Return an export for people: current memories by kind, without private and silent ones."""
    lines, current = ["# Memories", ""], for_people(payload)
    for kind in sorted({one["kind"] for one in current}):
        lines += [f"## {kind}", ""]
        for one in sorted((one for one in current if one["kind"] == kind), key=lambda one: -one["said"]):
            topics = "".join(f" #{topic.replace(' ', '-')}" for topic in one["topics"])
            text = one["text"].replace("\n", "\n  ")
            lines.append(f"- {text}{topics} <!-- {one['id']} -->")
        lines.append("")
    return "\n".join(lines)


def imported(session: Session, data: str | bytes, *, source: str = "import", dry_run: bool = False) -> RestoreReport:
    """Import an export, a backup, JSON lines or a Markdown list. With `dry_run`, only count the entries."""
    payload, entries = read_memories(data)
    done = RestoreReport()
    gone = {one for one, _ in session.home.record.memories.tombstones(session.home.personal, session.reader.name)}
    done.counts["forgotten"] += sum(entry.get("id") in gone for entry in entries)
    entries = [
        {name: value for name, value in entry.items() if name != "id"} for entry in entries if entry.get("id") not in gone
    ]
    entries, again = _not_again(session, entries, gone)
    done.counts["known"] += again
    if payload is not None:
        restore(session, payload, done, dry_run)
    if dry_run:
        done.counts["told"] += len(entries)
        return done
    for start in range(0, len(entries), 500):
        memories = [
            one for one in (_new(session, entry, source, done) for entry in entries[start : start + 500]) if one is not None
        ]
        for saved in session.memories.remember_all(memories, deep=len(entries) < 50):
            done.counts["known" if saved.known else "added"] += 1
    return done


def _not_again(
    session: Session, entries: Sequence[dict[str, Any]], gone: Collection[str]
) -> tuple[list[dict[str, Any]], int]:  # fmt: skip
    """Leave out gems that were imported or forgotten before. Returns the others, and how many are here already."""
    ids = [memory_id(entry["gem"]) for entry in entries if "gem" in entry]
    here = {one.id for one in session.home.record.memories.get(session.home.personal, ids)} if ids else set[str]()
    left = [one for one in entries if "gem" not in one or memory_id(one["gem"]) not in here | set(gone)]
    return left, sum(memory_id(one["gem"]) in here for one in entries if "gem" in one)


def _new(session: Session, entry: Mapping[str, Any], source: str, done: RestoreReport) -> Memory | None:
    """Return a memory to save; None if a field exceeds its limit, which is reported for this entry alone."""
    known = {name: value for name, value in entry.items() if name not in ("gem", "under")}
    try:
        add_sub_collections(session, entry)
        memory = session.memories.draft(source=source, **known)
        return replace(memory, id=memory_id(entry["gem"])) if "gem" in entry else memory
    except InvalidInput as error:
        done.problems.append(f"{entry['text'][:40]!r}: {error}: left out")
        return None


def _encoded(matrix: Matrix) -> str:
    return base64.b64encode(matrix.astype("<f4").tobytes()).decode()
