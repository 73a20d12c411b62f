"""Errors in the shape of OpenAI's API, which its clients turn into exceptions."""

from __future__ import annotations

import json

from contextd.surfaces.http.problems import RequestRefused

MEDIA_TYPE = b"application/json"
DISCONNECTED = "upstream_disconnected"
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def error_document(status: int, code: str, message: str) -> bytes:
    """Return the body of an error."""
    usual = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": _TYPES.get(status, usual), "param": None, "code": code}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


def error_frame(message: str, *, named: bool) -> bytes:
    """Return an event that ends a stream with an error. `named`: for the responses API, whose events have names."""
    error = {"message": message, "type": DISCONNECTED, "param": None, "code": DISCONNECTED}
    if not named:
        return b"data: " + json.dumps({"error": error}).encode() + b"\n\n"
    event = {"type": "error", "code": DISCONNECTED, "message": message, "param": None, "error": error}
    return b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"


def refusal(refused: RequestRefused) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return headers and body that answer a refused request. The connection ends, since a body may follow."""
    body = error_document(refused.status, refused.code, str(refused))
    headers = [
        (b"content-type", MEDIA_TYPE),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *refused.headers,
    ]
    return headers, body
