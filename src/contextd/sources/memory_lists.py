"""Read files of memories: exports of contextd, backups of other personal stores, JSON lines, Markdown lists.

Entries are yielded one at a time, with the name of their part: OWN for the manifest of contextd's own export, FOREIGN for an
entry of any other file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from contextd.errors import InvalidInput
from contextd.sources.limited import DEPTH, depth_exceeds
from contextd.text import times

OWN = "contextd"
FOREIGN = "told"
_ITEM = re.compile(r"([-*+•]|\d{1,4}[.)])\s+(.+)")
_LONGEST_LINE = 400  # characters; a longer line is prose, not a fact
_TECHNICAL = re.compile(r"`[^`]+`|\]\(|\bhttps?://|\w\(\)")  # code or a link
_LONGEST_ID = 200
_MOST_TECHNICAL = 0.3  # share of the items of a list of facts about a person
_REMEDY = (
    "Write one fact per line and start each line with `- `. For pages of notes use `contextd import FOLDER --from obsidian`"
)
_CODE = re.compile(
    r"^[ \t]+\S|[{};]\s*$|</?\w+[^<>]*>|=>|^#!|^\d{4}-\d\d-\d\d[T ]\d\d:|^[^,\s]*(?:,[^,\s]*){2,}$"
    r"|^(?:def|class|import|from|function|const|let|var|package|using|return|if|for|while)\b.*[:(={]"
)
_PARAGRAPHS = re.compile(r"^[^#\s].*\n\s*\n[^#\s]", re.MULTILINE)

Entry = tuple[str, dict[str, Any]]


def read(data: str) -> Iterator[Entry]:
    """Yield the entries of contextd's own export, or of a file of another kind. Raises InvalidInput for anything else."""
    if _is_binary(data):
        raise InvalidInput(f"the file is not text: it contains bytes that are not UTF-8. {_REMEDY}")
    stripped = data.lstrip("\ufeff \n\r\t")
    if stripped.startswith("{"):
        yield from _object(stripped)
    elif stripped.startswith("["):
        try:
            found = _parsed(stripped)
        except ValueError as error:
            raise InvalidInput(f"invalid JSON: {error}") from None
        for one in found:
            yield FOREIGN, _entry(one if isinstance(one, dict) else {"text": one})
    else:
        for item in _items(stripped):
            yield FOREIGN, _tagged(item)


def _is_binary(data: str) -> bool:
    """Return whether decoded bytes were no text: a NUL, or more than one replacement character in a hundred."""
    return "\0" in data or data.count("\ufffd") * 100 > len(data)


def _object(data: str) -> Iterator[Entry]:
    try:
        found = _parsed(data)
    except ValueError as error:
        if '"contextd"' in data[:200] and "\n{" not in data:
            raise InvalidInput(f"the export is incomplete ({error}); nothing was imported. Export it again") from None
        yield from _lines(data)
        return
    if isinstance(found.get("contextd"), dict):
        yield OWN, found["contextd"]
        parts = {name: entries for name, entries in found.items() if name != OWN and isinstance(entries, list)}
        for name, entries in parts.items():
            yield from ((name, entry) for entry in entries if isinstance(entry, dict))
    elif isinstance(found.get("gems"), list | dict):
        gems = found["gems"].values() if isinstance(found["gems"], dict) else found["gems"]
        for one in gems:
            if isinstance(one, dict) and isinstance(one.get("value"), str):
                yield FOREIGN, _gem(one)
    elif isinstance(found.get("text"), str):
        yield FOREIGN, _entry(found)
    elif found.get("type") == "manifest":  # an export as lines that has only its first line
        yield OWN, found
    else:
        raise InvalidInput(
            "unknown JSON format; the object needs a key `contextd` (an export), `gems` (a backup) or `text` (one memory)"
        )


def _lines(data: str) -> Iterator[Entry]:
    own = False
    for number, line in enumerate(data.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = _parsed(line)
        except ValueError as error:
            reason, column = getattr(error, "msg", str(error)), getattr(error, "colno", 1)
            raise InvalidInput(f"line {number}, column {column}: invalid JSON ({reason}); nothing was imported") from None
        if number == 1 and isinstance(entry, dict) and entry.get("type") == "manifest":
            own = True
            yield OWN, entry
        elif own:
            if isinstance(entry, dict) and isinstance(entry.get("type"), str) and entry["type"] != OWN:
                yield entry["type"], entry
        else:
            yield FOREIGN, _entry(entry if isinstance(entry, dict) else {"text": entry})


def _parsed(text: str) -> Any:
    """Parse JSON within the limit of depth. Raises ValueError for invalid JSON and InvalidInput beyond the limit."""
    try:
        found = json.loads(text)
        if not depth_exceeds(found, DEPTH):
            return found
    except RecursionError:
        pass
    raise InvalidInput(f"the JSON is nested deeper than {DEPTH} levels; nothing was imported")


def _items(data: str) -> list[str]:
    """Return the facts of a text: the items of its lists, or its lines. Raises InvalidInput for prose, code and tables."""
    lines = data.splitlines()
    items = [item[2] for line in lines if (item := _ITEM.match(line.strip()))]
    others = [
        line for line in lines if line.strip() and not line.strip().startswith(("#", "<!--")) and not _ITEM.match(line.strip())
    ]
    if items:
        beside = [line for line in others if not line.startswith((" ", "\t"))]  # an indented line continues an item
        if len(beside) > len(items):
            raise InvalidInput(f"the text is not a list: {len(items)} items and {len(beside)} other lines. {_REMEDY}")
        if (technical := sum(bool(_TECHNICAL.search(item)) for item in items)) > _MOST_TECHNICAL * len(items):
            raise InvalidInput(
                f"the list is about software: {technical} of {len(items)} items have code or links. Run `contextd index` to "
                "search it as a document, or remember single facts with `contextd remember --here`"
            )
    elif reason := _no_list(data, others):
        raise InvalidInput(f"the text is not a list: {reason}. {_REMEDY}")
    return items or [line.strip() for line in others]


def _no_list(data: str, lines: list[str]) -> str:
    """Return why lines without list marks are no facts; empty if they may be."""
    code = sum(bool(_CODE.search(line)) for line in lines)
    if code * 4 > len(lines):
        return "its lines look like code or a table"
    if len(lines) > 1 and max(map(len, lines)) > _LONGEST_LINE:
        return "its lines are too long"
    if len(lines) > 1 and _PARAGRAPHS.search(data.strip()):
        return "it has paragraphs"
    return ""


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a text with its known fields, from a file of another kind. Raises InvalidInput without a text."""
    text = entry.get("text", entry.get("content", entry.get("value")))
    if text is not None and not isinstance(text, str):
        raise InvalidInput(f"the `text` of an entry must be a string, not {type(text).__name__}; nothing was imported")
    if text is None or not text.strip():
        raise InvalidInput("an entry has no `text`; every entry needs one. Nothing was imported")
    known: dict[str, Any] = {"text": text}
    for name in ("kind", "attribute", "value", "unit", "conversation"):
        if isinstance(entry.get(name), str) and entry[name] and not (name == "value" and "text" not in entry):
            known[name] = entry[name]
    if isinstance(entry.get("topics"), list):
        known["topics"] = [one for one in entry["topics"] if isinstance(one, str)]
    if said := _time(entry.get("said", entry.get("timestamp")), text):
        known["said"] = said
    return known


def _time(value: Any, text: str) -> int:
    """Return the time of the statement in microseconds; 0 if none is given. Raises InvalidInput for an invalid time."""
    try:
        return times.moment(value)
    except ValueError:
        shown = repr(value)[:40] if isinstance(value, str | int | float) else type(value).__name__
        raise InvalidInput(
            f"invalid time: {shown} (in {text[:40]!r}); use seconds since 1970 or a date such as 2024-05-01"
        ) from None


def _gem(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an entry of the backup format with `gems`: id, value, collections, subCollections, semanticType, timestamp.

    `gem` is its id there. `under` has the collection of each sub-collection, if there is only one.
    """
    topics, below = (
        [one for one in entry.get(name) or () if isinstance(one, str)] if isinstance(entry.get(name), list) else []
        for name in ("collections", "subCollections")
    )
    fields = {"text": entry["value"], "kind": entry.get("semanticType"), "attribute": entry.get("attribute")}
    fields |= {"value": entry.get("attributeValue"), "unit": entry.get("attributeUnit"), "topics": [*topics, *below]}
    found = _entry(fields | {"said": entry.get("timestamp")})
    if isinstance(entry.get("id"), str) and entry["id"]:
        found["gem"] = entry["id"][:_LONGEST_ID]
    return found | ({"under": dict.fromkeys(below, topics[0])} if below and len(topics) == 1 else {})


def _tagged(item: str) -> dict[str, Any]:
    marked = re.search(r"\s*<!-- (\w+) -->$", item)
    item = item[: marked.start()] if marked else item
    topics = [match.replace("-", " ") for match in re.findall(r"(?<=\s)#([^\W\d][\w-]*)(?=\s|$)", item)]
    text = re.sub(r"\s+#[^\W\d][\w-]*(?=\s|$)", "", item).strip()
    return {"text": text, **({"topics": topics} if topics else {}), **({"id": marked[1]} if marked else {})}
