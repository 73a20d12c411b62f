"""A server for one client and one project. It opens the session when the client has connected, and watches the files."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from contextd.app.follower import Follower
from contextd.errors import ContextdError, Unavailable
from contextd.surfaces.mcp.protocol import INSTRUCTIONS, SLOW, Protocol
from contextd.surfaces.mcp.tools import ToolCall, chosen
from contextd.surfaces.mcp.wire import Answer, Channel, serve

if TYPE_CHECKING:  # opening a session takes longer than a client should wait for `initialize`
    from contextd.app.session import Session

_FIRST_RUN = 10.0  # seconds that a query waits for the first index run; asking again would take the model as long


@dataclass(slots=True)
class Server:
    """The MCP server. `open_session` is called once the client has connected. `watch`: keep the index up to date."""

    open_session: Callable[[], Session]
    watch: bool
    tools: Sequence[str] = ("default",)
    remote: Answer | None = None  # asks the running service
    instructions: str = INSTRUCTIONS
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _session: Session | None = None
    _follower: Follower | None = None
    _first_run: str = ""  # the job that indexes a project for the first time
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _prepared: bool = False

    def run(self) -> None:
        """Serve until standard input ends."""
        try:
            serve(self._answer, SLOW)
        finally:
            if self._follower is not None:
                self._follower.close()
            if self._session is not None:
                self._session.close()

    def _answer(self, method: str, params: Mapping[str, Any], channel: Channel) -> Mapping[str, Any]:
        """Answer a request: by the service, as long as it answers; else in this process."""
        if self.remote is not None and method != "initialize":
            try:
                return self.remote(method, params, channel)
            except Unavailable:
                self.remote = None
        return Protocol(chosen(self.tools), self._call, self._prepare, self.instructions).answer(method, params, channel)

    def _prepare(self) -> None:
        """Open the session in the background."""
        if not self._prepared:
            self._prepared = True
            threading.Thread(target=self._open_early, daemon=True).start()

    def _open_early(self) -> None:
        try:
            self._opened()
        except ContextdError as error:  # reported to the model by the first call, which tries again
            sys.stderr.write(f"contextd: {error}\n")

    def _opened(self) -> Session:
        with self._opening:
            if self._session is None:
                self._session = replace(self.open_session(), private=False)  # an agent may be anywhere
                settings = self._session.settings
                watch = self.watch and self._session.project is not None
                if watch and settings.bootstrap.enabled:
                    with suppress(ContextdError):  # the follower reports it, too; existing data can be queried
                        self._first_run = self._session.index_service.request()
                if watch and settings.watcher.enabled:
                    self._follower = Follower(self._session, "contextd mcp")
            return self._session

    def _call(self) -> ToolCall:
        """Open the session of a call. The first call waits for the first index run. Raises ContextdError."""
        session = self._opened()
        if self._first_run:
            session.index_service.await_job(self._first_run, _FIRST_RUN)
            self._first_run = ""
        return ToolCall(session, self.secret, self._follower.notes() if self._follower else ())
