"""The log of usage: JSON lines, one file per day. Texts are in files of their own, so that they can be deleted."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contextd.settings.permissions import make_folder
from contextd.values.usage import AgentUsage, QueryUsage

_LOG = logging.getLogger("contextd.usage")
_KINDS: dict[str, type[QueryUsage] | type[AgentUsage]] = {"query": QueryUsage, "agent": AgentUsage}
_ROWS, _TEXTS = ".jsonl", ".texts"  # endings of the files of a day


class UsageFiles:
    """Rows in `YYYY-MM-DD.jsonl` and their texts in `YYYY-MM-DD.texts`, by days of UTC."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, row: QueryUsage | AgentUsage) -> None:
        """Append a row. If the disk is full or the directory read-only, the row is dropped."""
        try:
            if row.text:
                self._append(f"{_day(row.at)}{_TEXTS}", {"at": row.at, "text": row.text})
            self._append(f"{_day(row.at)}{_ROWS}", _as_json(row))
        except OSError as error:
            _LOG.debug("usage was not recorded: %s", error)

    def rows(self, since: int = 0) -> Iterator[QueryUsage | AgentUsage]:
        """Yield the rows from a time on, with their texts. Unreadable rows are skipped."""
        for path in self._files(_ROWS):
            if path.stem < _day(since):
                continue
            texts = {one.get("at"): one.get("text", "") for one in _objects(path.with_suffix(_TEXTS))}
            for data in _objects(path):
                row = _row(data)
                if row is not None and row.at >= since:
                    yield replace(row, text=texts[row.at]) if row.at in texts else row

    def keep(self, days: int) -> None:
        """Delete the files of older days. A file that cannot be deleted stays."""
        first = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d")
        for path in (*self._files(_ROWS), *self._files(_TEXTS)):
            if path.stem < first:
                with suppress(OSError):
                    path.unlink()

    def drop_texts(self) -> None:
        """Delete the texts of all rows."""
        for path in self._files(_TEXTS):
            path.unlink(missing_ok=True)

    def _append(self, name: str, data: dict[str, Any]) -> None:
        # The line break in front ends a line that a killed process has left unfinished.
        line = f"\n{json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n".encode("utf-8", "replace")
        flags = os.O_APPEND | os.O_CREAT | os.O_WRONLY
        try:
            handle = os.open(self._folder / name, flags, 0o600)
        except FileNotFoundError:
            make_folder(self._folder)
            handle = os.open(self._folder / name, flags, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def _files(self, ending: str) -> list[Path]:
        return sorted(self._folder.glob(f"*{ending}")) if self._folder.is_dir() else []


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines. Other lines are skipped."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return
    for line in filter(None, lines):
        with suppress(ValueError):
            if isinstance(data := json.loads(line), dict):
                yield data


def _as_json(row: QueryUsage | AgentUsage) -> dict[str, Any]:
    """Return the fields of a row that are not empty, without its text."""
    found = {field.name: getattr(row, field.name) for field in fields(row) if field.name != "text"}
    kind = "query" if isinstance(row, QueryUsage) else "agent"
    return {"kind": kind} | {name: value for name, value in found.items() if value or name == "with_context"}


def _row(data: dict[str, Any]) -> QueryUsage | AgentUsage | None:
    try:
        kind = _KINDS[data["kind"]]
        known = {field.name for field in fields(kind)}
        return kind(**{name: value for name, value in data.items() if name in known})
    except (KeyError, TypeError):
        return None


def _day(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d")
