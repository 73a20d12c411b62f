"""The job queue of one project, in the database of its index. Anyone may add a job; the holder of the lease runs them."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from contextd.errors import Conflict, InvalidInput, NotFound
from contextd.stores.sqlite.database import Database, rows
from contextd.values.job import Job

_COLUMNS = """job_id, kind, state, who, paths, options, created, started, heartbeat, ended, done, total, message, report,
attempts, reason, lease_end"""
_OPEN = "state in ('queued', 'in_progress', 'cancelling')"
_KEPT = 200  # number of ended jobs that are kept with their logs
_LEASE = 600_000_000  # microseconds without a heartbeat after which the process of a job counts as dead
_ASKED = 5_000_000  # microseconds within which a process that added a job takes a free lease
_DEAD = "lease_end < ?2 or (?3 and (state != 'queued' or created < ?4))"


class SqliteJobs:
    """The jobs of a workspace."""

    def __init__(self, database: Database, workspace: int) -> None:
        self._database, self._workspace = database, workspace

    def add(self, kind: str, who: str, paths: Sequence[str], options: Mapping[str, Any], *, alone: bool = False) -> Job:
        """Add a job. A rebuild replaces one whose process is dead. Raises `Conflict` if another rebuild is in progress.

        `alone`: the caller holds the lease, so no other process runs a job.
        """
        number = secrets.token_hex(16)

        def write(connection: apsw.Connection) -> None:
            if kind == "rebuild":
                self._supersede(connection, number, alone)
            values = (number, kind, "queued", who, json.dumps(list(paths)), json.dumps(dict(options)), _now())
            query = "insert into job values (?, ?, ?, ?, ?, ?, ?, ?, null, null, null, 0, 0, '', '', 0, '', null)"
            connection.execute(query, (self._workspace, *values))

        self._database.transact(write)
        return self.get(number)

    def _supersede(self, connection: apsw.Connection, job: str, alone: bool) -> None:
        here = f"workspace_id = ?1 and kind = 'rebuild' and {_OPEN}"
        values = (self._workspace, _now(), alone, _now() - _ASKED)
        query = f"""update job set state = 'failed', ended = ?2, lease_end = null, message = ?5, reason = ?5
        where {here} and ({_DEAD})"""  # noqa: S608 - constants
        connection.execute(query, (*values, f"its process is dead; superseded by job {job}"))
        if other := rows(connection, f"select job_id from job where {here}", (self._workspace,)):  # noqa: S608
            raise Conflict(f"a rebuild is in progress (job {other[0][0]}); wait for it, or run `contextd jobs cancel`")

    def get(self, job: str) -> Job:
        """Return a job by its id or a prefix of it. Raises `NotFound` unless exactly one job matches."""
        found = self._select("substr(job_id, 1, ?) = ?", len(job), job)
        if len(found) != 1 or not job:
            kind, what = (InvalidInput, "several jobs match") if found and job else (NotFound, "no such job")
            raise kind(f"{what}: {job!r}; run `contextd jobs` for a list")
        return found[0]

    def recent(self, limit: int) -> list[Job]:
        """Return the newest jobs, newest first."""
        return self._select("1 order by created desc limit ?", limit)

    def next(self) -> Job | None:
        """Return the oldest unfinished job; first one whose process died."""
        found = self._select(f"{_OPEN} order by state = 'queued', created limit 1")
        return found[0] if found else None

    def lease(self, job: str) -> bool:
        """Take a job to run it; False if it was cancelled. Each time counts as an attempt."""
        what = (
            """state = 'in_progress', started = coalesce(started, ?), heartbeat = ?, lease_end = ?, attempts = attempts + 1"""
        )
        return self._update(job, what, _now(), _now(), _now() + _LEASE, only="state in ('queued', 'in_progress')")

    def extend(self, job: str, done: int, total: int) -> bool:
        """Extend the lease of a job, and record its progress; False if it is to be cancelled."""
        self._update(job, "done = ?, total = ?, heartbeat = ?, lease_end = ?", done, total, _now(), _now() + _LEASE)
        return self.get(job).state != "cancelling"

    def finish(self, job: str, state: str, message: str, report: Mapping[str, Any]) -> str:
        """Record the result of a job, and delete the oldest jobs. Returns the state: `cancelled` if that was requested."""
        done = (message, json.dumps(dict(report)), _now())
        what = "state = ?, message = ?, report = ?, ended = ?, lease_end = null, reason = ?"
        late = "cancelled when it was all but done; what was done stays"
        if not self._update(job, what, state, *done, "" if state == "completed" else message, only="state != 'cancelling'"):
            state = "failed" if state == "failed" else "cancelled"
            self._update(job, what, state, *done, message if state == "failed" else late)
        old = f"""select job_id from job where workspace_id = ?1 and not ({_OPEN})
        order by created desc limit -1 offset {_KEPT:d}"""  # noqa: S608 - constants
        for table in ("job_log", "job"):
            query = f"delete from {table} where workspace_id = ?1 and job_id in ({old})"  # noqa: S608
            self._database.transact(lambda connection, query=query: connection.execute(query, (self._workspace,)))  # type: ignore[misc]
        return state

    def cancel(self, job: str) -> Job:
        """Request that a job stops: at once if it is queued, at the next document if it runs."""
        number = self.get(job).id
        waiting = "state = 'cancelled', ended = ?, reason = 'cancelled before it began'"
        if not self._update(number, waiting, _now(), only="state = 'queued'"):
            self._update(number, "state = 'cancelling'", only="state = 'in_progress'")
        return self.get(number)

    def log(self, job: str, line: str) -> None:
        """Add a line to a job's log."""
        query = """insert into job_log select ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4 from job_log
        where workspace_id = ?1 and job_id = ?2"""
        self._database.transact(lambda connection: connection.execute(query, (self._workspace, job, _now(), line)))

    def redact(self, uris: Collection[str]) -> None:
        """Remove deleted documents from the logs and reports of ended jobs."""
        gone = frozenset(uris)
        lines = self._database.query("select job_id, number, line from job_log where workspace_id = ?", (self._workspace,))
        dropped = [(self._workspace, job, number) for job, number, line in lines if _names(line.partition(": ")[2], gone)]
        changed = [(json.dumps(report), self._workspace, job.id) for job in self.recent(-1) if (report := _without(job, gone))]

        def write(connection: apsw.Connection) -> None:
            connection.executemany("delete from job_log where workspace_id = ? and job_id = ? and number = ?", dropped)
            connection.executemany("update job set report = ? where workspace_id = ? and job_id = ?", changed)

        if dropped or changed:
            self._database.transact(write)

    def lines(self, job: str) -> list[tuple[int, str]]:
        """Return a job's log as times and lines."""
        query = "select at, line from job_log where workspace_id = ? and job_id = ? order by number"
        return [(at, line) for at, line in self._database.query(query, (self._workspace, job))]

    def _select(self, where: str, *values: Any) -> list[Job]:
        query = f"select {_COLUMNS} from job where workspace_id = ? and {where}"  # noqa: S608 - `where` is ours
        return [_job(row) for row in self._database.query(query, (self._workspace, *values))]

    def _update(self, job: str, what: str, *values: Any, only: str = "1") -> bool:
        """Update a job if it meets the condition `only`. Returns whether it did."""
        query = f"update job set {what} where workspace_id = ? and job_id = ? and {only}"  # noqa: S608 - both are ours

        def write(connection: apsw.Connection) -> bool:
            connection.execute(query, (*values, self._workspace, job))
            return connection.changes() > 0

        return self._database.transact(write)


def _names(line: str, uris: Collection[str]) -> bool:
    """Return whether a line is about one of the documents: it begins with the uri and a colon."""
    return any(line[: match.start()] in uris for match in re.finditer(": ", line))


def _without(job: Job, uris: Collection[str]) -> dict[str, Any] | None:
    """Return the report of an ended job without some documents; None if it names none of them."""
    failed, warnings = job.report.get("failed", {}), job.report.get("warnings", [])
    remaining = {uri: why for uri, why in failed.items() if uri not in uris}
    others = [warning for warning in warnings if not _names(warning, uris)]
    if not job.over or (len(remaining), len(others)) == (len(failed), len(warnings)):
        return None
    return {**job.report, "failed": remaining, "warnings": others}


def _now() -> int:
    return time.time_ns() // 1000


def _job(row: Any) -> Job:
    number, kind, state, who, paths, options, created, started, beat, ended, done, total, message, report, *rest = row
    return Job(
        number, kind, state, who, tuple(json.loads(paths)), json.loads(options), created, started, beat, ended, done, total,
        message, json.loads(report or "{}"), *rest,
    )  # fmt: skip
