"""Prepare a request for its upstream: decompress and read it, choose the upstream, decide whether it is enriched."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

from contextd.app.enriching import Enrichment, is_held_back
from contextd.app.service import Service
from contextd.app.tokens import without_tokens
from contextd.app.upstreams import ChosenUpstream, choose
from contextd.errors import ContextdError, InvalidInput
from contextd.settings.defaults import Proxy
from contextd.surfaces.http.problems import RequestRefused
from contextd.surfaces.proxy.background import is_background
from contextd.surfaces.proxy.bodies import decompressed
from contextd.surfaces.proxy.headers import Headers, value_of
from contextd.surfaces.proxy.messages import PromptRequest, read
from contextd.surfaces.proxy.paths import CHAT, RESPONSES, ProxyTarget
from contextd.text.json_spans import TextEdit, edited, inside
from contextd.values.access_token import AccessToken

_NO = ("", "0", "false", "no")
_MOST_TOKENS = 1_000_000  # of a budget
_NUMBER = re.compile(r"[0-9]{1,7}")


class ProxyRequest(NamedTuple):
    """A request to the proxy."""

    method: str
    target: ProxyTarget
    query: str
    headers: Headers
    peer: str  # address of the client
    trace_id: str

    @property
    def path(self) -> str:
        """The path below an upstream's base URL, with the query string."""
        return f"{self.target.endpoint}?{self.query}" if self.query else self.target.endpoint

    @property
    def is_understood(self) -> bool:
        """Whether its body is read, and may be enriched."""
        return self.method == "POST" and self.target.endpoint in (CHAT, RESPONSES)

    def asked(self, name: str) -> str | None:
        """Return what the client asks for in a header such as x-contextd-bypass."""
        return value_of(self.headers, f"x-contextd-{name}".encode()) or None

    def wants(self, name: str) -> bool:
        """Return whether a header is set to something else than 0, false or no."""
        return (self.asked(name) or "").strip().lower() not in _NO


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is sent, and to which upstream."""

    upstream: ChosenUpstream
    settings: Proxy
    body: bytes
    chat: PromptRequest | None = None
    enrichment: Enrichment | None = None
    status: str = "bypassed"
    tokens: int = 0
    held_back: bool = False
    redacted: bool = False  # access tokens in the body were replaced
    proposes: bool = False  # memories are proposed from the messages of the user


def prepared(service: Service, request: ProxyRequest, token: AccessToken, body: bytes, most: int) -> Prepared:
    """Return what is sent; runs in a thread. Raises `RequestRefused`."""
    received = decompressed(body, value_of(request.headers, b"content-encoding"), most)
    body = without_tokens(received)
    every = service.settings()
    settings = every.proxy
    try:
        chat = _chat(request, body) if request.is_understood else None
        model = chat.model if chat is not None else None
        upstream = choose(settings, model.value if model is not None else "", os.environ)
        ready = Prepared(upstream, settings, body, chat, proposes=every.llm.proposals, redacted=body is not received)
        return replace(_decided(service, request, token, ready), body=_edited(ready, None) or body)
    except InvalidInput as error:
        code = "invalid_request" if error.http_status == 400 else error.code
        raise RequestRefused(error.http_status, code, str(error)) from None
    except ContextdError as error:
        raise RequestRefused(error.http_status, error.code, str(error)) from None


def with_block(ready: Prepared) -> Prepared:
    """Return what is sent, with the block that its enrichment has found."""
    if ready.enrichment is None:
        return ready
    work, block = ready.enrichment, ready.enrichment.found
    body = _edited(ready, block.text) if block.text else None
    held_back = ready.held_back or work.held_back
    return replace(ready, body=body or ready.body, status=work.status, tokens=block.tokens if body else 0, held_back=held_back)


def _chat(request: ProxyRequest, body: bytes) -> PromptRequest:
    try:
        text = body.decode("utf-8")
    except ValueError:
        raise InvalidInput("the body is not valid UTF-8") from None
    return read(text, is_responses=request.target.endpoint == RESPONSES)


def _decided(service: Service, request: ProxyRequest, token: AccessToken, ready: Prepared) -> Prepared:
    """Add the enrichment, unless the request is not to be enriched."""
    chat, settings, upstream = ready.chat, ready.settings, ready.upstream
    budget = _budget(request, settings)
    if chat is None or not chat.question or not budget or request.wants("bypass") or chat.has_block or is_background(chat):
        return ready
    texts = (chat.question, *chat.history, chat.said)  # a follow-up of a private question is about the same
    if any(is_held_back(one, settings, marked=request.wants("private"), remote=upstream.remote) for one in texts):
        if settings.private == "refuse":
            raise RequestRefused(403, "private", "the question is private, and proxy.private is refuse")
        return replace(ready, held_back=True)
    held_back = token.private and upstream.remote
    reader = replace(token, private=token.private and not upstream.remote)
    enrichment = Enrichment(
        lambda: service.session(reader, request.asked("project")),
        chat.question,
        chat.history,
        settings,
        budget,
        time.monotonic() + settings.deadline_ms / 1000,
        remote=upstream.remote,
        without_project=None if token.workspaces else lambda: service.session(reader),
    )
    return replace(ready, enrichment=enrichment, held_back=held_back)


def _budget(request: ProxyRequest, settings: Proxy) -> int:
    given = request.asked("budget")
    if given is None:
        return settings.budget
    if not _NUMBER.fullmatch(given) or int(given) > _MOST_TOKENS:
        raise InvalidInput(f"x-contextd-budget must be a number of tokens up to {_MOST_TOKENS:,}")
    return int(given)


def _edited(ready: Prepared, block: str | None) -> bytes | None:
    """Return the body with the upstream's name of the model, and with a block; None if neither changes it."""
    if (chat := ready.chat) is None:
        return None
    edits = []
    if chat.model is not None and ready.upstream.model:
        edits.append(TextEdit(chat.model.start + 1, chat.model.end - 1, inside(ready.upstream.model)))
    if block and (edit := chat.with_block(block, ready.settings.position)) is not None:
        edits.append(edit)
    return edited(chat.text, edits).encode("utf-8", "replace") if edits else None
