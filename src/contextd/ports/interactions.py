"""The interaction log of the proxy, as the application uses it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from contextd.values.interaction import Interaction
from contextd.values.proposal import Proposal


class Proposals(Protocol):
    """Memories that are proposed to people. Any thread may call its methods."""

    def add(self, proposal: Proposal) -> None:
        """Store a proposal, unless the same was proposed before."""

    def waiting(self, reader: str) -> list[Proposal]:
        """Return the proposals of a reader that wait for a yes or a no, newest first."""

    def decide(self, reader: str, proposal: str) -> bool:
        """Erase the text of a proposal. Returns whether it was waiting."""


class DocumentTraces(Protocol):
    """What is kept elsewhere of the documents of a project, for its one writer."""

    def change(self, documents: Collection[int]) -> None:
        """Erase what quotes documents that are about to change."""

    def settle(self) -> None:
        """Erase what names documents that are gone, also by a run that did not end. Nothing is left in the files."""


class Interactions(Protocol):
    """The interactions of a data directory. Any thread may call its methods."""

    @property
    def proposals(self) -> Proposals:
        """Memories that are proposed from interactions."""

    def add(self, interaction: Interaction) -> None:
        """Store an interaction."""

    def recent(self, reader: str, limit: int) -> list[Interaction]:
        """Return the newest interactions of a reader, newest first."""

    def get(self, reader: str, start: str) -> list[Interaction]:
        """Return the interactions of a reader whose ids begin like this."""

    def expire(self, before: int, most: int) -> None:
        """Delete interactions that are older, and the oldest ones beyond a number."""

    def purge(self, uri: str, text: str) -> None:
        """Erase what is known of a document: its pieces, proposals, and texts of interactions that used or contain it."""

    def documents(self, workspace: int) -> frozenset[int]:
        """Return the documents of a workspace that have pieces in the log."""

    def erase(self, workspace: int, gone: Collection[int], changed: Collection[int] = ()) -> None:
        """Erase pieces of documents that are gone, labels of changed ones, and texts that used either."""

    def settle(self) -> None:
        """Leave nothing of erased data in the files."""

    def clear(self, reader: str) -> int:
        """Delete all interactions of a reader. Returns their number."""

    def close(self) -> None:
        """Close idle connections."""
