"""Memories out and in: JSON (compact, or with vectors), JSON lines, Markdown; and the backup of other personal stores.

An export of contextd's own as JSON or JSON lines comes back without loss: clocks, history, links, topics and tombstones
included. The later write wins, and what was forgotten on either side stays so. Anything else that has texts is told anew,
memory by memory. Only known fields of the expected shape are read.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from contextd.engine import Engine
from contextd.errors import InvalidInput
from contextd.memory import Link, Memory, Topic, Version
from contextd.ports import Matrix
from contextd.remembering import pipeline
from contextd.workers.reading import memory_file, read_memories

__all__ = ["as_lines", "as_markdown", "exported", "imported", "memory_file"]
FORMAT = 1
_CLOCK = re.compile(r"[0-9a-f]{12}-[0-9a-f]{4}-[0-9a-f]{1,16}")
_ID = re.compile(r"[0-9a-f]{32}")
_AHEAD = 86_400_000  # milliseconds a clock may be ahead of ours: a broken one would win over everything for ever
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
class Imported:
    """What came of an import."""

    counts: Counter[str] = field(default_factory=Counter)  # added, changed, known, forgotten, buried
    problems: list[str] = field(default_factory=list)


def exported(engine: Engine, *, vectors: bool = False) -> dict[str, Any]:
    """Everything this reader wrote, personal and of the project the engine is in."""
    desk = engine.memories
    places = {"personal": desk.personal} | ({"project": desk.project} if desk.project is not None else {})
    payload: dict[str, Any] = {"memories": [], "links": [], "topics": [], "tombstones": []}
    for place, workspace in places.items():
        own = sorted(
            (one for one in engine.record.memories.all(workspace, engine.reader) if one.author == engine.reader.name),
            key=lambda one: one.id,
        )
        ids = [one.id for one in own]
        held = engine.record.memories.vectors(workspace, ids) if vectors else {}
        for memory in own:
            entry = {"in": place, **_plain(memory)}
            entry["history"] = [
                {"at": one.at, "by": one.by, **_plain(one.before)}
                for one in engine.record.memories.versions(workspace, memory.id)
            ]
            if vectors:
                entry["vectors"] = {space: _encoded(matrix) for space, matrix in held.get(memory.id, {}).items()}
            payload["memories"].append(entry)
        payload["links"] += [
            {"in": place, "start": one.start, "end": one.end, "kind": one.kind, "clock": one.clock}
            for one in engine.record.relations.links(workspace, ids)
            if {one.start, one.end} <= set(ids)
        ]
        payload["tombstones"] += [
            {"in": place, "id": one, "clock": clock} for one, clock in engine.record.memories.tombstones(workspace)
        ]
    payload["topics"] = [
        {"name": one.name, "parent": one.parent} for one in engine.record.relations.topics(desk.personal, engine.reader.name)
    ]
    manifest = {name: len(entries) for name, entries in payload.items()}
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    return {"contextd": {"format": FORMAT, "exported": stamp, "vectors": vectors, **manifest}, **payload}


def as_lines(payload: Mapping[str, Any]) -> Iterator[str]:
    """An export as JSON lines: the manifest, then an entry a line."""
    yield json.dumps({"type": "manifest", **payload["contextd"]}, ensure_ascii=False)
    for name in ("topics", "memories", "links", "tombstones"):
        for entry in payload[name]:
            yield json.dumps({"type": name, **entry}, ensure_ascii=False)


def as_markdown(payload: Mapping[str, Any]) -> str:
    """An export for people: memories by kind, those that hold now and are neither private nor never to be recalled."""
    lines = ["# Memories", ""]
    current = [one for one in payload["memories"] if one["valid_to"] is None and not one["private"] and not one["silent"]]
    for kind in sorted({one["kind"] for one in current}):
        lines += [f"## {kind}", ""]
        for one in sorted((one for one in current if one["kind"] == kind), key=lambda one: -one["said"]):
            topics = "".join(f" #{topic.replace(' ', '-')}" for topic in one["topics"])
            text = one["text"].replace("\n", "\n  ")
            lines.append(f"- {text}{topics} <!-- {one['id']} -->")
        lines.append("")
    return "\n".join(lines)


def imported(engine: Engine, data: str | bytes, *, source: str = "import", dry_run: bool = False) -> Imported:
    """Read an export, a backup, JSON lines or a Markdown list; with `dry_run` only say what is in it."""
    payload, told = read_memories(data)
    done = Imported()
    gone = {one for one, _ in engine.record.memories.tombstones(engine.personal)}
    done.counts["forgotten"] += sum(entry.get("id") in gone for entry in told)
    told = [{name: value for name, value in entry.items() if name != "id"} for entry in told if entry.get("id") not in gone]
    if payload is not None:
        _restore(engine, payload, done, dry_run)
    if dry_run:
        done.counts["told"] += len(told)
        return done
    for start in range(0, len(told), 500):
        memories = [
            engine.memories.told(one.pop("text"), source=source, **one)
            for one in (dict(entry) for entry in told[start : start + 500])
        ]
        for kept in engine.memories.remember_all(memories, deep=len(told) < 50):
            done.counts["known" if kept.known else "added"] += 1
    return done


# Restoring


def _restore(engine: Engine, payload: Mapping[str, Any], done: Imported, dry_run: bool) -> None:
    if payload["contextd"].get("format") != FORMAT:
        raise InvalidInput(f"this export has format {payload['contextd'].get('format')!r}; this contextd knows {FORMAT}")
    desk = engine.memories
    places = {"personal": desk.personal, "project": desk.project}
    latest = int(time.time() * 1000) + _AHEAD
    for entry in _entries(payload, "memories"):
        workspace = places.get(str(entry.get("in")))
        memory = _memory(entry, workspace, latest) if workspace is not None else None
        if memory is None or memory.author != engine.reader.name:
            done.problems.append(
                f"memory {str(entry.get('id'))[:12]!r} is not one of yours, or not of the right shape: left out"
            )
            continue
        if dry_run:
            done.counts["memories"] += 1
            continue
        memory, _ = pipeline.clean(memory, engine.rules)
        history = [one for one in _entries(entry, "history") if isinstance(one.get("at"), int)]
        before = [(one, _memory({**one, "id": memory.id}, memory.workspace, latest)) for one in history]
        versions = [Version(one["at"], str(one.get("by", "")), old) for one, old in before if old is not None]
        state = engine.record.memories.restore(
            memory, pipeline.parsed(memory.text, engine.tokens), _vectors(engine, entry, memory.text), versions
        )
        done.counts[state] += 1
    if not dry_run:
        _restore_relations(engine, payload, places, latest, done)


def _restore_relations(
    engine: Engine, payload: Mapping[str, Any], places: Mapping[str, int | None], latest: int, done: Imported
) -> None:
    topics = [one for one in _entries(payload, "topics") if isinstance(one.get("name"), str)]
    if topics:
        engine.record.relations.put_topics(
            engine.personal, engine.reader.name, [Topic(one["name"], str(one.get("parent", ""))) for one in topics]
        )
    for entry in _entries(payload, "links"):
        workspace, link = (
            places.get(str(entry.get("in"))),
            Link(*(str(entry.get(name, "")) for name in ("start", "end", "kind"))),
        )
        if workspace is not None and len(engine.record.memories.get(workspace, [link.start, link.end])) == 2:
            engine.record.relations.link(workspace, link.start, link.end, link.kind)
    for entry in _entries(payload, "tombstones"):
        workspace, clock = places.get(str(entry.get("in"))), str(entry.get("clock"))
        if workspace is not None and _ID.fullmatch(str(entry.get("id"))) and _is_clock(clock, latest):
            own = engine.record.memories.get(workspace, [entry["id"]])
            if not own or own[0].author == engine.reader.name:
                done.counts["buried"] += engine.record.memories.bury(workspace, entry["id"], clock)


def _entries(payload: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = payload.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _memory(entry: Mapping[str, Any], workspace: int, latest: int) -> Memory | None:
    """A memory of an entry, when every field has the right shape."""
    known: dict[str, Any] = {"workspace": workspace}
    for one in _FIELDS:
        value = entry.get(one.name)
        if one.name in _LISTS:
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                return None
            known[one.name] = _LISTS[one.name](value)
        elif not isinstance(value, _SHAPES[str(one.type)]) or not _is_storable(value):
            return None
        else:
            known[one.name] = value
    return Memory(**known) if _ID.fullmatch(known["id"]) and _is_clock(known["clock"], latest) else None


def _is_storable(value: Any) -> bool:
    """Whether a number is one that the database keeps as it is: neither NaN nor infinite nor too large."""
    return not isinstance(value, int | float) or -(2.0**62) < value < 2.0**62


def _is_clock(clock: str, latest: int) -> bool:
    return bool(_CLOCK.fullmatch(clock)) and int(clock[:12], 16) <= latest


def _plain(memory: Memory) -> dict[str, Any]:
    """Every field but the workspace, in values JSON has."""
    found = {one.name: getattr(memory, one.name) for one in _FIELDS}
    return found | {name: sorted(found[name]) if name != "topics" else list(found[name]) for name in _LISTS}


def _encoded(matrix: Matrix) -> str:
    return base64.b64encode(matrix.astype("<f4").tobytes()).decode()


def _vectors(engine: Engine, entry: Mapping[str, Any], text: str) -> dict[str, Matrix]:
    """The vectors of an entry in the spaces we have, and made again where there are none."""
    given = entry.get("vectors") if isinstance(entry.get("vectors"), dict) else {}
    embedders = [one for one in (engine.static, engine.deep()) if one is not None]
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
