"""Pass messages of a local client on to the running service, which has the project open already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextd.surfaces.mcp.wire import INTERNAL, BadMessage, Channel

if TYPE_CHECKING:
    from contextd.surfaces.client.connection import Connection


class _Refusal(BadMessage):
    """An error that the service answered with."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(int(error.get("code", INTERNAL)), str(error.get("message", "")), error.get("data"))


@dataclass(frozen=True, slots=True)
class Forwarder:
    """Answers requests by asking the service."""

    connection: Connection

    def answer(self, method: str, params: Mapping[str, Any], channel: Channel) -> Mapping[str, Any]:
        """Return the service's result. Raises BadMessage for its errors, and `Unavailable` if it does not answer."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        found = self.connection.send("/mcp", message)
        if "error" in found:
            raise _Refusal(found["error"])
        result: Mapping[str, Any] = found["result"]
        return result
