"""The hybrid logical clock of this device. Every write gets a later clock; clocks more than a day ahead are set back.

A clock that was set back has an alias, which is exported, so all devices give the same write the same clock.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Mapping

import apsw

from contextd.stores.sqlite.database import Database, rows
from contextd.values.clock import is_ahead, latest, moment, tick

_BY_START = """(select m.author from memory m where m.workspace_id = {0}.workspace_id and m.memory_id = {0}.start_id)"""
_BY_MEMORY = """(select m.author from memory m where m.workspace_id = {0}.workspace_id and m.memory_id = {0}.memory_id)"""
# Every table with clocks that are compared between devices, and the author of its rows.
_AUTHORS = {
    "memory": "memory.author",
    "memory_version": _BY_MEMORY.format("memory_version"),
    "tombstone": "tombstone.author",
    "link": _BY_START.format("link"),
    "link_tombstone": _BY_START.format("link_tombstone"),
    "topic": "topic.author",
    "topic_change": "topic_change.author",
}
_ALL = " union ".join(f"select {author} author, clock from {table}" for table, author in _AUTHORS.items())  # noqa: S608
_AHEAD = f"select author, clock from ({_ALL}) where clock > ? order by clock"  # noqa: S608 - names of our own
_LAST = f"select max(clock) from ({_ALL}) where clock <= ?"  # noqa: S608
_ALIAS = "clock_alias a where a.author = {author} and a.original = {table}.clock"
# Times of a statement, a change or an end that are later than the new clock are set to the time of that clock.
_MEMORY = """
update memory set (clock, changed, valid_from, valid_to, said) = (
  select a.clock, min(changed, a.at), iif(valid_from <= said, min(valid_from, a.at), valid_from),
    iif(replaced_by != '' and valid_to is not null, min(valid_to, a.at), valid_to), min(said, a.at)
  from {alias}) where exists (select 1 from {alias})"""
_OTHERS = "update or replace {table} set clock = (select a.clock from {alias}) where exists (select 1 from {alias})"
_KEEP = """insert into clock_alias values (?, ?, ?, ?) on conflict do update set clock = excluded.clock, at = excluded.at"""


class Clocks:
    """Gives clocks to writes, and sets back clocks that are ahead."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.device = self._own_device()

    def now(self) -> int:
        """Return the time in microseconds. If the wall clock was set back by up to a day, it is still after the last write."""
        wall = time.time_ns() // 1000
        found = self._database.query("select last from clock where device = ?", (self.device,))
        last = str(found[0][0]) if found else ""
        back = moment(last) > wall // 1000 and not is_ahead(last, wall // 1000)
        return (moment(last) + 1) * 1000 if back else wall

    def tick(self, connection: apsw.Connection) -> str:
        """Return the next clock of this device, later than all before it."""
        wall = time.time_ns() // 1_000_000
        return self._save(connection, tick(self._corrected_last(connection, wall), wall, self.device))

    def observe(self, connection: apsw.Connection, clock: str) -> None:
        """Note a clock of another device. The next clock of this device will be later."""
        if self._last(connection) < clock:
            self._save(connection, clock)

    # Clocks that are ahead

    def aliases(self, author: str) -> dict[str, str]:
        """Return the clocks of an author that were ahead, with their replacements. Sets this device's clock back first."""
        found = self._database.query("select last from clock where device = ?", (self.device,))
        wall = time.time_ns() // 1_000_000
        if found and is_ahead(str(found[0][0]), wall) and not self._database.read_only:
            self._database.transact(lambda connection: self._corrected_last(connection, wall))
        return dict(self._database.query("select original, clock from clock_alias where author = ? order by 1", (author,)))

    def settle(self, author: str, clocks: Collection[str], aliases: Mapping[str, str]) -> dict[str, str]:
        """Adopt another device's aliases, and set back those of `clocks` that are ahead. Returns all aliases of the author."""

        def write(connection: apsw.Connection) -> None:
            wall, known = time.time_ns() // 1_000_000, self._known(connection, author)
            for original, clock in sorted(aliases.items()):
                if original > clock and not is_ahead(_resolved(aliases, clock), wall):
                    self._alias(connection, author, known, original, clock)
            self._apply_aliases(connection)
            self._corrected_last(connection, wall)
            known = self._known(connection, author)
            for original in sorted(one for one in set(clocks) - set(known) if is_ahead(one, wall)):
                self._alias(connection, author, known, original, self.tick(connection))

        self._database.transact(write)
        return self.aliases(author)

    def _alias(self, connection: apsw.Connection, author: str, known: dict[str, str], original: str, clock: str) -> None:
        """Store an alias. If two devices gave different ones, the earlier wins and becomes the alias of the later."""
        other = known.get(original, clock)
        while clock in known or other in known:
            clock, other = known.get(clock, clock), known.get(other, other)
        first, last = min(clock, other), max(clock, other)
        for one in (original, last):
            if one != first:
                known[one] = first
                connection.execute(_KEEP, (author, one, first, moment(first) * 1000))

    def _corrected_last(self, connection: apsw.Connection, wall: int) -> str:
        """Return the last clock of this device. If it is ahead, first set all clocks that are ahead to now, in order."""
        if not is_ahead(last := self._last(connection), wall):
            return last
        last = str(rows(connection, _LAST, (latest(wall),))[0][0] or "")
        for author, original in rows(connection, _AHEAD, (latest(wall),)):
            last = tick(last, wall, self.device)
            connection.execute(_KEEP, (author or "", original, last, moment(last) * 1000))
        self._apply_aliases(connection)
        return self._save(connection, last)

    def _apply_aliases(self, connection: apsw.Connection) -> None:
        """Replace clocks by their aliases in all rows, until no clock has an alias."""
        changed = len(rows(connection, "select 1 from clock_alias limit 1"))
        while changed:
            changed = 0
            for table, author in _AUTHORS.items():
                alias = _ALIAS.format(author=author, table=table)
                connection.execute((_MEMORY if table == "memory" else _OTHERS).format(table=table, alias=alias))
                changed += connection.changes()

    # Inside

    def _known(self, connection: apsw.Connection, author: str) -> dict[str, str]:
        return dict(rows(connection, "select original, clock from clock_alias where author = ?", (author,)))

    def _own_device(self) -> str:
        found = self._database.query("select device from clock limit 1", ())
        if found or self._database.read_only:
            return str(found[0][0]) if found else "reader"
        device = secrets.token_hex(4)
        self._database.transact(lambda c: c.execute("insert into clock values (?, '')", (device,)))
        return device

    def _last(self, connection: apsw.Connection) -> str:
        row = connection.execute("select last from clock where device = ?", (self.device,)).fetchone()
        return str(row[0]) if row else ""

    def _save(self, connection: apsw.Connection, clock: str) -> str:
        connection.execute("insert or replace into clock values (?, ?)", (self.device, clock))
        return clock


def _resolved(aliases: Mapping[str, str], clock: str) -> str:
    """Follow the aliases of a clock to the last one. A device that was still ahead may have been set back again."""
    while aliases.get(clock, clock) < clock:
        clock = aliases[clock]
    return clock
