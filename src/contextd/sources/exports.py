"""Conversations and notes as other programs write them down, read one at a time: exports of ChatGPT and Claude, transcripts of
coding agents, Obsidian vaults, JSON lines. Nothing here decides what is kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from contextd.conversation import Conversation, Message, Note, Unread
from contextd.errors import InvalidInput
from contextd.sources import transcripts
from contextd.sources.transcripts import moment

MEMORIES = "memories"  # the kind of a file that holds memories and no chats
FOLDER = "folder"  # of one with files of several kinds
_ENDINGS = (".jsonl", ".json", ".zip")
_MOST_NOTE = 5 << 20  # bytes of a note
_WIKI = re.compile(r"!?\[\[([^\]\[|\n]{1,300})(?:\|([^\]\[\n]{1,300}))?\]\]")
_HIDDEN = ("system", "tool")

Read = Conversation | Note | Unread


def kind_of(path: Path) -> str:
    """What a file or folder is: a kind of KINDS, `memories`, or `folder` for one with files of several kinds; or refused."""
    if path.is_dir():
        if (path / ".obsidian").is_dir():
            return "obsidian"
        kinds = {kind for file in _files(path, _ENDINGS) if (kind := _kind_of_file(file)) not in ("", MEMORIES)}
        if kinds:
            return kinds.pop() if len(kinds) == 1 else FOLDER
    elif path.suffix.lower() == ".zip" and (problem := next(_entries(path), None)) and isinstance(problem, Unread):
        raise InvalidInput(f"{path}: {problem.reason}")
    elif kind := _kind_of_file(path):
        return kind
    raise InvalidInput(
        f"{path} is nothing that can be imported by itself; say what it is with --from, one of "
        + ", ".join(sorted((*KINDS, MEMORIES)))
    )


def read(path: Path, kind: str) -> Iterator[Read]:
    """Everything in a file, or in all files of a folder that may hold some of it; what cannot be read is told, not thrown."""
    if kind == FOLDER:
        for file in _files(path, _ENDINGS):
            own = _kind_of_file(file)
            yield from read(file, own) if own in KINDS else [Unread(file.name, "there are no chats in it; import it by itself")]
        return
    if kind not in KINDS:
        raise InvalidInput(f"there is no {kind!r} to import from; there are {', '.join(sorted(KINDS))}")
    endings, reader = KINDS[kind]
    if kind == "obsidian":
        yield from _vault(path)
        return
    for file in _files(path, endings) if path.is_dir() else [path]:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        try:
            yield from (transcripts.plain(file, name) if kind == "jsonl" else reader(file))
        except (OSError, ValueError, RecursionError) as error:
            yield Unread(file.name, f"cannot be read: {error}")


def _files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """The files below a folder, in order; links are not followed."""
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top, name)
            if path.suffix.lower() in endings and not path.is_symlink():
                yield path


def _kind_of_file(path: Path) -> str:
    """By its beginning, not by its name; empty when it is none."""
    if path.suffix.lower() == ".zip" or path.suffix.lower() == ".json":
        entry = next((one for one in _entries(path) if not isinstance(one, Unread)), None)
        if isinstance(entry, dict):
            return "chatgpt" if "mapping" in entry else "claude" if "chat_messages" in entry else MEMORIES
        return MEMORIES if path.suffix.lower() == ".json" else ""
    if path.suffix.lower() == ".jsonl":
        return transcripts.kind_of(path)
    return MEMORIES if path.suffix.lower() in (".md", ".txt") else ""


# ChatGPT and Claude: an array of conversations, in a zip or beside it


def _chatgpt(path: Path) -> Iterator[Read]:
    yield from _each(path, "chatgpt", _tree)


def _each(path: Path, kind: str, read_one: Callable[[Mapping[str, Any]], Iterator[Read]]) -> Iterator[Read]:
    """Every entry by itself: one of a shape nobody knows costs only itself."""
    for number, entry in enumerate(_entries(path), 1):
        if isinstance(entry, Unread):
            yield entry
            continue
        try:
            yield from list(read_one(entry))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            yield Unread(f"{kind}, entry {number}", f"it has a shape that nobody knows ({type(error).__name__}: {error})")


def _name(entry: Mapping[str, Any], *fields: str) -> str:
    """The id of a conversation; one that has none is known by its beginning."""
    found = next((str(entry[field]) for field in fields if entry.get(field)), "")
    return (
        found
        or blake2b(
            json.dumps([str(entry.get(one)) for one in ("title", "name", "create_time", "created_at")]).encode(), digest_size=8
        ).hexdigest()
    )


def _tree(entry: Mapping[str, Any]) -> Iterator[Read]:
    """A conversation is a tree of messages: the branch that was gone on with, and those that were left."""
    place, title = f"chatgpt/{_name(entry, 'conversation_id', 'id')}", str(entry.get("title") or "")
    nodes = entry.get("mapping")
    if not isinstance(nodes, dict):
        yield Unread(place, "it has no messages")
        return
    main = _path_to(str(entry.get("current_node")), nodes) or max(
        (_path_to(name, nodes) for name in nodes), key=len, default=[]
    )
    yield Conversation(place, title, [said for name in main if (said := _chatgpt_message(nodes[name]))])
    parents = {str(node.get("parent")) for node in nodes.values() if isinstance(node, dict)}
    taken = set(main)
    leaves = [name for name in nodes if name not in parents and name not in taken]
    for number, leaf in enumerate(leaves, 1):
        branch = [name for name in _path_to(leaf, nodes) if name not in taken]
        if messages := [message for name in branch if (message := _chatgpt_message(nodes[name]))]:
            yield Conversation(f"{place}/branch-{number}", f"{title} (another branch)".strip(), messages)


def _path_to(name: str, nodes: Mapping[str, Any]) -> list[str]:
    """The nodes from the root to one; a circle ends where it closes."""
    path: dict[str, None] = {}
    while isinstance(nodes.get(name), dict) and name not in path:
        path[name] = None
        name = str(nodes[name].get("parent"))
    return list(reversed(path))


def _chatgpt_message(node: Any) -> Message | None:
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return None
    author, content = message.get("author") or {}, message.get("content") or {}
    role = str(author.get("role", "")) if isinstance(author, dict) else ""
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


def _claude(path: Path) -> Iterator[Read]:
    yield from _each(path, "claude", _talk)


def _talk(entry: Mapping[str, Any]) -> Iterator[Read]:
    place, messages = f"claude/{_name(entry, 'uuid', 'id')}", entry.get("chat_messages")
    if not isinstance(messages, list):
        yield Unread(place, "it has no messages")
        return
    said = [message for one in messages if isinstance(one, dict) and (message := _claude_message(one))]
    yield Conversation(place, str(entry.get("name") or ""), said)


def _claude_message(one: Mapping[str, Any]) -> Message | None:
    text = transcripts.text_of(one.get("content")) or str(one.get("text") or "")
    role = {"human": "user"}.get(str(one.get("sender")), str(one.get("sender")))
    return Message(role, text, moment(one.get("created_at")), role) if text.strip() else None


def _entries(path: Path) -> Iterator[dict[str, Any] | Unread]:
    """The entries of every array of conversations in a file or zip, one at a time."""
    import zipfile

    if path.suffix.lower() != ".zip":
        with path.open("rb") as stream:
            yield from _array(stream, path.name)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.search(r"(^|/)conversations[^/]*\.json$", name)]
            for name in sorted(names):
                with archive.open(name) as member:
                    yield from _array(member, name)
            if not names:
                yield Unread(path.name, "there is no conversations.json in it")
    except zipfile.BadZipFile as error:
        yield Unread(path.name, f"it is no whole zip ({error}); download it again")


def _array(stream: IO[bytes], name: str) -> Iterator[dict[str, Any] | Unread]:
    import ijson

    try:
        for entry in ijson.items(stream, "item", use_float=True):
            if isinstance(entry, dict):
                yield entry
    except (ijson.JSONError, ValueError, EOFError) as error:
        yield Unread(name, f"it ends early or is no JSON ({str(error)[:80]}); what came before was read")


# Notes


def _vault(path: Path) -> Iterator[Read]:
    """The pages of a vault; links inside are read as the words they show."""
    for file in _files(path, (".md",)):
        place = f"{path.resolve().name}/{file.relative_to(path).as_posix()}"
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
    """The day a page is of: by its name, as daily notes have it, or by what stands on top of it; 0 if neither tells."""
    top = text[:1000].partition("\n---")[0] if text.startswith("---") else ""
    found = re.search(r"(\d{4}-\d\d-\d\d)", name) or re.search(r"(?m)^(?:created|date):\s*[\"']?(\d{4}-\d\d-\d\d)", top)
    return moment(found[1]) if found else 0


KINDS: dict[str, tuple[tuple[str, ...], Callable[[Path], Iterator[Read]]]] = {
    "chatgpt": ((".zip", ".json"), _chatgpt),
    "claude": ((".zip", ".json"), _claude),
    "claude-code": ((".jsonl",), transcripts.claude_code),
    "codex": ((".jsonl",), transcripts.codex),
    "jsonl": ((".jsonl",), transcripts.plain),
    "obsidian": ((".md",), _vault),
}
