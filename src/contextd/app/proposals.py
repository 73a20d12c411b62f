"""Memories that are proposed from what a user says in chats, and what becomes of them: nothing is saved before a yes."""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextd.app.assisting import held_back
from contextd.errors import ContextdError, InvalidInput, NotFound
from contextd.ports.interactions import Proposals
from contextd.privacy import scrub_text
from contextd.querying.assisted.propose import proposals_in
from contextd.text.private_matters import is_private
from contextd.values.memory import Remembered
from contextd.values.proposal import Proposal

if TYPE_CHECKING:
    from contextd.app.session import Session

_LOG = logging.getLogger("contextd.proposals")
_SECONDS = 60.0  # for a language model; the user has their answer already
_MOST_WAITING = 20  # messages; more are not read
_LEAST_ID = 4  # characters


def propose(session: Session, message: str, *, at: int = 0, source: str = "") -> list[Proposal]:
    """Store what a message of the user states about them as proposals. Nothing is read from a private message.

    `at` is when it was said (0: now), `source` the uri of the imported chat that has it.
    """
    if not session.settings.llm.proposals or is_private(message):
        return []
    chat = session.setup.chat()
    if chat is not None and (why := held_back(session, chat, (message,))):
        _LOG.warning("rules propose memories: %s", why)
        chat = None
    found, fault = proposals_in(message, chat, time.monotonic() + _SECONDS)
    if fault:
        _LOG.warning("rules propose memories: %s", fault)
    clean = [scrub_text(text, session.setup.rules)[0] for text in found]
    at = at or time.time_ns() // 1000
    made = [Proposal(secrets.token_hex(16), at, session.reader.name, text, source) for text in clean]
    for one in made:
        session.home.interactions.proposals.add(one)
    return made


def propose_from_chats(session: Session, *, in_project: bool = False, progress: Callable[[int], None] = lambda _: None) -> int:
    """Store what the user stated in imported chats as proposals. Returns the number of messages read. Raises InvalidInput.

    `progress` gets the number of messages so far. Words of assistants, and chats among people, are not read.
    """
    if not session.settings.llm.proposals:
        raise InvalidInput("llm.proposals is off; run `contextd config set llm.proposals true` to have memories proposed")
    count = 0
    for count, one in enumerate(session.chats(in_project=in_project).said_by_user(), 1):
        propose(session, one.text, at=one.at, source=one.uri)
        progress(count)
    return count


@dataclass(frozen=True, slots=True)
class ProposalService:
    """The proposals of one reader."""

    session: Session

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait for a yes or a no, newest first."""
        return self._stored.waiting(self.session.reader.name)

    def accept(self, proposal: str) -> Remembered:
        """Save a proposal as a memory. Raises `NotFound`."""
        one = self._found(proposal)
        saved = self.session.remember(one.text, said=one.at)
        self._stored.decide(one.reader, one.id)
        return saved

    def reject(self, proposal: str) -> Proposal:
        """Erase a proposal; the same is not proposed again. Raises `NotFound`."""
        one = self._found(proposal)
        self._stored.decide(one.reader, one.id)
        return one

    @property
    def _stored(self) -> Proposals:
        return self.session.home.interactions.proposals

    def _found(self, start: str) -> Proposal:
        several = [one for one in self.waiting() if one.id.startswith(start)] if len(start) >= _LEAST_ID else []
        if not several:
            raise NotFound(f"no such proposal: {start!r}; run `contextd proposals` for a list")
        if len(several) > 1:
            raise InvalidInput(f"several proposals begin with {start!r}; give more of the id")
        return several[0]


@dataclass(slots=True)
class MessageReader:
    """Reads messages in a thread of its own, after their requests were answered. Messages beyond a limit are left out."""

    _waiting: queue.Queue[Callable[[], object]] = field(default_factory=lambda: queue.Queue(_MOST_WAITING))
    _thread: threading.Thread | None = None

    def add(self, open_session: Callable[[], Session], message: str) -> None:
        """Read a message soon. Never raises."""
        try:
            self._waiting.put_nowait(lambda: propose(open_session(), message))
        except queue.Full:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                work()
            except ContextdError as error:
                _LOG.warning("a message was not read: %s", error)
            except Exception as error:  # the next message is read
                _LOG.warning("a message was not read: %s", type(error).__name__)
            finally:
                self._waiting.task_done()

    def finish(self) -> None:
        """Wait until all messages are read."""
        self._waiting.join()
