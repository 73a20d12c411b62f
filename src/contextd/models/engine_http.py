"""Requests to inference servers: within a deadline, with answers of a limited size, and errors that say what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from contextd.errors import Unavailable

_MOST_BYTES = 4 << 20  # of an answer; a longer one is not what was asked for
_CONNECT = 2.0  # seconds
_PROBE = 1.0  # seconds


@dataclass(slots=True)
class EngineHttp:
    """A server, by the URL below which its API is. Any thread may call its methods."""

    url: str
    remote: bool
    key: str = field(default="", repr=False)
    _client: httpx2.Client | None = field(default=None, repr=False)

    def post(self, path: str, body: Any, deadline: float) -> Any:
        """Return the JSON answer to a JSON request. Raises `Unavailable`."""
        return self._json("POST", path, body, deadline)

    def get(self, path: str, seconds: float = _PROBE) -> Any:
        """Return the JSON answer. Raises `Unavailable`."""
        return self._json("GET", path, None, time.monotonic() + seconds)

    def lines(self, path: str, body: Any, idle: float) -> Iterator[Any]:
        """Yield the JSON lines of an answer; raises `Unavailable` if none comes for so many seconds."""
        with self._sent("POST", path, body, idle) as answer:
            for line in answer.iter_lines():
                if line.strip():
                    yield self._parsed(line)

    def close(self) -> None:
        """Close idle connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _json(self, method: str, path: str, body: Any, deadline: float) -> Any:
        parts, size = list[bytes](), 0
        with self._sent(method, path, body, deadline - time.monotonic()) as answer:
            for part in answer.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    raise Unavailable(f"{self._place} sent more than {_MOST_BYTES >> 20} MB")
                if time.monotonic() > deadline:
                    raise Unavailable(f"{self._place} did not answer in time")
        return self._parsed(b"".join(parts))

    @contextmanager
    def _sent(self, method: str, path: str, body: Any, seconds: float) -> Iterator[httpx2.Response]:
        if seconds <= 0:
            raise Unavailable(f"no time left to ask {self._place}")
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        times = httpx2.Timeout(seconds, connect=min(_CONNECT, seconds))
        try:
            with self._opened().stream(method, f"{self.url}{path}", json=body, headers=headers, timeout=times) as answer:
                if answer.status_code != 200:
                    raise Unavailable(f"{self._place} answered with HTTP {answer.status_code}{_reason(answer)}")
                yield answer
        except httpx2.TimeoutException:
            raise Unavailable(f"{self._place} did not answer in time") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise Unavailable(f"{self._place} cannot be reached ({type(error).__name__}); run `contextd models`") from None

    def _opened(self) -> httpx2.Client:
        if self._client is None:
            self._client = httpx2.Client(trust_env=self.remote, follow_redirects=False)
        return self._client

    @property
    def _place(self) -> str:
        parts = urlsplit(self.url)
        return f"the model server at {parts.hostname}:{parts.port or parts.scheme}"

    def _parsed(self, data: bytes | str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise Unavailable(f"{self._place} did not answer with JSON") from None


def _reason(answer: httpx2.Response) -> str:
    """Return what an error says, shortened."""
    try:
        found = json.loads(next(answer.iter_bytes(2000), b""))["error"]
        text = found.get("message", "") if isinstance(found, Mapping) else found
        return f": {str(text)[:200]}"
    except (ValueError, KeyError, TypeError, AttributeError, httpx2.HTTPError):
        return ""
