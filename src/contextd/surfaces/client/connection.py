"""Requests to the service over kept connections, with timeouts, retries and the errors of `errors.py`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from contextd.errors import ContextdError, Forbidden, InvalidInput, StorageError, TimedOut, Unavailable
from contextd.surfaces.client.http_connection import HttpConnection

if TYPE_CHECKING:
    from contextd.surfaces.client.tls_connection import TlsConnection

PREFIX = "/api/v1"
_PAUSE = 0.1  # seconds before the first retry; twice as long before each further one
_MOST_IDLE = 8  # connections that are kept


def _kinds(kind: type[ContextdError]) -> Iterator[type[ContextdError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


_BY_CODE = {one.code: one for one in _kinds(ContextdError)} | {"unauthorized": Forbidden}


@dataclass(slots=True)
class Connection:
    """A service at a URL, addressed with a token. Any thread may call its methods."""

    url: str
    token: str = field(repr=False)
    timeout: float = 10.0  # seconds of one request
    retries: int = 3  # for requests that change nothing
    headers: Mapping[str, str] = field(default_factory=dict)
    is_ours: Callable[[], bool] = lambda: True  # whether the service still has the port; a dead one's may be another program's
    _idle: list[HttpConnection | TlsConnection] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"invalid URL of the service: {self.url!r}; use the form http://127.0.0.1:8710")

    def get(self, path: str, values: Mapping[str, Any]) -> Any:
        """Return the JSON of a GET request."""
        return self._call("GET", path + _query(values), None, safe=True)

    def post(self, path: str, values: Mapping[str, Any], *, safe: bool = False) -> Any:
        """Return the JSON of a POST request. A safe one changes nothing and may be repeated."""
        return self._call("POST", path, values, safe=safe)

    def patch(self, path: str, values: Mapping[str, Any]) -> Any:
        """Return the JSON of a PATCH request."""
        return self._call("PATCH", path, values, safe=False)

    def delete(self, path: str, values: Mapping[str, Any]) -> Any:
        """Return the JSON of a DELETE request."""
        return self._call("DELETE", path + _query(values), None, safe=False)

    def send(self, path: str, message: Mapping[str, Any]) -> Any:
        """Return the JSON that answers a message to another path than those of the API."""
        return self._once("POST", path, json.dumps(message), safe=False)

    def close(self) -> None:
        """Close idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _call(self, method: str, path: str, values: Mapping[str, Any] | None, *, safe: bool) -> Any:
        body = None if values is None else json.dumps({key: one for key, one in values.items() if one is not None})
        pause = _PAUSE
        for attempt in range(self.retries + 1):
            try:
                return self._once(method, PREFIX + path, body, safe=safe)
            except Unavailable as error:
                if attempt == self.retries or isinstance(error, TimedOut) or not (safe or isinstance(error, _Refused)):
                    raise
            time.sleep(pause)
            pause *= 2
        raise Unavailable(f"the service at {self.url} does not answer")

    def _once(self, method: str, path: str, body: str | None, *, safe: bool) -> Any:
        connection = self._open(fresh=not safe)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            status, data = connection.ask(method, path, (body or "").encode(), headers)
        except TimeoutError:
            connection.close()
            raise TimedOut(f"the service at {self.url} did not answer in {self.timeout:g} seconds") from None
        except ConnectionRefusedError:
            raise _Refused(f"no service at {self.url}; start it with `contextd serve --background`") from None
        except OSError as error:
            connection.close()
            raise Unavailable(f"the service at {self.url} does not answer: {error}") from None
        self._keep(connection)
        return _answered(status, data)

    def _open(self, *, fresh: bool) -> HttpConnection | TlsConnection:
        """Return a connection: an idle one, or a new one. The service may have closed an idle one, so writes get a new one."""
        with self._lock:
            if self._idle and not fresh:
                return self._idle.pop()
        if not self.is_ours():
            raise _Refused(f"no service at {self.url}; start it with `contextd serve --background`")
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            from contextd.surfaces.client.tls_connection import TlsConnection

            return TlsConnection(parts.hostname or "", parts.port, self.timeout)
        return HttpConnection(parts.hostname or "", parts.port or 80, self.timeout)

    def _keep(self, connection: HttpConnection | TlsConnection) -> None:
        """Keep a connection for the next request; not a closed one, which would connect to whoever has the port then."""
        with self._lock:
            if connection.is_open and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


class _Refused(Unavailable):
    """No process listens: nothing was sent, so any request may be repeated."""


def path_of(*parts: str) -> str:
    """Return a path; parts are escaped."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _query(values: Mapping[str, Any]) -> str:
    given = {key: _text(value) for key, value in values.items() if value is not None and value != ()}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _answered(status: int, data: bytes) -> Any:
    """Return the JSON of an answer. Raises the error that a problem document describes."""
    try:
        answer = json.loads(data)
    except ValueError:
        raise Unavailable(f"the service answered with status {status} and no JSON; is it contextd?") from None
    if status < 400:
        return answer
    code, detail = str(answer.get("code", "")), str(answer.get("detail", f"status {status}"))
    if status in (503, 507) and code not in _BY_CODE:
        raise StorageError(detail, code=code)
    kind = _BY_CODE.get(code, Unavailable if status >= 500 or status == 429 else InvalidInput)
    error = kind.__new__(kind)  # some kinds are made from other arguments than a message
    Exception.__init__(error, detail)
    raise error
