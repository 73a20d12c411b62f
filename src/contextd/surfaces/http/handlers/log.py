"""The interaction log and the proposed memories of the caller."""

from __future__ import annotations

from contextd.app.interactions import found, shown, visible_to
from contextd.app.proposals import ProposalService
from contextd.errors import NotFound
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire.answers import ListAnswer
from contextd.surfaces.wire.api_answers import CountAnswer, RememberedAnswer
from contextd.surfaces.wire.api_requests import Nothing
from contextd.surfaces.wire.log_api import (
    LogEntryAnswer,
    LogIdRequest,
    LogRequest,
    LogShownAnswer,
    ProposalAnswer,
    ProposalRequest,
)


def log(caller: Caller, asked: LogRequest) -> ListAnswer[LogEntryAnswer]:
    """List the requests of the caller's reader, newest first."""
    caller.require_all_projects()
    entries = caller.service.home.interactions.recent(caller.token.reader.name, asked.limit)
    return ListAnswer.of([LogEntryAnswer.of(one) for one in entries])


def log_entry(caller: Caller, asked: LogIdRequest) -> LogShownAnswer:
    """Show a request: the pieces that were added as far as the caller may see them now, and the block if all are unchanged."""
    caller.require_all_projects()
    one = found(caller.service.home.interactions, caller.token.reader.name, asked.id)
    try:
        session = caller.service.session(caller.token, one.project or None)
    except NotFound:  # a project that is gone, or not theirs any more
        session = caller.service.session(caller.token)
    return LogShownAnswer.of(visible_to(session, shown(session, one)))


def clear_log(caller: Caller, asked: Nothing) -> CountAnswer:
    """Delete all entries of the caller's reader."""
    caller.require_all_projects()
    return CountAnswer(caller.service.home.interactions.clear(caller.token.reader.name))


def proposals(caller: Caller, asked: Nothing) -> ListAnswer[ProposalAnswer]:
    """List the memories that are proposed to the caller's reader."""
    return ListAnswer.of([ProposalAnswer.of(one) for one in _service(caller).waiting()])


def accept_proposal(caller: Caller, asked: ProposalRequest) -> RememberedAnswer:
    """Save a proposal as a memory."""
    return RememberedAnswer.of(_service(caller).accept(asked.id))


def reject_proposal(caller: Caller, asked: ProposalRequest) -> CountAnswer:
    """Erase a proposal."""
    _service(caller).reject(asked.id)
    return CountAnswer(1)


def _service(caller: Caller) -> ProposalService:
    caller.require_all_projects()
    return ProposalService(caller.service.session(caller.token))
