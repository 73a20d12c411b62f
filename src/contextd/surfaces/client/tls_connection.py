"""A kept connection to a service behind TLS. Loaded for such a service alone."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection


class TlsConnection:
    """As `http_connection.HttpConnection`, over TLS with the certificates that this machine trusts."""

    def __init__(self, host: str, port: int | None, timeout: float) -> None:
        self._connection = HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body of the answer. Raises `OSError`, also for an answer that is no HTTP."""
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except HTTPException as error:
            raise ConnectionError(str(error)) from None

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._connection.sock is not None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
