"""Errors of the service as problem documents (RFC 9457), with the codes of `errors.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

from contextd.errors import ContextdError
from contextd.text.invisible import visible

Headers = list[tuple[bytes, bytes]]

MEDIA_TYPE = "application/problem+json"
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457). `code` is stable; `detail` says what happened and what to do.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "trace_id": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code", "trace_id"],
}


UNAUTHORIZED = (401, "unauthorized", "a valid access token is needed: `Authorization: Bearer …`")


class RequestRefused(Exception):
    """A request that is refused before it reaches a handler."""

    def __init__(self, status: int, code: str, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(detail)
        self.status, self.code, self.headers = status, code, list(headers)


def problem(status: int, code: str, detail: str, trace_id: str) -> bytes:
    """Return a problem document."""
    document = {
        "type": f"urn:contextd:error:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": visible(detail),
        "code": code,
        "trace_id": trace_id,
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def of_error(error: ContextdError, trace_id: str) -> tuple[int, bytes]:
    """Return the status and the problem document of an error."""
    return error.http_status, problem(error.http_status, error.code, str(error), trace_id)
