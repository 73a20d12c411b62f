"""Memories out and in: JSON (compact, or with vectors), JSON lines, Markdown; and the backup of other personal stores.

An export of contextd's own as JSON or JSON lines comes back without loss: clocks, history, links, topics and tombstones
included. The later write wins, and what was forgotten on either side stays so. Anything else that has texts is told anew,
memory by memory. Only known fields of the expected shape are read.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from contextd.engine import Engine
from contextd.errors import InvalidInput
from contextd.memory import Memory
from contextd.ports import Matrix
from contextd.restoring import FORMAT, SECTIONS, Imported, plain, restore

_ITEM = re.compile(r"([-*+•]|\d{1,4}[.)])\s+(.+)")
_LONGEST_LINE = 400  # characters of a line that is a fact: what is longer is prose


def exported(engine: Engine, *, vectors: bool = False) -> dict[str, Any]:
    """Everything this reader wrote, personal and of the project the engine is in."""
    desk, author = engine.memories, engine.reader.name
    payload: dict[str, Any] = {name: [] for name in SECTIONS}
    aliases = engine.record.exchange.aliases(author)  # first: what is ahead of real time is set back
    told = engine.record.exchange.told_topics(author)
    for place, workspace in {"personal": desk.personal, "project": desk.project}.items():
        if workspace is not None:
            _export_workspace(engine, place, workspace, payload, told, vectors)
    payload["topics"] = [
        {"name": one.name, "parent": one.parent, "clock": one.clock}
        for one in engine.record.exchange.topics(desk.personal, author)
    ]
    payload["topic_changes"] = [
        {"name": one.name, "new": one.new, "clock": one.clock} for one in engine.record.relations.topic_changes(author)
    ]
    payload["clocks"] = [{"original": original, "clock": clock} for original, clock in aliases.items()]
    manifest = {name: len(entries) for name, entries in payload.items()}
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    return {"contextd": {"format": FORMAT, "exported": stamp, "vectors": vectors, **manifest}, **payload}


def _export_workspace(
    engine: Engine, place: str, workspace: int, payload: dict[str, Any], told: Mapping[str, Sequence[str]], vectors: bool
) -> None:
    record, reader = engine.record, engine.reader
    readable = record.memories.all(workspace, reader)
    own = sorted((one for one in readable if one.author == reader.name), key=lambda one: one.id)
    ids = [one.id for one in own]
    held = record.memories.vectors(workspace, ids) if vectors else {}
    for memory in own:
        entry = {"in": place, **plain(memory)}
        entry |= {"told_topics": list(told[memory.id])} if memory.id in told else {}
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
    """An export as JSON lines: the manifest, then an entry a line."""
    yield json.dumps({"type": "manifest", **payload["contextd"]}, ensure_ascii=False)
    for name in SECTIONS:
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


def imported(engine: Engine, data: str, *, source: str = "import", dry_run: bool = False) -> Imported:
    """Read an export, a backup, JSON lines or a Markdown list; with `dry_run` only say what is in it."""
    payload, told = _read(data)
    done = Imported()
    gone = {one for one, _ in engine.record.memories.tombstones(engine.personal, engine.reader.name)}
    done.counts["forgotten"] += sum(entry.get("id") in gone for entry in told)
    told = [{name: value for name, value in entry.items() if name != "id"} for entry in told if entry.get("id") not in gone]
    if payload is not None:
        restore(engine, payload, done, dry_run)
    if dry_run:
        done.counts["told"] += len(told)
        return done
    for start in range(0, len(told), 500):
        memories = [
            one for one in (_new(engine, entry, source, done) for entry in told[start : start + 500]) if one is not None
        ]
        for kept in engine.memories.remember_all(memories, deep=len(told) < 50):
            done.counts["known" if kept.known else "added"] += 1
    return done


def _new(engine: Engine, entry: Mapping[str, Any], source: str, done: Imported) -> Memory | None:
    """A memory that is told anew; a field beyond its limits is a problem of this entry alone."""
    try:
        return engine.memories.told(source=source, **entry)
    except InvalidInput as error:
        done.problems.append(f"{entry['text'][:40]!r}: {error}: left out")
        return None


# Reading


def _read(data: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """An export of our own, or what a file of another kind tells."""
    stripped = data.lstrip("\ufeff \n\r\t")
    if stripped.startswith("{"):
        try:
            found = json.loads(stripped)
        except ValueError as error:
            if '"contextd"' in stripped[:200] and "\n{" not in stripped:
                raise InvalidInput(f"this export is not whole ({error}); nothing was read: export it again") from None
            return _read_lines(stripped)
        if isinstance(found, dict) and isinstance(found.get("contextd"), dict):
            return found, []
        if isinstance(found, dict) and isinstance(found.get("gems"), list):
            return None, [_gem(one) for one in found["gems"] if isinstance(one, dict) and isinstance(one.get("value"), str)]
        if isinstance(found, dict) and isinstance(found.get("text"), str):
            return None, [_told(found)]
        raise InvalidInput("this JSON is no export: it has neither `contextd`, nor `gems`, nor `text`")
    if stripped.startswith("["):
        try:
            found = json.loads(stripped)
        except ValueError as error:
            raise InvalidInput(f"this is no JSON: {error}") from None
        return None, [_told(one if isinstance(one, dict) else {"text": one}) for one in found]
    lines = [line.strip() for line in stripped.splitlines()]
    items = [item[2] for line in lines if (item := _ITEM.match(line))]
    if not items and len(lines) > 1 and max(map(len, lines)) > _LONGEST_LINE:
        raise InvalidInput("this text has no list in it; facts are lines that begin with `- `, or one short sentence a line")
    return None, [_tagged(item) for item in items or [line for line in lines if line and not line.startswith("#")]]


def _read_lines(data: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    entries = []
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                entries.append(json.loads(line))
            except ValueError as error:
                raise InvalidInput(f"line {number} is no JSON: {error}") from None
    if entries and isinstance(entries[0], dict) and entries[0].get("type") == "manifest":
        payload: dict[str, Any] = {"contextd": entries[0]} | {name: [] for name in SECTIONS}
        for entry in entries[1:]:
            if isinstance(entry, dict) and entry.get("type") in SECTIONS:
                payload[entry["type"]].append(entry)
        return payload, []
    return None, [_told(one if isinstance(one, dict) else {"text": one}) for one in entries]


def _told(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A text with what is said of it, from a file of another kind."""
    text = entry.get("text", entry.get("content", entry.get("value")))
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput("an entry has no text; each needs `text`")
    known: dict[str, Any] = {"text": text}
    for name in ("kind", "attribute", "value", "unit", "conversation"):
        if isinstance(entry.get(name), str) and entry[name] and not (name == "value" and "text" not in entry):
            known[name] = entry[name]
    if isinstance(entry.get("topics"), list):
        known["topics"] = [one for one in entry["topics"] if isinstance(one, str)]
    if (said := entry.get("said", entry.get("timestamp"))) is not None:
        known["said"] = _moment(said, text)
    return known


def _moment(value: Any, text: str) -> int:
    """When it was said: a number, or a date as ISO writes it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _microseconds(value)
    try:
        read = datetime.fromisoformat(str(value))
        return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1e6)
    except ValueError:
        raise InvalidInput(
            f"{value!r} is no time (of {text[:40]!r}); give seconds since 1970 or a date such as 2024-05-01"
        ) from None


def _gem(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the backup format with `gems`: value, collections, semanticType, timestamp."""
    told = {"text": entry["value"], "kind": entry.get("semanticType"), "attribute": entry.get("attribute")}
    told |= {"value": entry.get("attributeValue"), "unit": entry.get("attributeUnit"), "topics": entry.get("collections")}
    told |= {"said": entry.get("timestamp")}
    return _told(told)


def _tagged(item: str) -> dict[str, Any]:
    marked = re.search(r"\s*<!-- (\w+) -->$", item)
    item = item[: marked.start()] if marked else item
    topics = [match.replace("-", " ") for match in re.findall(r"(?<=\s)#([^\W\d][\w-]*)(?=\s|$)", item)]
    text = re.sub(r"\s+#[^\W\d][\w-]*(?=\s|$)", "", item).strip()
    return {"text": text, **({"topics": topics} if topics else {}), **({"id": marked[1]} if marked else {})}


def _microseconds(value: float) -> int:
    """A time in seconds, milliseconds, microseconds or nanoseconds, by its size."""
    if not math.isfinite(value):
        raise InvalidInput(f"{value} is no time; give seconds since 1970 or a date such as 2024-05-01")
    size = abs(value)
    factor = 1_000_000 if size < 1e11 else 1000 if size < 1e14 else 1
    return int(value * factor) if size < 1e17 else int(value) // 1000


def _encoded(matrix: Matrix) -> str:
    return base64.b64encode(matrix.astype("<f4").tobytes()).decode()
