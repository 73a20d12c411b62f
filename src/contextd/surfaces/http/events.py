"""Progress of a job as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contextd.app.questions import hidden_paths
from contextd.app.service import Service
from contextd.errors import ContextdError
from contextd.surfaces.http.problems import MEDIA_TYPE, UNAUTHORIZED, RequestRefused, of_error, problem
from contextd.surfaces.wire.convert import plain
from contextd.surfaces.wire.index_answers import JobAnswer
from contextd.values.access_token import AccessToken

_OVER = ("completed", "failed", "cancelled")
_EVERY = 0.5  # seconds between two looks at the job
_ALIVE = 15.0  # seconds after which a comment is sent if nothing has changed


async def job_events(
    service: Service, token: AccessToken, request: Request, threads: anyio.CapacityLimiter, stopping: Callable[[], bool]
) -> Response:
    """Return a stream with an event for every change of a job, until it has ended or the caller may no longer see it."""
    project, job = request.query_params.get("project"), request.path_params["job"]

    def look() -> JobAnswer:
        if not service.tokens.is_valid(token):
            raise RequestRefused(*UNAUTHORIZED)
        session = service.session(token, project)
        return JobAnswer.of(session.jobs.get(job), paths=not hidden_paths(session))

    try:
        first = await anyio.to_thread.run_sync(look, limiter=threads)
    except ContextdError as error:
        status, content = of_error(error, request.state.trace_id)
        return Response(content, status, media_type=MEDIA_TYPE)

    async def stream() -> AsyncIterator[bytes]:
        found, last, silent = first, b"", 0.0
        while True:
            event = _event(found)
            yield event if event != last else b": alive\n\n" if silent >= _ALIVE else b""
            silent = 0.0 if event != last or silent >= _ALIVE else silent + _EVERY
            if found.state in _OVER or stopping():
                return
            last = event
            await anyio.sleep(_EVERY)
            try:
                found = await anyio.to_thread.run_sync(look, limiter=threads)
            except RequestRefused as refused:
                yield _failed(problem(refused.status, refused.code, str(refused), request.state.trace_id))
                return
            except ContextdError as error:
                yield _failed(of_error(error, request.state.trace_id)[1])
                return

    return StreamingResponse(stream(), media_type="text/event-stream")


def _failed(document: bytes) -> bytes:
    return b"event: error\ndata: " + document + b"\n\n"


def _event(job: JobAnswer) -> bytes:
    name = "end" if job.state in _OVER else "progress"
    return f"event: {name}\ndata: {json.dumps(plain(job), default=str)}\n\n".encode()
