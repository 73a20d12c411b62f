"""Write a request and what became of it into the interaction log."""

from __future__ import annotations

from dataclasses import dataclass

from contextd.app.enriching import NOTHING
from contextd.app.interactions import InteractionLog, now
from contextd.app.service import Service
from contextd.surfaces.proxy.preparing import Prepared, ProxyRequest
from contextd.surfaces.proxy.relay import Relay
from contextd.values.access_token import AccessToken
from contextd.values.interaction import Interaction


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
    work, chat, relay = ready.enrichment, ready.chat, outcome.relay
    one = Interaction(
        request.trace_id,
        now(),
        token.reader.name,
        ready.status,
        request.target.endpoint,
        str(chat.model.value) if chat is not None and chat.model is not None else "",
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
    journal.add(one, block, chat.question if chat is not None else "", ready.settings, service.rules())
