"""The log of usage: JSON lines, one file per day. Appending is one system call, so that a query does not wait for it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contextd.settings.permissions import make_folder, open_file
from contextd.values.usage import AgentUsage, QueryUsage

_LOG = logging.getLogger("contextd.usage")
_KINDS: dict[str, type[QueryUsage] | type[AgentUsage]] = {"query": QueryUsage, "agent": AgentUsage}
_TEXTS = (b'"text":', b'"notes":')


class UsageFiles:
    """Rows in `YYYY-MM-DD.jsonl`, by days of UTC."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, row: QueryUsage | AgentUsage) -> None:
        """Append a row. A full disk or a read-only directory costs the row, not the answer."""
        # The line break in front ends a line that a killed process has left unfinished.
        line = b"\n" + _line(row)
        try:
            make_folder(self._folder)
            handle = os.open(self._folder / f"{_day(row.at)}.jsonl", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            _LOG.debug("usage was not recorded: %s", error)

    def rows(self, since: int = 0) -> Iterator[QueryUsage | AgentUsage]:
        """Yield the rows from a time on. Unreadable rows are skipped."""
        for path in self._files():
            if path.stem < _day(since):
                continue
            for line in _lines(path):
                row = _row(line)
                if row is not None and row.at >= since:
                    yield row

    def keep(self, days: int) -> None:
        """Delete the files of older days."""
        first = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d")
        for path in self._files():
            if path.stem < first:
                path.unlink(missing_ok=True)

    def drop_texts(self) -> None:
        """Write each file that has texts again without them. A row that is added meanwhile may be lost."""
        for path in self._files():
            if not any(name in line for line in _lines(path) for name in _TEXTS):
                continue
            rows = [_without_text(row) for row in map(_row, _lines(path)) if row is not None]
            temporary = path.with_suffix(".new")
            with open_file(temporary, "wb") as file:
                file.writelines(map(_line, rows))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line]
    except OSError:
        return []


def _line(row: QueryUsage | AgentUsage) -> bytes:
    """Return a row as a line of JSON, without empty fields."""
    kind = "query" if isinstance(row, QueryUsage) else "agent"
    data = {"kind": kind} | {name: value for name, value in asdict(row).items() if value or name == "with_context"}
    return f"{json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n".encode("utf-8", "replace")


def _without_text(row: QueryUsage | AgentUsage) -> QueryUsage | AgentUsage:
    return replace(row, text="") if isinstance(row, QueryUsage) else replace(row, notes="")


def _row(line: bytes) -> QueryUsage | AgentUsage | None:
    try:
        data = json.loads(line)
        kind = _KINDS[data.pop("kind")]
        known = {field.name for field in fields(kind)}
        return kind(**{name: value for name, value in data.items() if name in known})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _day(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d")
