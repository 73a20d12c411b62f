"""Upstreams of the proxy: the servers that the user's settings name, and which of them answers a model."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from contextd.errors import InvalidInput, NotFound
from contextd.settings.defaults import Proxy, Upstream

PRESETS = {
    "ollama": Upstream("http://127.0.0.1:11434/v1"),
    "llamacpp": Upstream("http://127.0.0.1:8080/v1"),
    "lmstudio": Upstream("http://127.0.0.1:1234/v1"),
    "vllm": Upstream("http://127.0.0.1:8000/v1"),
    "openai": Upstream("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Upstream("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}
NONE = "no upstream is configured; run `contextd proxy add ollama` (or openai, openrouter, lmstudio, llamacpp, vllm, a URL)"


@dataclass(frozen=True, slots=True)
class ChosenUpstream:
    """An upstream with its name. `model` is the name of the model there; empty if the client's own name is used."""

    name: str
    url: str  # without a slash at its end
    remote: bool
    key: str = ""  # replaces the Authorization of the client
    model: str = ""
    has_own_key: bool = False  # the Authorization of a client is meant for another upstream and not passed on


class Added(NamedTuple):
    """A new upstream and its name."""

    name: str
    upstream: Upstream


def choose(settings: Proxy, model: str, environment: Mapping[str, str]) -> ChosenUpstream:
    """Return the upstream for a model: that of its alias, else the configured one. Raises `NotFound` if there is none."""
    target = settings.aliases.get(model, "")
    name, _, there = target.partition("/")
    name = name or settings.upstream or next(iter(settings.upstreams), "")
    if name not in settings.upstreams:
        raise NotFound(f"no such upstream: {name!r}; run `contextd proxy list`" if name else NONE)
    one = settings.upstreams[name]
    key = environment.get(one.key_env, "") if one.key_env else ""
    return ChosenUpstream(name, base_url(one.url), is_remote(one), key, there, bool(one.key_env))


def checked_upstream(settings: Proxy, name: str) -> None:
    """Raise InvalidInput for a name that no upstream has; an empty one means the usual upstream."""
    if name and name not in settings.upstreams:
        known = ", ".join(settings.upstreams)
        raise InvalidInput(f"no such upstream: {name!r}; " + (f"there are {known}" if known else NONE))


def added(what: str, name: str = "", key_env: str = "") -> Added:
    """Return the upstream for a preset's name or a URL. Raises InvalidInput."""
    if what in PRESETS:
        preset = PRESETS[what]
        return Added(name or what, Upstream(preset.url, key_env or preset.key_env))
    parts = urlsplit(what)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"no such upstream: {what!r}; give a URL, or one of {', '.join(PRESETS)}")
    if parts.username or parts.query or parts.fragment:
        raise InvalidInput("the URL of an upstream has no user name, query or fragment; name its key with --key-env")
    return Added(name or parts.hostname.replace(".", "-"), Upstream(base_url(what), key_env))


def base_url(url: str) -> str:
    """Return the URL below which the API is: with /v1 if the URL has no path."""
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def is_remote(upstream: Upstream) -> bool:
    """Return whether an upstream is on another machine: as the settings say, else by its host name."""
    if upstream.remote is not None:
        return upstream.remote
    host = urlsplit(upstream.url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
