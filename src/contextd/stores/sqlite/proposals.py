"""Proposed memories, in the database of the interaction log."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import apsw

from contextd.stores.sqlite.database import Database
from contextd.values.proposal import Proposal

_ADD = "insert or ignore into proposal values (?, ?, ?, ?, ?, ?)"
_WAITING = """select proposal_id, at, reader, text, source from proposal
where reader = ? and text is not null order by at desc, proposal_id"""
_DECIDE = "update proposal set text = null where reader = ? and proposal_id = ? and text is not null"
_PURGE = "delete from proposal where text is not null and (instr(text, ?1) or instr(?1, text) or digest = ?2)"
_OF_SOURCE = "delete from proposal where source = ? and source != ''"
_BEYOND = """delete from proposal where proposal_id in (
  select proposal_id from proposal where reader = ? and text is not null order by at desc limit -1 offset ?)"""
_MOST = 1000  # of a reader that wait; a no stays a no


class SqliteProposals:
    """The proposals of a data directory. Any thread may call its methods."""

    def __init__(self, database: Callable[[], Database]) -> None:
        self._database = database

    def add(self, proposal: Proposal) -> None:
        """Store a proposal, unless the same was proposed before."""
        row = (proposal.id, proposal.at, proposal.reader, _digest(proposal.text), proposal.text, proposal.source)

        def write(connection: apsw.Connection) -> None:
            connection.execute(_ADD, row)
            connection.execute(_BEYOND, (proposal.reader, _MOST))

        self._database().transact(write)

    def waiting(self, reader: str) -> list[Proposal]:
        """Return the proposals of a reader that wait for a yes or a no, newest first."""
        return [Proposal(*row) for row in self._database().query(_WAITING, (reader,))]

    def decide(self, reader: str, proposal: str) -> bool:
        """Erase the text of a proposal. Returns whether it was waiting."""

        def write(connection: apsw.Connection) -> bool:
            connection.execute(_DECIDE, (reader, proposal))
            return bool(connection.changes())

        done = self._database().transact(write)
        if done:
            self._database().wipe()
        return done

    def purge(self, source: str, text: str) -> None:
        """Erase proposals that say what was forgotten, or that were said in a forgotten chat."""
        if self._database().transact(lambda connection: _changed(connection, source, text)):
            self._database().wipe()


def _changed(connection: apsw.Connection, source: str, text: str) -> int:
    connection.execute(_OF_SOURCE, (source,))
    count = connection.changes()
    if text:
        connection.execute(_PURGE, (text, _digest(text)))
        count += connection.changes()
    return count


def _digest(text: str) -> str:
    return blake2b(" ".join(text.split()).rstrip(".!").lower().encode("utf-8", "replace"), digest_size=16).hexdigest()
