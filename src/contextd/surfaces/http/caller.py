"""A request to the service: who asks, and helpers that all handlers share."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from contextd.errors import Forbidden, InvalidInput
from contextd.surfaces.wire.answers import ListAnswer

if TYPE_CHECKING:
    from contextd.app.service import Service
    from contextd.app.session import Session
    from contextd.surfaces.wire.api_requests import InProject
    from contextd.values.access_token import AccessToken

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """One request: the service, and the token of the caller."""

    service: Service
    token: AccessToken

    def session(self, asked: InProject, also: Sequence[str] = ()) -> Session:
        """Return the session of the caller for the project of a request."""
        return self.service.session(self.token, asked.project, also)

    def require(self, right: str) -> None:
        """Raise `Forbidden` if the token does not include a right."""
        if not self.token.allows(right):
            raise Forbidden(f"the token {self.token.name!r} may not do this; it needs the right {right}")

    def require_all_projects(self) -> None:
        """Raise `Forbidden` if the token is limited to some projects."""
        if self.token.workspaces:
            raise Forbidden(f"the token {self.token.name!r} is limited to its projects and may not do this")


def moment(field: str, text: str | None) -> int | None:
    """Return a time of ISO 8601 in microseconds. Without a zone it is UTC."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
        return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"argument {field!r} must be a date or time in ISO 8601, such as 2026-05-31") from None


def page(items: Sequence[T], key: Callable[[T], str], limit: int, cursor: str | None) -> ListAnswer[T]:
    """Return one page of a list. The cursor names the last item of the page before; `key` identifies an item."""
    start = 0
    if cursor is not None:
        last = _opened(cursor)
        start = next((at + 1 for at, item in enumerate(items) if key(item) == last), -1)
        if start < 0:
            raise InvalidInput("the cursor is not valid, or its item is gone; begin with the first page")
    shown = items[start : start + limit]
    more = start + limit < len(items)
    return ListAnswer(shown, len(items), _closed(key(shown[-1])) if more and shown else None)


def _closed(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def _opened(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor.encode("ascii") + b"==").decode()
    except ValueError:
        raise InvalidInput("the cursor is not valid; use `next` of the page before") from None
