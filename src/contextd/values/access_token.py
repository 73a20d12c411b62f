"""Access tokens of the service: who a request acts as, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass

from contextd.values.query import Reader

READ, WRITE, ADMIN = RIGHTS = ("read", "write", "admin")  # each includes those before it


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A stored token. `digest` is the SHA-256 of its secret, which is not stored. Times are microseconds."""

    id: str
    name: str
    digest: bytes
    reader: Reader
    may: str
    created: int
    expires: int | None = None
    workspaces: frozenset[int] = frozenset()  # projects it is limited to; empty for all
    private: bool = False  # whether private memories, topics and folders may answer

    def allows(self, right: str) -> bool:
        """Return whether the token includes a right."""
        return RIGHTS.index(self.may) >= RIGHTS.index(right)

    def reaches(self, workspace: int) -> bool:
        """Return whether the token may be used for a project."""
        return not self.workspaces or workspace in self.workspaces
