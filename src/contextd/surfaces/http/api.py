"""The application: routes of the API, answered in threads."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as Path

from contextd.app.service import Service
from contextd.errors import ContextdError, InvalidInput
from contextd.surfaces.http import prometheus, rpc
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.http.events import job_events
from contextd.surfaces.http.handlers import ask, code, engine, index, log, memory, profile, usage
from contextd.surfaces.http.mcp import McpEndpoint
from contextd.surfaces.http.openapi import document
from contextd.surfaces.http.problems import MEDIA_TYPE, RequestRefused, of_error, problem
from contextd.surfaces.wire.convert import lists_of, parsed, parsed_strictly, plain
from contextd.surfaces.wire.routes import PREFIX, ROUTES, Route
from contextd.values.access_token import ADMIN, AccessToken
from contextd.values.deadline import within

_LOG = logging.getLogger("contextd.http")
_THREADS = 2  # at once; more only contend for the interpreter lock: four need a third more processor time for each query
_WAITING = frozenset(
    {"add_context"}
)  # routes that wait for a job; they have threads of their own, so queries do not wait for them
_SECONDS = 60.0  # deadline of writes
_REST = 60.0  # seconds between checks for idle projects
_MODULES: tuple[ModuleType, ...] = (ask, code, memory, profile, index, usage, engine, log)
HANDLERS: Mapping[str, Callable[[Caller, Any], Any]] = {
    route.name: next(getattr(module, route.name) for module in _MODULES if hasattr(module, route.name)) for route in ROUTES
}

METHODS = {route.name: (route, HANDLERS[route.name]) for route in ROUTES}


@dataclass(slots=True)
class Api:
    """The routes of one service."""

    service: Service
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))
    waiting_threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))
    draining: bool = False
    warm: bool = False  # load the models at the start
    at_end: Callable[[], Awaitable[None]] | None = None  # called when the service ends

    def app(self) -> Starlette:
        """Return the application."""
        routes = [self._path(route) for route in ROUTES]
        routes += [
            Path(f"{PREFIX}/jobs/{{job}}/events", self._events, methods=["GET"]),
            Path("/rpc", self._rpc, methods=["POST"]),
            Path("/mcp", McpEndpoint(self.service).answer, methods=["POST"]),
            Path(f"{PREFIX}/openapi.json", self._openapi, methods=["GET"]),
            Path("/metrics", self._metrics, methods=["GET"]),
            Path("/healthz", self._healthz, methods=["GET"]),
            Path("/readyz", self._readyz, methods=["GET"]),
        ]
        failures = {HTTPException: _http_problem, RequestRefused: _refused, ClientDisconnect: _gone}
        return Starlette(routes=routes, exception_handlers=failures, lifespan=self._life)  # type: ignore[arg-type]

    def _path(self, route: Route) -> Path:
        threads = self.waiting_threads if route.name in _WAITING else self.threads

        async def endpoint(request: Request) -> Response:
            body = await request.body() if route.has_body else b""
            return await self._run(lambda: self._answer(route, request, body), threads)

        return Path(route.path, endpoint, methods=[route.method], name=route.name)

    async def _run(self, work: Callable[[], Response], threads: anyio.CapacityLimiter | None = None) -> Response:
        return await anyio.to_thread.run_sync(work, limiter=threads or self.threads, abandon_on_cancel=True)

    def _answer(self, route: Route, request: Request, body: bytes) -> Response:
        """Answer a request; runs in a thread."""
        trace_id, token = request.state.trace_id, request.state.token
        caller = Caller(self.service, token)
        try:
            caller.require(route.may)
            asked = parse(route, request, body)
            with within(_SECONDS):
                return json_response(HANDLERS[route.name](caller, asked))
        except ContextdError as error:
            status, content = of_error(error, trace_id)
            return Response(content, status, media_type=MEDIA_TYPE)
        except Exception as error:  # a bug: only this request fails
            return _bug(trace_id, error)

    async def _events(self, request: Request) -> Response:
        token: AccessToken = request.state.token
        return await job_events(self.service, token, request, self.threads, lambda: self.draining)

    async def _rpc(self, request: Request) -> Response:
        body, caller = await request.body(), Caller(self.service, request.state.token)

        def work() -> Response:
            with within(_SECONDS):
                found = rpc.answer(body, caller, METHODS, lambda error: _logged(request.state.trace_id, error))
            return Response(status_code=204) if found is None else Response(found, media_type="application/json")

        return await self._run(work, self.waiting_threads)  # a method of a batch may wait

    async def _openapi(self, request: Request) -> Response:
        return Response(json.dumps(document()), media_type="application/json")

    async def _metrics(self, request: Request) -> Response:
        """Answer with the totals of this process, for tokens that may see the usage of all readers."""
        token: AccessToken = request.state.token
        try:
            caller = Caller(self.service, token)
            caller.require(ADMIN)
            caller.require_all_projects()
        except ContextdError as error:
            status, content = of_error(error, request.state.trace_id)
            return Response(content, status, media_type=MEDIA_TYPE)
        return Response(prometheus.exposition(self.service.home.usage.counted()), media_type=prometheus.MEDIA_TYPE)

    async def _healthz(self, request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def _readyz(self, request: Request) -> Response:
        """Answer 200 if the record can be read and the service is not stopping."""
        if self.draining:
            return Response(b'{"status":"stopping"}', 503, media_type="application/json")

        def look() -> Response:
            try:
                self.service.home.record.registered("personal", "")
            except ContextdError as error:
                status, content = of_error(error, request.state.trace_id)
                return Response(content, status, media_type=MEDIA_TYPE)
            return Response(b'{"status":"ok"}', media_type="application/json")

        return await self._run(look)

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        """Stop following idle projects while the service runs; close everything at its end."""
        try:
            async with anyio.create_task_group() as tasks:
                if self.warm:
                    tasks.start_soon(anyio.to_thread.run_sync, self.service.warm)
                tasks.start_soon(self._resting)
                yield
                self.draining = True
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                if self.at_end is not None:
                    await self.at_end()
                await anyio.to_thread.run_sync(self.service.close)

    async def _resting(self) -> None:
        while True:
            await anyio.sleep(_REST)
            await anyio.to_thread.run_sync(self.service.rest)


def parse(route: Route, request: Request, body: bytes) -> Any:
    """Return the request of a route from its path, query string and body. Raises `InvalidInput`."""
    if route.has_body:
        return parsed_strictly(route.request, {**_object(body), **request.path_params})
    given, several = request.query_params, lists_of(route.request)
    values = {key: given.getlist(key) if key in several else given[key] for key in given}
    return parsed(route.request, {**values, **request.path_params})


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode("utf-8") or "{}", parse_constant=_no_number)
    except RecursionError:
        raise InvalidInput("the JSON of the body is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("the body must be a JSON object")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as JSON."""
    content = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), default=str)
    return Response(content.encode("utf-8", "replace"), status, media_type="application/json")


async def _http_problem(request: Request, error: HTTPException) -> Response:
    """Answer an unknown path or method."""
    codes = {404: "not_found", 405: "method_not_allowed"}
    details = {404: f"no such route: {request.url.path}", 405: f"{request.method} is not possible here"}
    code, detail = codes.get(error.status_code, "error"), details.get(error.status_code, error.detail)
    content = problem(error.status_code, code, detail, request.state.trace_id)
    headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers
    return Response(content, error.status_code, headers=headers, media_type=MEDIA_TYPE)


def _allowed(request: Request) -> str:
    """Return the methods of a path. Starlette names those of the first route with that path alone."""
    found = [one for one in request.app.routes if one.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for one in found for method in one.methods or ()}))


async def _refused(request: Request, error: RequestRefused) -> Response:
    """Answer a request whose body is refused while it is read."""
    content = problem(error.status, error.code, str(error), request.state.trace_id)
    return Response(content, error.status, headers={"connection": "close"}, media_type=MEDIA_TYPE)


async def _gone(request: Request, error: ClientDisconnect) -> Response:
    """Answer a client that went away while it sent its request; nobody gets it."""
    return Response(status_code=400)


def _logged(trace_id: str, error: Exception) -> None:
    _LOG.error("request %s failed", trace_id, exc_info=error)


def _bug(trace_id: str, error: Exception) -> Response:
    """Answer a request that failed by a mistake in contextd. The log has the details, by the trace id."""
    _logged(trace_id, error)
    content = problem(500, "internal", f"an error in contextd ({type(error).__name__}); the log has it as {trace_id}", trace_id)
    return Response(content, 500, media_type=MEDIA_TYPE)
