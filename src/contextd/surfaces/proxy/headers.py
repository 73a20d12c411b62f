"""Which headers of a request go to an upstream, and which of its answer go back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextd.app.tokens import contains_token
from contextd.app.upstreams import ChosenUpstream

Headers = Sequence[tuple[bytes, bytes]]

_BETWEEN = frozenset(  # of one connection (RFC 9110, 7.6.1)
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
_OWN = b"x-contextd-"
_ONLY_HERE = frozenset(b"host content-length content-encoding accept-encoding cookie expect via".split())
_REPLACED = frozenset(b"date server".split())  # of an answer: the service sends its own, or none


def value_of(headers: Headers, name: bytes) -> str:
    """Return the values of a header, joined by commas."""
    return ", ".join(value.decode("latin-1") for key, value in headers if key.lower() == name)


def to_upstream(headers: Headers, upstream: ChosenUpstream, via: str) -> list[tuple[bytes, bytes]]:
    """Return the headers for an upstream: those of the client, without ours and without any of our tokens.

    The answer is asked for without compression, so that parts of a stream are relayed at once.
    """
    left_out = _BETWEEN | _ONLY_HERE | _named(headers)
    clean = [(key.lower(), value) for key, value in headers if not _has_token(key, value)]
    found = [(key, value) for key, value in clean if key not in left_out and not key.startswith(_OWN)]
    if upstream.has_own_key:
        found = [pair for pair in found if pair[0] != b"authorization"]
    if upstream.key:
        found.append((b"authorization", f"Bearer {upstream.key}".encode("latin-1", "ignore")))
    before = value_of(clean, b"via")
    return [
        *found,
        (b"accept-encoding", b"identity"),
        (b"via", f"{before}, 1.1 {via}".removeprefix(", ").encode("latin-1")),
    ]


def _has_token(key: bytes, value: bytes) -> bool:
    """Return whether a header has one of our tokens; a URL with a user puts it into `Basic`, where it is base64."""
    return contains_token(key.decode("latin-1")) or contains_token(value.decode("latin-1"))


def to_client(headers: Headers, own: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an upstream's answer, and our own."""
    found = [(key.lower(), value) for key, value in headers]
    chunked = any(key == b"transfer-encoding" for key, _ in found)
    left_out = _BETWEEN | _REPLACED | _named(headers) | (frozenset({b"content-length"}) if chunked else frozenset())
    return [*(pair for pair in found if pair[0] not in left_out and not pair[0].startswith(_OWN)), *own]


def passed_through(headers: Headers, via: str) -> bool:
    """Return whether a request has passed through this proxy before."""
    return any(hop.split()[-1:] == [via] for hop in value_of(headers, b"via").split(","))


def _named(headers: Headers) -> frozenset[bytes]:
    """Return the headers that the Connection header declares as belonging to one connection."""
    return frozenset(name.strip().lower().encode("latin-1") for name in value_of(headers, b"connection").split(","))
