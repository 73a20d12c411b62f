"""JSON-RPC 2.0 over HTTP: every route of the API is a method, and its request the parameters. Batches are possible."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from contextd.errors import ContextdError, InvalidInput, NotFound
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire.convert import parsed_strictly, plain
from contextd.surfaces.wire.routes import Route

_PARSE, _INVALID, _NO_METHOD, _PARAMS, _INTERNAL, _APPLICATION = -32700, -32600, -32601, -32602, -32603, -32000
_MOST = 50  # requests of a batch

Handlers = Mapping[str, tuple[Route, Callable[[Caller, Any], Any]]]


def answer(body: bytes, caller: Caller, methods: Handlers, failed: Callable[[Exception], None]) -> bytes | None:
    """Return the answer to a request or a batch; None if nothing is to be answered."""
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return _dumped(_error(None, _PARSE, "the body is not valid JSON"))
    if not isinstance(message, list):
        found = _one(message, caller, methods, failed)
        return None if found is None else _dumped(found)
    if not message or len(message) > _MOST:
        return _dumped(_error(None, _INVALID, f"a batch has 1 to {_MOST} requests"))
    answers = [found for one in message if (found := _one(one, caller, methods, failed)) is not None]
    return _dumped(answers) if answers else None


def _one(message: Any, caller: Caller, methods: Handlers, failed: Callable[[Exception], None]) -> dict[str, Any] | None:
    """Return the answer to one request; None for a notification."""
    wrong = _wrong(message)
    number = message.get("id") if isinstance(message, dict) and not wrong else None
    if wrong:
        return _error(None, _INVALID, wrong)
    made = _called(message, caller, methods, failed)
    return None if "id" not in message else {"jsonrpc": "2.0", "id": number, **made}


def _called(
    message: Mapping[str, Any], caller: Caller, methods: Handlers, failed: Callable[[Exception], None]
) -> dict[str, Any]:
    route, run = methods.get(message["method"], (None, None))
    if route is None or run is None:
        return {"error": {"code": _NO_METHOD, "message": f"no method {message['method']!r}"}}
    try:
        caller.require(route.may)
        asked: Any = parsed_strictly(route.request, message.get("params") or {})
    except InvalidInput as error:
        return _failure(_PARAMS if error.http_status == InvalidInput.http_status else _APPLICATION, error)
    try:
        return {"result": plain(run(caller, asked))}
    except ContextdError as error:
        return _failure(_APPLICATION - (1 if isinstance(error, NotFound) else 0), error)
    except Exception as error:  # a bug: only this request fails
        failed(error)
        return {"error": {"code": _INTERNAL, "message": f"an error in contextd ({type(error).__name__})"}}


def _wrong(message: Any) -> str:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return 'a request is an object with "jsonrpc": "2.0" and a method'
    if not isinstance(message.get("params"), dict | None):
        return "params are an object"
    number = message.get("id")
    return "" if isinstance(number, str | int | None) and not isinstance(number, bool) else "an id is a text or a whole number"


def _failure(code: int, error: ContextdError) -> dict[str, Any]:
    return {"error": {"code": code, "message": str(error), "data": {"code": error.code, "status": error.http_status}}}


def _error(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
