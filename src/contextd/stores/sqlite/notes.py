"""Metadata of a workspace besides its documents: settings, failures, scrubbed secrets, counts for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import apsw

from contextd.stores.sqlite.database import Database
from contextd.stores.sqlite.reading import SqliteReading
from contextd.values.document import Stamp

_FINDS = """
select d.uri, f.line, f.rule from find f join document d
on d.workspace_id = f.workspace_id and d.content_id = f.content_id and d.dead_seq is null
where f.workspace_id = ? and d.source_id = ? order by d.uri, f.line"""
_LANGUAGES = """
select language, count(*) from document where workspace_id = ? and dead_seq is null group by language order by 2 desc"""


_FAILED = """
insert into failure (workspace_id, uri, error, at, retries) values (?, ?, ?, ?, 0)
on conflict do update set error = excluded.error, at = excluded.at, retries = retries + 1"""
_FAILED_AS = """
insert or replace into failure_stamp (workspace_id, uri, size, mtime_ns, ctime_ns, inode) values (?, ?, ?, ?, ?, ?)"""
_WELL = tuple(f"delete from {table} where workspace_id = ? and uri = ?" for table in ("failure", "failure_stamp"))  # noqa: S608
_NO_STAMP = Stamp(-1, -1, -1, -1)  # differs from every file's stamp, so the file is read in the next run
_CLEAN = "clean"  # setting: the database file holds no copy of deleted text


class SqliteNotes:
    """Rows of a workspace that searches do not read."""

    def __init__(self, database: Database, workspace: int) -> None:
        self.database, self.workspace = database, workspace

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a query whose first value is the workspace."""
        return self.database.query(query, (self.workspace, *values))

    def setting(self, name: str) -> str | None:
        """Return a setting of the index; None if it is not set."""
        found = self.rows("select value from setting where workspace_id = ? and name = ?", name)
        return found[0][0] if found else None

    def set_setting(self, name: str, value: str) -> None:
        """Store a setting of the index."""
        query = "insert or replace into setting values (?, ?, ?)"
        self.database.transact(lambda connection: connection.execute(query, (self.workspace, name, value)))

    def note_deleted_text(self, connection: apsw.Connection) -> None:
        """Note that the file may hold copies of deleted text, inside the caller's transaction."""
        connection.execute("delete from setting where workspace_id = ? and name = ?", (self.workspace, _CLEAN))

    def tidy(self) -> None:
        """Return free pages to the file system. If text was deleted, rewrite the file, in this run or a later one."""
        if self.setting(_CLEAN):
            self.database.shrink()
        elif self.database.wipe():
            self.set_setting(_CLEAN, "yes")

    def note_error(self, uri: str, error: str, stamp: Stamp = _NO_STAMP) -> None:
        """Record that a file failed, with its stamp at that time."""
        state = (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode)

        def write(connection: apsw.Connection) -> None:
            connection.execute(_FAILED, (self.workspace, uri, error, time.time_ns() // 1000))
            connection.execute(_FAILED_AS, (self.workspace, uri, *state))

        self.database.transact(write)

    def clear_errors(self, uris: Sequence[str]) -> None:
        """Delete the failures of files that were read since, or that no longer exist."""
        values = [(self.workspace, uri) for uri in uris]

        def write(connection: apsw.Connection) -> None:
            before = connection.total_changes()
            for query in _WELL:
                connection.executemany(query, values)
            if connection.total_changes() > before:
                self.note_deleted_text(connection)

        self.database.transact(write)

    def failed_stamps(self) -> dict[str, Stamp]:
        """Return the stamps of the failed files at the time they failed, by uri."""
        query = "select uri, size, mtime_ns, ctime_ns, inode from failure_stamp where workspace_id = ?"
        return {uri: Stamp(*rest) for uri, *rest in self.rows(query)}

    def failures(self) -> list[tuple[str, str, int]]:
        """Return the files that failed: path, error, number of retries."""
        query = "select uri, error, retries from failure where workspace_id = ? order by uri"
        return [(uri, error, retries) for uri, error, retries in self.rows(query)]

    def finds(self, source: int) -> list[tuple[str, int, str]]:
        """Return the secrets scrubbed in the documents of a source: path, line, rule."""
        return [(uri, line, rule) for uri, line, rule in self.rows(_FINDS, source)]

    def summary(self) -> dict[str, object]:
        """Return counts and sizes, for people."""
        with self.database.reading() as connection:
            head = SqliteReading(connection, self.workspace).head()
        spaces = dict(self.rows("select space, count(*) from vector where workspace_id = ? group by space"))
        languages = dict(self.rows(_LANGUAGES))
        return {
            "documents": sum(languages.values()),
            "contents": self.rows("select count(distinct content_id) from chunk where workspace_id = ?")[0][
                0
            ],  # an empty one has none
            "chunks": self.rows("select count(*) from chunk where workspace_id = ?")[0][0],
            "tokens": self.rows("select coalesce(sum(tokens), 0) from chunk where workspace_id = ?")[0][0],
            "languages": languages,
            "embedded_contents": spaces,
            "position": head.seq,
            "generation": head.generation,
            "secrets_scrubbed": self.rows("select count(*) from find where workspace_id = ?")[0][0],
            "failures": len(self.failures()),
            "bytes": sum(path.stat().st_size for path in self.database.path.parent.iterdir() if path.is_file()),
        }

    def size(self) -> int:
        """Return the number of bytes on disk, without the log, which is emptied at the end of a run."""
        pages = self.rows("select page_count * page_size from pragma_page_count, pragma_page_size where ? is not null")[0][0]
        return int(pages) + sum(path.stat().st_size for path in self.database.path.parent.glob("base-*.arrays"))
