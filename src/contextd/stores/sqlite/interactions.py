"""The interaction log, in a database of its own: a commit to the record would empty the cache of answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import apsw

from contextd.stores.sqlite.database import Database, request_wipe
from contextd.stores.sqlite.proposals import SqliteProposals
from contextd.values.interaction import Interaction, LoggedPiece

LOG = "log.db"  # in the data directory
_ADD = "insert or replace into interaction values (?, ?, ?, ?, ?, ?, ?)"
_ADD_PIECE = "insert or replace into piece values (?, ?, ?, ?)"
_RECENT = "select * from interaction where reader = ? order by at desc, interaction_id limit ?"
_BEGINNING = "select * from interaction where reader = ? and substr(interaction_id, 1, ?) = ? order by at desc limit 10"
_PIECES = "select interaction_id, about from piece where interaction_id in (select value from json_each(?)) order by place"
_OLD = "select interaction_id from interaction where at < ?"
_BEYOND = "select interaction_id from interaction order by at desc limit -1 offset ?"
_OF_READER = "select interaction_id from interaction where reader = ?"
_DELETE = (
    "delete from piece where interaction_id in (select value from json_each(?1))",
    "delete from interaction where interaction_id in (select value from json_each(?1))",
)
_USED = """select interaction_id from piece where uri = ?1
union select interaction_id from interaction where ?2 <> '' and (instr(question, ?2) or instr(block, ?2))"""
_WITHOUT_TEXT = "update interaction set question = null, block = null where interaction_id in (select value from json_each(?))"
_OF = "json_extract(about, '$.workspace') = ? and json_extract(about, '$.document')"
_DOCUMENTS = "select distinct json_extract(about, '$.document') from piece where json_extract(about, '$.workspace') = ?"
_TOLD_OF = f"select distinct interaction_id from piece where {_OF} in (select value from json_each(?))"  # noqa: S608 - ours
_DROP = f"delete from piece where {_OF} in (select value from json_each(?))"  # noqa: S608
_UNLABEL = f"update piece set about = json_set(about, '$.label', '') where {_OF} in (select value from json_each(?))"  # noqa: S608
_KEPT = ("pieces", "question", "block", "id", "at", "reader", "status")  # have columns or rows of their own
_ABOUT = tuple(one.name for one in fields(Interaction) if one.name not in _KEPT)
_OF_PIECE = tuple(one.name for one in fields(LoggedPiece))


class SqliteInteractions:
    """The log of a data directory. The file is made by the first interaction. Any thread may call its methods."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._opened: Database | None = None
        self.proposals = SqliteProposals(self._database)

    def add(self, interaction: Interaction) -> None:
        """Store an interaction."""
        about = {name: getattr(interaction, name) for name in _ABOUT}
        row = (interaction.id, interaction.at, interaction.reader, interaction.status, json.dumps(about))
        pieces = [
            (interaction.id, place, one.uri, json.dumps({name: getattr(one, name) for name in _OF_PIECE}))
            for place, one in enumerate(interaction.pieces)
        ]

        def write(connection: apsw.Connection) -> None:
            connection.execute(_ADD, (*row, interaction.question or None, interaction.block or None))
            connection.executemany(_ADD_PIECE, pieces)

        self._database().transact(write)

    def recent(self, reader: str, limit: int) -> list[Interaction]:
        """Return the newest interactions of a reader, newest first."""
        return self._read(_RECENT, (reader, limit))

    def get(self, reader: str, start: str) -> list[Interaction]:
        """Return the interactions of a reader whose ids begin like this."""
        return self._read(_BEGINNING, (reader, len(start), start))

    def expire(self, before: int, most: int) -> None:
        """Delete interactions that are older, and the oldest ones beyond a number."""
        if not self._path.exists():
            return
        query = self._database().query
        self._delete([row[0] for row in (*query(_OLD, (before,)), *query(_BEYOND, (most,)))])

    def purge(self, uri: str, text: str) -> None:
        """Erase what is known of a document: its pieces, proposals, and texts of interactions that used or contain it."""
        if not self._path.exists():
            return
        database = self._database()
        self.proposals.purge(uri, text)
        ids = json.dumps([row[0] for row in database.query(_USED, (uri, text))])
        if ids == "[]":
            return

        def write(connection: apsw.Connection) -> None:
            connection.execute(_WITHOUT_TEXT, (ids,))
            connection.execute("delete from piece where uri = ?", (uri,))

        database.transact(write)
        database.wipe()

    def documents(self, workspace: int) -> frozenset[int]:
        """Return the documents of a workspace that have pieces in the log."""
        return (
            frozenset(row[0] for row in self._database().query(_DOCUMENTS, (workspace,)))
            if self._path.exists()
            else frozenset()
        )

    def erase(self, workspace: int, gone: Collection[int], changed: Collection[int] = ()) -> None:
        """Erase pieces of documents that are gone, labels of changed ones, and texts that used either."""
        if not self._path.exists():
            return
        both, places = (workspace, json.dumps([*gone, *changed])), json.dumps(list(gone))
        ids = json.dumps([row[0] for row in self._database().query(_TOLD_OF, both)])
        if ids == "[]":
            return

        def write(connection: apsw.Connection) -> None:
            connection.execute(_WITHOUT_TEXT, (ids,))
            connection.execute(_DROP, (workspace, places))
            connection.execute(_UNLABEL, both)
            request_wipe(connection)

        self._database().transact(write)

    def settle(self) -> None:
        """Leave nothing of erased data in the files."""
        if self._path.exists():
            self._database().wipe_if_due()

    def clear(self, reader: str) -> int:
        """Delete all interactions of a reader. Returns their number."""
        if not self._path.exists():
            return 0
        ids = [row[0] for row in self._database().query(_OF_READER, (reader,))]
        self._delete(ids)
        self._database().wipe()
        return len(ids)

    def close(self) -> None:
        """Close idle connections."""
        if self._opened is not None:
            self._opened.close()

    def _database(self) -> Database:
        with self._lock:
            if self._opened is None:
                self._opened = Database(self._path, durable=False, schemas=("log",))
            return self._opened

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            given = (json.dumps(ids),)
            self._database().transact(lambda connection: [connection.execute(one, given) for one in _DELETE])

    def _read(self, query: str, values: Sequence[Any]) -> list[Interaction]:
        if not self._path.exists():
            return []
        found = self._database().query(query, values)
        pieces: dict[str, list[LoggedPiece]] = {}
        for number, about in self._database().query(_PIECES, (json.dumps([row[0] for row in found]),)):
            pieces.setdefault(number, []).append(LoggedPiece(**json.loads(about)))
        return [_interaction(row, tuple(pieces.get(row[0], ()))) for row in found]


def _interaction(row: Any, pieces: tuple[LoggedPiece, ...]) -> Interaction:
    number, at, reader, status, about, question, block = row
    fields = json.loads(about)
    return Interaction(
        number, at, reader, status, **{**fields, "missing": tuple(fields["missing"])},
        pieces=pieces, question=question or "", block=block or "",
    )  # fmt: skip
