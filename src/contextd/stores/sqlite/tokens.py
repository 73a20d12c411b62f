"""Access tokens of the service, in the record."""

from __future__ import annotations

import json
from typing import Any

import apsw

from contextd.errors import Conflict
from contextd.stores.sqlite.database import Database
from contextd.values.access_token import AccessToken
from contextd.values.query import Reader

_ALL = "select * from access_token order by created, name"
_ONE = "select * from access_token where token_id = ?"
_ADD = "insert into access_token values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REVOKE = "delete from access_token where name = ?"


class SqliteTokens:
    """The tokens of a data directory. Any thread may call its methods."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[AccessToken]:
        """Return every token, oldest first."""
        return [_token(row) for row in self._database.query(_ALL)]

    def get(self, token: str) -> AccessToken | None:
        """Return a token by its id."""
        found = self._database.query(_ONE, (token,))
        return _token(found[0]) if found else None

    def add(self, token: AccessToken) -> None:
        """Store a token. Raises `Conflict` if its name is taken."""
        groups, workspaces = json.dumps(sorted(token.reader.groups)), json.dumps(sorted(token.workspaces))
        values = (
            token.id, token.name, token.digest, token.reader.name, groups, token.may, workspaces, token.private,
            token.created, token.expires,
        )  # fmt: skip

        def write(connection: apsw.Connection) -> None:
            try:
                connection.execute(_ADD, values)
            except apsw.ConstraintError:
                raise Conflict(f"a token named {token.name!r} already exists; revoke it first, or use another name") from None

        self._database.transact(write)

    def revoke(self, name: str) -> bool:
        """Delete a token by its name. Returns whether there was one."""

        def write(connection: apsw.Connection) -> bool:
            connection.execute(_REVOKE, (name,))
            return bool(connection.changes())

        return self._database.transact(write)


def _token(row: Any) -> AccessToken:
    number, name, digest, reader, groups, may, workspaces, private, created, expires = row
    who = Reader(reader, frozenset(json.loads(groups)))
    return AccessToken(number, name, digest, who, may, created, expires, frozenset(json.loads(workspaces)), bool(private))
