"""MCP over streamable HTTP, without sessions: every POST is one message, answered as JSON or, with progress, as a stream."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contextd.app.service import Service
from contextd.surfaces.mcp.protocol import Protocol
from contextd.surfaces.mcp.tools import ToolCall, chosen
from contextd.surfaces.mcp.wire import INTERNAL, BadMessage, Channel, refusals
from contextd.values.access_token import AccessToken

_LOG = logging.getLogger("contextd.mcp")
_THREADS = 16  # calls at once; some wait for a rebuild
_QUEUED = 1000  # notifications of one call that are not sent yet


@dataclass(slots=True)
class McpEndpoint:
    """Answers MCP messages for every token. A project is named by `?project=` or the header X-Contextd-Project."""

    service: Service
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))

    async def answer(self, request: Request) -> Response:
        """Answer a message."""
        body = await request.body()
        errors = (
            refusals(body) if body.strip() else [{"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "empty"}}]
        )
        if errors:
            return Response(json.dumps(errors[0]), 400, media_type="application/json")
        message = json.loads(body)
        if "method" not in message or "id" not in message:
            return Response(status_code=202)  # a notification, or an answer that nobody waits for
        token = request.state.token
        project = request.query_params.get("project") or request.headers.get("x-contextd-project")
        if _wants_progress(message) and "text/event-stream" in request.headers.get("accept", ""):
            return StreamingResponse(self._stream(message, token, project), media_type="text/event-stream")
        found = await anyio.to_thread.run_sync(
            lambda: self._answered(message, token, project, Channel()), limiter=self.threads, abandon_on_cancel=True
        )
        return Response(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"), media_type="application/json")

    async def _stream(self, message: Mapping[str, Any], token: AccessToken, project: str | None) -> AsyncIterator[bytes]:
        """Yield notifications of a call, then its result. A client that goes away cancels the call."""
        send, receive = anyio.create_memory_object_stream[Mapping[str, Any]](_QUEUED)
        gone = threading.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run, message, token, project, send, gone)
            try:
                async for one in receive:
                    yield f"event: message\ndata: {json.dumps(one)}\n\n".encode()
            finally:
                gone.set()

    async def _run(
        self,
        message: Mapping[str, Any],
        token: AccessToken,
        project: str | None,
        send: MemoryObjectSendStream[Mapping[str, Any]],
        gone: threading.Event,
    ) -> None:
        channel = Channel(lambda one: anyio.from_thread.run_sync(send.send_nowait, one), gone.is_set)
        with send:
            found = await anyio.to_thread.run_sync(
                lambda: self._answered(message, token, project, channel), limiter=self.threads, abandon_on_cancel=True
            )
            await send.send(found)

    def _answered(
        self, message: Mapping[str, Any], token: AccessToken, project: str | None, channel: Channel
    ) -> Mapping[str, Any]:
        """Return the answer to a request; runs in a thread."""
        number, method, params = message["id"], message["method"], message.get("params") or {}
        try:
            body: dict[str, Any] = {"result": self._protocol(token, project).answer(method, params, channel)}
        except BadMessage as refused:
            body = {"error": refused.error}
        except Exception as error:  # a bug: only this request fails
            _LOG.error("%s failed", method, exc_info=error)
            body = {"error": {"code": INTERNAL, "message": f"an error in contextd ({type(error).__name__})"}}
        return {"jsonrpc": "2.0", "id": number, **body}

    def _protocol(self, token: AccessToken, project: str | None) -> Protocol:
        offered = chosen(self.service.settings().mcp.tools)
        allowed = {name: tool for name, tool in offered.items() if token.allows(tool.may)}
        return Protocol(allowed, lambda: self._call(token, project))

    def _call(self, token: AccessToken, project: str | None) -> ToolCall:
        service, place = self.service, project if project is not None else self.service.only_project(token)
        session = service.session(token, place)
        return ToolCall(session, self.secret, service.notes(session), lambda: service.start_following(session))


def _wants_progress(message: Mapping[str, Any]) -> bool:
    meta = (message.get("params") or {}).get("_meta")
    return isinstance(meta, dict) and isinstance(meta.get("progressToken"), str | int)
