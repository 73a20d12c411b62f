"""Scrubs a record again that was written with older rules. Secrets that these missed are erased as if forgotten.

This is one transaction over the whole record. Ids, clocks, links and verified fields stay. Changed texts lose their deep
vectors, which the next `enrich` or `deepen` computes again.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from contextd.ports.world import Matrix
from contextd.stores.sqlite.chats import ChatStore
from contextd.stores.sqlite.database import packed, request_wipe, rows, unpacked
from contextd.stores.sqlite.forgotten import whole
from contextd.stores.sqlite.memories import fields_of, row_of, versions_of
from contextd.stores.sqlite.pushed import PushedStore
from contextd.stores.sqlite.record import SqliteRecord
from contextd.text.indexed_text import texts_of, words_of
from contextd.values.conversation import told_apart
from contextd.values.document import CHATS, OWNER, PUSHED, DocumentRow, Parsed, Piece, Stamp
from contextd.values.memory import Memory

_MARK = "insert or replace into setting values (0, 'scrubbed', ?)"  # workspace 0 does not exist: for the whole record
_CHATS = """
select d.document_id, d.uri, d.content_id, d.acl_id, d.language, d.digest, d.modified, c.text, k.said, k.first, k.chain
from document d join content c on c.workspace_id = d.workspace_id and c.content_id = d.content_id
left join chat k on k.workspace_id = d.workspace_id and k.document_id = d.document_id
where d.workspace_id = ? and d.source_id = ? and d.dead_seq is null"""
_PIECES = """select start_at, end_at, start_line, end_line, kind, label, heading, tokens, names from chunk
where workspace_id = ? and content_id = ? order by ordinal"""
# Names outside of memories: table and column.
_NAMES = (
    ("topic", "name"), ("topic", "parent"), ("topic_change", "name"), ("topic_change", "new"), ("link", "kind"),
    ("link_tombstone", "kind"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rescrubber:
    """The scrubbing rules' version, and the functions that apply them."""

    mark: str
    clean: Callable[[str], tuple[str, int]]  # returns the scrubbed text and the number of secrets
    clean_memory: Callable[[Memory], tuple[Memory, int]]
    parsed: Callable[[Memory], Parsed]
    count: Callable[[str], int]  # counts tokens
    embed: Callable[[Sequence[str]], Mapping[str, Matrix]]


def rescrub(record: SqliteRecord, with_: Rescrubber) -> int:
    """Scrub a record with the current rules. Returns the number of secrets removed."""
    database = record.database

    def write(connection: apsw.Connection) -> int:
        if rows(connection, "select 1 from setting where workspace_id = 0 and name = 'scrubbed' and value = ?", (with_.mark,)):
            return 0  # another process was faster
        workspaces = [row[0] for row in rows(connection, "select workspace_id from registry")]
        found = sum(_names(connection, table, column, with_) for table, column in _NAMES)
        for workspace in workspaces:
            found += _memories(connection, record, workspace, with_)
            found += _chats(connection, record.chats(workspace), workspace, with_)
            found += _pushed(connection, record.pushed(workspace), workspace, with_)
        connection.execute(_MARK, (with_.mark,))
        if found:
            request_wipe(connection)
        return found

    removed = database.transact(write)
    database.wipe_if_due()
    return removed


def _names(connection: apsw.Connection, table: str, column: str, with_: Rescrubber) -> int:
    found = 0
    for (name,) in rows(connection, f"select distinct {column} from {table} where {column} != ''"):  # noqa: S608 - our names
        clean, secrets = with_.clean(name)
        if secrets:
            connection.execute(f"update or replace {table} set {column} = ? where {column} = ?", (clean, name))  # noqa: S608
            found += secrets
    return found


def _memories(connection: apsw.Connection, record: SqliteRecord, workspace: int, with_: Rescrubber) -> int:
    found = 0
    for (number,) in rows(connection, "select memory_id from memory where workspace_id = ?", (workspace,)):
        memory = row_of(connection, workspace, number)
        if memory is not None:
            found += _memory(connection, record, memory, with_) + _versions(connection, memory, with_)
    return found


def _memory(connection: apsw.Connection, record: SqliteRecord, memory: Memory, with_: Rescrubber) -> int:
    clean, found = with_.clean_memory(memory)
    original = record.memories.told_topics(connection, memory)
    topics = tuple(with_.clean(topic)[0] for topic in original)
    if not found and topics == original:
        return 0
    if clean.text != memory.text:
        clean = replace(clean, enriched=-abs(clean.enriched))
        parsed = with_.parsed(clean)
        record.memories.write_text(connection, clean, parsed, with_.embed(texts_of(parsed)))
    record.memories.insert(connection, clean, topics)
    return max(found, 1)


def _versions(connection: apsw.Connection, memory: Memory, with_: Rescrubber) -> int:
    total = 0
    for version in versions_of(connection, memory.workspace, memory.id):
        clean, found = with_.clean_memory(version.before)
        if found:
            query = "update memory_version set text = ?, data = ? where workspace_id = ? and memory_id = ? and clock = ?"
            values = (packed(clean.text), fields_of(clean), memory.workspace, memory.id, version.before.clock)
            connection.execute(query, values)
        total += found
    return total


def _chats(connection: apsw.Connection, chats: ChatStore, workspace: int, with_: Rescrubber) -> int:
    return sum(_chat(connection, chats, workspace, row, with_) for row in rows(connection, _CHATS, (workspace, CHATS)))


def _chat(connection: apsw.Connection, chats: ChatStore, workspace: int, row: Sequence[Any], with_: Rescrubber) -> int:
    number, uri, content, acl, language, digest, modified, stored, said, first, chain = row
    old = Parsed(unpacked(stored), tuple(_piece(one) for one in rows(connection, _PIECES, (workspace, content))), (), ())
    parsed, found = _clean_parsed(old, with_)
    conversation, in_name = with_.clean(whole(uri))
    if in_name:  # as in an import, a hash of the first message distinguishes names that differ only in a secret
        conversation = told_apart(
            conversation, parsed.text[parsed.pieces[0].start : parsed.pieces[0].end] if parsed.pieces else ""
        )
    name = conversation + uri[len(whole(uri)) :]
    described, in_description = _clean_json(json.loads(unpacked(said)), with_) if said is not None else ("", 0)
    found += in_name + in_description
    if not found:
        return 0
    query = "select principal from acl where workspace_id = ? and acl_id = ?"
    readers = [principal for (principal,) in rows(connection, query, (workspace, acl))]
    authors = [author for (author,) in rows(connection, "select distinct author from memory")]
    author = next((one for one in (*readers, *authors, OWNER) if chats.number(uri, one) == number), "")
    chats.erase_rows(connection, [number])
    target = chats.number(name, author) if author else number
    document = DocumentRow(
        target, CHATS, name, chats.number(f"{name}\n{digest.hex()}", author), acl, language, Stamp(0, 0, 0, 0), digest, modified
    )
    chats.put(connection, document, parsed, with_.embed(texts_of(parsed)))
    if said is not None:
        connection.execute(
            "insert or replace into chat values (?, ?, ?, ?, ?)", (workspace, target, first, chain, packed(_json(described)))
        )
    return found


def _pushed(connection: apsw.Connection, pushed: PushedStore, workspace: int, with_: Rescrubber) -> int:
    total = 0
    for number, uri, content, acl, language, digest, modified, stored, *_ in rows(connection, _CHATS, (workspace, PUSHED)):
        old = Parsed(unpacked(stored), tuple(_piece(one) for one in rows(connection, _PIECES, (workspace, content))), (), ())
        parsed, found = _clean_parsed(old, with_)
        name, in_name = with_.clean(uri)
        if found + in_name:
            row = DocumentRow(number, PUSHED, name, content, acl, language, Stamp(0, 0, 0, 0), digest, modified)
            pushed.rewrite(connection, row, parsed, with_.embed(texts_of(parsed)))
        total += found + in_name
    return total


def _clean_json(value: Any, with_: Rescrubber) -> tuple[Any, int]:
    """Return a value of lists and texts without secrets, and the number of secrets."""
    if isinstance(value, str):
        return with_.clean(value)
    if not isinstance(value, list):
        return value, 0
    cleaned = [_clean_json(one, with_) for one in value]
    return [one for one, _ in cleaned], sum(found for _, found in cleaned)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _piece(row: Sequence[Any]) -> Piece:
    start, end, start_line, end_line, kind, label, heading, tokens, names = row
    return Piece(start, end, start_line, end_line, kind, label, tuple(json.loads(heading)), tokens, tuple(json.loads(names)))


def _clean_parsed(parsed: Parsed, with_: Rescrubber) -> tuple[Parsed, int]:
    """Return a text without secrets, with its pieces moved. Scrubbing keeps lines, so pieces are found by line."""
    text, found = with_.clean(parsed.text)
    moved = _moved(parsed.text, text)

    def clean(names: Sequence[str]) -> tuple[str, ...]:
        nonlocal found
        cleaned = [with_.clean(name) for name in names]
        found += sum(secrets for _, secrets in cleaned)
        return tuple(name for name, _ in cleaned)

    pieces = []
    for one in parsed.pieces:
        label, heading, names = clean([one.label])[0], clean(one.heading), clean(one.names)
        start, end = moved(one.start), moved(one.end)
        piece = replace(one, start=start, end=end, label=label, heading=heading, names=names)
        pieces.append(replace(piece, tokens=with_.count(text[start:end])))
    return Parsed(text, tuple(pieces), tuple(words_of(piece, text) for piece in pieces), ()), found


def _moved(old: str, new: str) -> Callable[[int], int]:
    """Return a function that maps a position of `old` to `new`, which has the same lines, some shorter or longer."""
    before, after = _line_starts(old), _line_starts(new)

    def move(position: int) -> int:
        line = bisect_right(before, position) - 1
        column, length = position - before[line], (before[line + 1] if line + 1 < len(before) else len(old) + 1) - before[line]
        now = (after[line + 1] if line + 1 < len(after) else len(new) + 1) - after[line]
        return after[line] + (now - (length - column) if column * 2 > length else min(column, now - 1))

    return move


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return starts
