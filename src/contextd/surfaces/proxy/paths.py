"""The paths of the proxy: `/v1/…`, with a missing or doubled `/v1`, and with an access token in front (`/t/TOKEN/v1/…`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from contextd.text.escapes import unescaped

CHAT, RESPONSES = "chat/completions", "responses"
_TOKEN = re.compile(r"/t/([^/]+)(/.*)?")
_VERSION = re.compile(r"(?:/v1(?=/|$))+")
_BARE = re.compile(  # endpoints of clients whose base URL has no /v1
    r"/(?:chat/completions|completions|embeddings|models|responses|moderations|audio|images|rerank)(?:/|$)"
)
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)|[#\\]")


class ProxyTarget(NamedTuple):
    """The endpoint of a request, below /v1 and with escapes as they were sent, and the token of its path."""

    endpoint: str
    token: str = ""

    @property
    def is_safe(self) -> bool:
        """Whether the path stays below the upstream's own, also for an upstream that decodes it more than once."""
        plain = unescaped(self.endpoint)
        return plain is not None and not _DOTS.search(plain)


def target_of(path: str) -> ProxyTarget | None:
    """Return the target of a path; None if it is no path of the proxy."""
    token, rest = "", path
    if given := _TOKEN.fullmatch(path):
        token, rest = given[1], given[2] or "/"
    version = _VERSION.match(rest)
    if not (token or version or _BARE.match(rest)):
        return None
    return ProxyTarget(rest[version.end() if version else 0 :].strip("/"), token)
