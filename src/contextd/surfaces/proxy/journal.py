"""Write a request and what became of it into the interaction log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextd.app.enriching import NOTHING
from contextd.app.interactions import InteractionLog, now
from contextd.app.service import Service
from contextd.app.tokens import contains_token
from contextd.privacy import scrub_text
from contextd.privacy.formats import Rule
from contextd.surfaces.proxy.preparing import Prepared, ProxyRequest
from contextd.surfaces.proxy.relay import Relay
from contextd.values.access_token import AccessToken
from contextd.values.interaction import Interaction

_LONGEST = 200  # characters of a model's name that are logged


@dataclass(slots=True)
class ProxyOutcome:
    """How a request went: seconds until it was sent, seconds in all, and its relay if the upstream answered."""

    enriching: float
    total: float = 0.0
    relay: Relay | None = None


def log(
    service: Service, journal: InteractionLog, request: ProxyRequest, token: AccessToken, ready: Prepared, outcome: ProxyOutcome
) -> None:
    """Log a request of the chat or the responses API; runs in a thread."""
    rules = service.rules()
    work, chat, relay = ready.enrichment, ready.chat, outcome.relay
    one = Interaction(
        request.trace_id,
        now(),
        token.reader.name,
        ready.status,
        request.target.endpoint,
        _name(str(chat.model.value), rules) if chat is not None and chat.model is not None else "",
        ready.upstream.name,
        ready.upstream.remote,
        project=work.project if work is not None else "",
        cache=work.cache if work is not None else "",
        held_back=ready.held_back,
        http_status=relay.response.status_code if relay is not None else 0,
        complete=relay is not None and relay.complete,
        tokens=ready.tokens,
        enrich_ms=round(1000 * outcome.enriching, 1),
        total_ms=round(1000 * outcome.total, 1),
        missing=tuple(work.missing) if work is not None else (),
        profile=work.profile if work is not None and ready.tokens else "",
    )
    block = work.found if work is not None and ready.tokens else NOTHING
    journal.add(one, block, chat.question if chat is not None else "", ready.settings, rules)


def _name(model: str, rules: Sequence[Rule]) -> str:
    """Return the name of a model as it is logged: anything may stand there, a key or a whole text."""
    return "" if contains_token(model) else scrub_text(model[: 10 * _LONGEST], rules)[0][:_LONGEST]
