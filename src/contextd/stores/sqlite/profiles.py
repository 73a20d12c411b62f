"""Profiles of people, in the record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import apsw

from contextd.stores.sqlite.database import Database

if TYPE_CHECKING:
    from contextd.stores.sqlite.clocks import Clocks

_ALL = "select key, value from profile where author = ? order by key"
_SET = "insert or replace into profile values (?, ?, ?, ?)"
_UNSET = "delete from profile where author = ? and key = ?"


class SqliteProfiles:
    """The profile of every author. Any thread may call its methods."""

    def __init__(self, database: Database, clocks: Clocks) -> None:
        self._database, self._clocks = database, clocks

    def get(self, author: str) -> dict[str, str | tuple[str, ...]]:
        """Return the values of an author's profile by dotted key."""
        rows = [(str(key), json.loads(value)) for key, value in self._database.query(_ALL, (author,))]
        return {key: tuple(value) if isinstance(value, list) else value for key, value in rows}

    def set(self, author: str, key: str, value: str | tuple[str, ...]) -> None:
        """Set a value."""

        def write(connection: apsw.Connection) -> None:
            connection.execute(_SET, (author, key, json.dumps(value), self._clocks.tick(connection)))

        self._database.transact(write)

    def unset(self, author: str, key: str) -> bool:
        """Remove a value. Returns whether there was one."""

        def write(connection: apsw.Connection) -> bool:
            connection.execute(_UNSET, (author, key))
            return bool(connection.changes())

        return self._database.transact(write)
