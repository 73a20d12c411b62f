"""Protocol of the log of usage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from contextd.values.usage import AgentUsage, QueryUsage


class UsageLog(Protocol):
    """Rows of usage, in order of time. Any thread and process may add rows. A row that cannot be written is dropped."""

    def add(self, row: QueryUsage | AgentUsage) -> None:
        """Add a row. Raises nothing."""

    def rows(self, since: int = 0) -> Iterator[QueryUsage | AgentUsage]:
        """Yield the rows from a time on. Unreadable rows are skipped."""

    def keep(self, days: int) -> None:
        """Delete rows that are older. Raises nothing."""

    def drop_texts(self) -> None:
        """Erase the texts of all rows."""
