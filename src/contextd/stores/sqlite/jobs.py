"""Jobs of one project, in the database of its index. Anybody may ask for one; who holds the lease runs them."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from contextd.errors import InvalidInput
from contextd.job import Job
from contextd.stores.sqlite.database import Database, rows

_COLUMNS = "job_id, kind, state, who, paths, options, created, started, heartbeat, ended, done, total, message, report"
_OPEN = "state in ('queued', 'in_progress', 'cancelling')"
_KEPT = 200  # ended jobs, with their logs


class Jobs:
    """The jobs of a workspace."""

    def __init__(self, database: Database, workspace: int) -> None:
        self._database, self._workspace = database, workspace

    def add(self, kind: str, who: str, paths: Sequence[str], options: Mapping[str, Any]) -> Job:
        """Ask for a job; a second rebuild while one is not done is refused."""
        number = secrets.token_hex(8)

        def write(connection: apsw.Connection) -> None:
            if kind == "rebuild":
                query = f"select job_id from job where workspace_id = ? and kind = 'rebuild' and {_OPEN}"  # noqa: S608
                if other := rows(connection, query, (self._workspace,)):
                    raise InvalidInput(f"a rebuild is under way (job {other[0][0]}); wait, or `contextd jobs cancel` it")
            values = (number, kind, "queued", who, json.dumps(list(paths)), json.dumps(dict(options)), _now())
            query = "insert into job values (?, ?, ?, ?, ?, ?, ?, ?, null, null, null, 0, 0, '', '')"
            connection.execute(query, (self._workspace, *values))

        self._database.transact(write)
        return self.get(number)

    def get(self, job: str) -> Job:
        """One job, by its id or the first letters of it."""
        found = self._select("substr(job_id, 1, ?) = ?", len(job), job)
        if len(found) != 1 or not job:
            raise InvalidInput(f"{'no' if not found else 'more than one'} job {job!r}; `contextd jobs` lists them")
        return found[0]

    def recent(self, limit: int) -> list[Job]:
        """The newest jobs, newest first."""
        return self._select("1 order by created desc limit ?", limit)

    def next(self) -> Job | None:
        """The oldest job that is not done: one that was running when its process died comes first."""
        found = self._select(f"{_OPEN} order by state = 'queued', created limit 1")
        return found[0] if found else None

    def begin(self, job: str) -> None:
        """Note that a job runs, again perhaps."""
        self._update(job, "state = 'in_progress', started = coalesce(started, ?), heartbeat = ?", _now(), _now())

    def progress(self, job: str, done: int, total: int) -> bool:
        """Note how far a job is; False when somebody wants it to end."""
        self._update(job, "done = ?, total = ?, heartbeat = ?", done, total, _now())
        return self.get(job).state != "cancelling"

    def end(self, job: str, state: str, message: str, report: Mapping[str, Any]) -> None:
        """Note what became of a job, and forget the oldest ones."""
        self._update(job, "state = ?, message = ?, report = ?, ended = ?", state, message, json.dumps(dict(report)), _now())
        old = f"""select job_id from job where workspace_id = ?1 and not ({_OPEN})
        order by created desc limit -1 offset {_KEPT:d}"""  # noqa: S608 - constants
        for table in ("job_log", "job"):
            query = f"delete from {table} where workspace_id = ?1 and job_id in ({old})"  # noqa: S608
            self._database.transact(lambda connection, query=query: connection.execute(query, (self._workspace,)))  # type: ignore[misc]

    def cancel(self, job: str) -> Job:
        """Ask a job to end: at once if it waits, at the next document if it runs."""
        found = self.get(job)
        states = {"queued": "cancelled", "in_progress": "cancelling"}
        if found.state in states:
            self._update(found.id, "state = ?, ended = ?", states[found.state], _now() if found.state == "queued" else None)
        return self.get(found.id)

    def log(self, job: str, line: str) -> None:
        """Add a line to a job's log."""
        query = """insert into job_log select ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4 from job_log
        where workspace_id = ?1 and job_id = ?2"""
        self._database.transact(lambda connection: connection.execute(query, (self._workspace, job, _now(), line)))

    def lines(self, job: str) -> list[tuple[int, str]]:
        """A job's log."""
        query = "select at, line from job_log where workspace_id = ? and job_id = ? order by number"
        return [(at, line) for at, line in self._database.query(query, (self._workspace, job))]

    def _select(self, where: str, *values: Any) -> list[Job]:
        query = f"select {_COLUMNS} from job where workspace_id = ? and {where}"  # noqa: S608 - `where` is ours
        return [_job(row) for row in self._database.query(query, (self._workspace, *values))]

    def _update(self, job: str, what: str, *values: Any) -> None:
        query = f"update job set {what} where workspace_id = ? and job_id = ?"  # noqa: S608 - `what` is ours
        self._database.transact(lambda connection: connection.execute(query, (*values, self._workspace, job)))


def _now() -> int:
    return time.time_ns() // 1000


def _job(row: Any) -> Job:
    number, kind, state, who, paths, options, created, started, beat, ended, done, total, message, report = row
    return Job(
        number, kind, state, who, tuple(json.loads(paths)), json.loads(options), created, started, beat, ended, done, total,
        message, json.loads(report or "{}"),
    )  # fmt: skip
