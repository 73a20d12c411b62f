"""What is noted beside the documents of a workspace: settings, failures, finds, counts for people."""

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
_NO_STAMP = Stamp(-1, -1, -1, -1)  # that no file has: it is read in the next run
_CLEAN = "clean"  # a setting: the file holds no copy of deleted text


class SqliteNotes:
    """Rows about a workspace that no search reads."""

    def __init__(self, database: Database, workspace: int) -> None:
        self.database, self.workspace = database, workspace

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Rows of a query that names the workspace as its first value; for reports."""
        return self.database.query(query, (self.workspace, *values))

    def setting(self, name: str) -> str | None:
        """A value kept with the index."""
        found = self.rows("select value from setting where workspace_id = ? and name = ?", name)
        return found[0][0] if found else None

    def set_setting(self, name: str, value: str) -> None:
        """Keep a value with the index."""
        query = "insert or replace into setting values (?, ?, ?)"
        self.database.transact(lambda connection: connection.execute(query, (self.workspace, name, value)))

    def soil(self, connection: apsw.Connection) -> None:
        """Note that copies of deleted text may be in the file; inside a transaction of the caller's."""
        connection.execute("delete from setting where workspace_id = ? and name = ?", (self.workspace, _CLEAN))

    def tidy(self) -> None:
        """Give free pages back to the disk. Where text was deleted, write the file anew, in this run or the next that can."""
        if self.setting(_CLEAN):
            self.database.shrink()
        elif self.database.wipe():
            self.set_setting(_CLEAN, "yes")

    def note_error(self, uri: str, error: str, stamp: Stamp = _NO_STAMP) -> None:
        """Record that a file failed, and in which state of the file."""
        state = (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode)

        def write(connection: apsw.Connection) -> None:
            connection.execute(_FAILED, (self.workspace, uri, error, time.time_ns() // 1000))
            connection.execute(_FAILED_AS, (self.workspace, uri, *state))

        self.database.transact(write)

    def clear_errors(self, uris: Sequence[str]) -> None:
        """Forget failures of files that are well again, or gone."""
        values = [(self.workspace, uri) for uri in uris]

        def write(connection: apsw.Connection) -> None:
            before = connection.total_changes()
            for query in _WELL:
                connection.executemany(query, values)
            if connection.total_changes() > before:
                self.soil(connection)

        self.database.transact(write)

    def failed_stamps(self) -> dict[str, Stamp]:
        """The state in which each file that failed was read."""
        query = "select uri, size, mtime_ns, ctime_ns, inode from failure_stamp where workspace_id = ?"
        return {uri: Stamp(*rest) for uri, *rest in self.rows(query)}

    def failures(self) -> list[tuple[str, str, int]]:
        """Files that failed: path, error, retries."""
        query = "select uri, error, retries from failure where workspace_id = ? order by uri"
        return [(uri, error, retries) for uri, error, retries in self.rows(query)]

    def finds(self, source: int) -> list[tuple[str, int, str]]:
        """Secrets that were scrubbed in the documents of a source: path, line, rule."""
        return [(uri, line, rule) for uri, line, rule in self.rows(_FINDS, source)]

    def summary(self) -> dict[str, object]:
        """Counts and sizes, for people."""
        with self.database.reading() as connection:
            head = SqliteReading(connection, self.workspace).head()
        spaces = dict(self.rows("select space, count(*) from vector where workspace_id = ? group by space"))
        languages = dict(self.rows(_LANGUAGES))
        return {
            "documents": sum(languages.values()),
            "contents": self.rows("select count(*) from content where workspace_id = ?")[0][0],
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
        """Bytes on disk, without the log that is emptied into the database at the end of a run."""
        pages = self.rows("select page_count * page_size from pragma_page_count, pragma_page_size where ? is not null")[0][0]
        return int(pages) + sum(path.stat().st_size for path in self.database.path.parent.glob("base-*.arrays"))
