"""Read conversations and notes that other programs exported, one at a time.

Formats: ChatGPT, Claude, transcripts of coding agents, Obsidian vaults, JSON lines. Nothing here decides what is stored.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from contextd.errors import InvalidInput
from contextd.sources import own, transcripts
from contextd.sources.limited import Meter, Refused, entries, is_regular, lines
from contextd.sources.transcripts import moment, word
from contextd.values.conversation import HEADER, Conversation, Forgotten, Message, Note, Unread

MEMORIES = "memories"  # kind of a file with memories and no chats
FOLDER = "folder"  # kind of a folder with files of several kinds
_ENDINGS = (".jsonl", ".json", ".zip")
_MOST_NOTE = 5 << 20  # bytes of a note
_MOST_MESSAGE = 16 << 20  # characters of a message
_WIKI = re.compile(r"!?\[\[([^\]\[|\n]{1,300})(?:\|([^\]\[\n]{1,300}))?\]\]")
_HIDDEN = ("system", "tool")

Read = Conversation | Note | Forgotten | Unread


def kind_of(path: Path, meter: Meter | None = None) -> str:
    """Return the kind of a file or folder: one of KINDS, `memories`, or `folder`. Raises InvalidInput if it is unknown."""
    meter = meter or Meter()
    if path.is_dir():
        if (path / ".obsidian").is_dir():
            return "obsidian"
        kinds = {kind for file in _files(path, _ENDINGS) if (kind := _kind_within_limits(file, meter)) not in ("", MEMORIES)}
        if kinds:
            return kinds.pop() if len(kinds) == 1 else FOLDER
    else:
        _check_regular(path)
        if kind := _kind_of_file(path, meter):
            return kind
        if path.suffix.lower() == ".zip" and (problem := next(entries(path, meter), None)) and isinstance(problem, Unread):
            raise InvalidInput(f"{path}: {problem.reason}")
    raise InvalidInput(f"unknown format: {path}; set the format with --from, one of " + ", ".join(sorted((*KINDS, MEMORIES))))


def read(path: Path, kind: str, meter: Meter | None = None, began: Callable[[Path], None] = lambda _: None) -> Iterator[Read]:
    """Yield everything in a file, or in all matching files of a folder. Unreadable parts are yielded as Unread.

    `began` is called with every file before it is read.
    """
    meter = meter or Meter()
    if kind == FOLDER:
        for file in _files(path, _ENDINGS):
            found = _kind_within_limits(file, meter)
            absent = Unread(file.name, "there are no chats in it; import it by itself")
            yield from read(file, found, meter, began) if found in KINDS else [absent]
        return
    if kind not in KINDS:
        raise InvalidInput(f"no such import format: {kind!r}; the formats are {', '.join(sorted((*KINDS, MEMORIES)))}")
    endings, reader = KINDS[kind]
    if not path.is_dir():
        _check_regular(path)
    elif kind == "obsidian":
        yield from _vault(path, began)
        return
    for file in _files(path, endings) if path.is_dir() else [path]:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        began(file)
        try:
            yield from _checked(transcripts.plain(file, meter, name) if kind == "jsonl" else reader(file, meter))
        except Refused as error:
            yield Unread(file.name, str(error), stopped=True)
        except MemoryError:
            yield Unread(file.name, "it needs more memory than reading may use; nothing more is read of it", stopped=True)
        except (OSError, ValueError, RecursionError, RuntimeError) as error:
            yield Unread(file.name, f"cannot be read: {error}", stopped=True)


def _check_regular(path: Path) -> None:
    """Refuse a pipe or a device, because reading it may never end. A link that the user names is followed."""
    if not is_regular(path.resolve()):
        raise InvalidInput(f"{path} is not a regular file; save its contents to a file first")


def _files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """Yield the regular files below a folder, in order. Links are not followed."""
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top, name)
            if path.suffix.lower() in endings and is_regular(path):
                yield path


def _kind_within_limits(path: Path, meter: Meter) -> str:
    """Return the kind of a file in a folder; empty if it cannot be read."""
    try:
        return _kind_of_file(path, meter)
    except (OSError, ValueError, MemoryError, RecursionError, RuntimeError):
        return ""


def _kind_of_file(path: Path, meter: Meter) -> str:
    """Return the kind of a file by its first entry; empty if it has none."""
    if path.suffix.lower() == ".zip" or path.suffix.lower() == ".json":
        entry = next((one for one in entries(path, meter) if not isinstance(one, Unread)), None)
        if isinstance(entry, dict):
            return "chatgpt" if "mapping" in entry else "claude" if "chat_messages" in entry else MEMORIES
        return MEMORIES if path.suffix.lower() == ".json" else ""
    if path.suffix.lower() == ".jsonl":
        first = next((entry for _, entry in lines(path, meter)), None)
        return "contextd" if isinstance(first, dict) and HEADER in first else transcripts.kind_of(path, meter)
    return MEMORIES if path.suffix.lower() in (".md", ".txt") else ""


def _checked(found: Iterator[Read]) -> Iterator[Read]:
    """Remove invalid times and too long messages from conversations. Both are reported as Unread."""
    for one in found:
        if isinstance(one, Conversation):
            long = sum(len(message.text) > _MOST_MESSAGE for message in one.messages)
            timeless = sum(message.at < 0 for message in one.messages)
            if long:
                yield Unread(one.place, f"{long} messages are longer than {_MOST_MESSAGE >> 20} MB and are left out")
            if timeless:
                yield Unread(one.place, f"{timeless} messages have a time that cannot be read; they are kept without one")
            kept = [message for message in one.messages if len(message.text) <= _MOST_MESSAGE]
            one = replace(one, messages=[replace(two, at=0) if two.at < 0 else two for two in kept])
        yield one


# ChatGPT and Claude: an array of conversations, in a zip or beside it


def _chatgpt(path: Path, meter: Meter) -> Iterator[Read]:
    yield from _each(path, meter, "chatgpt", _tree)


def _each(path: Path, meter: Meter, kind: str, read_one: Callable[[Mapping[str, Any]], Iterator[Read]]) -> Iterator[Read]:
    """Read every entry by itself, so that an invalid one does not affect others."""
    for number, entry in enumerate(entries(path, meter), 1):
        if isinstance(entry, Unread):
            yield entry
            continue
        try:
            yield from list(read_one(entry))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            yield Unread(f"{kind}, entry {number}", f"it has a shape that nobody knows ({type(error).__name__}: {error})")


def _name(entry: Mapping[str, Any], *fields: str) -> str:
    """Return the id of a conversation; without an id, a hash of its title and time."""
    found = next((name for field in fields if (name := word(entry.get(field)))), "")
    return (
        found
        or blake2b(
            json.dumps([word(entry.get(one)) for one in ("title", "name", "create_time", "created_at")]).encode(), digest_size=8
        ).hexdigest()
    )


def _tree(entry: Mapping[str, Any]) -> Iterator[Read]:
    """Yield the branches of a conversation tree: the current branch, then abandoned ones."""
    place, title = f"chatgpt/{_name(entry, 'conversation_id', 'id')}", word(entry.get("title"))
    nodes = entry.get("mapping")
    if not isinstance(nodes, dict):
        yield Unread(place, "it has no messages")
        return
    main = _path_to(word(entry.get("current_node")), nodes) or _path_to(_deepest(nodes), nodes)
    yield Conversation(place, title, [said for name in main if (said := _chatgpt_message(nodes[name]))])
    parents = {word(node.get("parent")) for node in nodes.values() if isinstance(node, dict)}
    taken = set(main)
    leaves = [name for name in nodes if name not in parents and name not in taken]
    for number, leaf in enumerate(leaves, 1):
        branch = _path_to(leaf, nodes, taken)
        taken.update(branch)  # messages shared by two branches belong to the first
        if messages := [message for name in branch if (message := _chatgpt_message(nodes[name]))]:
            yield Conversation(f"{place}/branch-{number}", f"{title} (another branch)".strip(), messages)


def _path_to(name: str, nodes: Mapping[str, Any], taken: Collection[str] = ()) -> list[str]:
    """Return the nodes from the root, or from the last taken node, to a node. Cycles end where they close."""
    path: dict[str, None] = {}
    while name not in taken and name not in path and isinstance(nodes.get(name), dict):
        path[name] = None
        name = word(nodes[name].get("parent"))
    return list(reversed(path))


def _deepest(nodes: Mapping[str, Any]) -> str:
    """Return the node farthest from its root; ties: the first. Every node is visited once."""
    depths: dict[str, int] = {}
    for name in nodes:
        path = _path_to(name, nodes, depths)
        above = word(nodes[path[0]].get("parent")) if path else ""
        for number, inner in enumerate(path, depths.get(above, 0) + 1):
            depths[inner] = number
    return max(depths, key=depths.__getitem__, default="")


def _chatgpt_message(node: Any) -> Message | None:
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return None
    author, content = message.get("author") or {}, message.get("content") or {}
    role = word(author.get("role")) if isinstance(author, dict) else ""
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    if (
        role in _HIDDEN
        or hidden
        or not isinstance(content, dict)
        or content.get("content_type") not in ("text", "multimodal_text")
    ):
        return None
    parts = content.get("parts")
    parts = [part if isinstance(part, str) else "[image]" for part in parts] if isinstance(parts, list) else []
    text = "\n".join(part for part in parts if part.strip())
    return Message(role, text, moment(message.get("create_time")), role) if text else None


def _claude(path: Path, meter: Meter) -> Iterator[Read]:
    yield from _each(path, meter, "claude", _talk)


def _talk(entry: Mapping[str, Any]) -> Iterator[Read]:
    place, messages = f"claude/{_name(entry, 'uuid', 'id')}", entry.get("chat_messages")
    if not isinstance(messages, list):
        yield Unread(place, "it has no messages")
        return
    found = [message for one in messages if isinstance(one, dict) and (message := _claude_message(one))]
    yield Conversation(place, word(entry.get("name")), found)


def _claude_message(one: Mapping[str, Any]) -> Message | None:
    text = transcripts.text_of(one.get("content")) or word(one.get("text"))
    sender = word(one.get("sender"))
    role = "user" if sender == "human" else sender
    return Message(role, text, moment(one.get("created_at")), role) if text.strip() else None


# Notes


def _vault(path: Path, began: Callable[[Path], None] = lambda _: None) -> Iterator[Read]:
    """Yield the pages of a vault. Links inside are replaced by their text."""
    for file in _files(path, (".md",)):
        place = f"{path.resolve().name}/{file.relative_to(path).as_posix()}"
        began(file)
        try:
            stat = file.stat()
            if stat.st_size > _MOST_NOTE:
                yield Unread(place, f"it has {stat.st_size >> 20} MB; a note has at most {_MOST_NOTE >> 20}")
                continue
            text = file.read_text("utf-8", "replace")
        except OSError as error:
            yield Unread(place, error.strerror or str(error))
            continue
        shown = _WIKI.sub(lambda match: match[2] or match[1], text)
        if shown.strip():
            yield Note(place, file.stem, shown, _dated(file.stem, text) or stat.st_mtime_ns // 1000)


def _dated(name: str, text: str) -> int:
    """Return the date of a page: from its name, as in daily notes, or from its front matter; 0 if there is none."""
    top = text[:1000].partition("\n---")[0] if text.startswith("---") else ""
    found = re.search(r"(\d{4}-\d\d-\d\d)", name) or re.search(r"(?m)^(?:created|date):\s*[\"']?(\d{4}-\d\d-\d\d)", top)
    return max(0, moment(found[1])) if found else 0


KINDS: dict[str, tuple[tuple[str, ...], Callable[..., Iterator[Read]]]] = {
    "chatgpt": ((".zip", ".json"), _chatgpt),
    "claude": ((".zip", ".json"), _claude),
    "claude-code": ((".jsonl",), transcripts.claude_code),
    "codex": ((".jsonl",), transcripts.codex),
    "contextd": ((".jsonl",), own.chats),
    "jsonl": ((".jsonl",), transcripts.plain),
    "obsidian": ((".md",), _vault),
}
